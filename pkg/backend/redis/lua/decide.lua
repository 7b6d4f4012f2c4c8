-- A family decides one ask: f(rule, value, now in us, charged) returns
--   fits   whether the hits fit; nil if the value is none of the family's
--   new    the value to write, '' to delete the key, nil to leave it
--   reset  the us from now in which the value, as it then is, says nothing
-- A rule's op is -2 give back, -1 refund, 0 look, 1 charge, 2 charge even what
-- does not fit. What is given back is a charge, and only what is left of it, found
-- by the instant, window or sub-window that it was recorded in;
-- post is 1 for a post-paid rule, whose charges are carried out whether they fit
-- or not. If charged is false, other charges are not carried out.
local families, log_family = { tat, fixed, counter, log, tat }, 4

local function read(key, family)
  if family == log_family then return view_of(key) end
  return redis.pcall('GET', key) or nil
end

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

-- write keeps an outcome; where there is none it sees that the key expires.
local function write(key, family, value, new, reset)
  local ttl = ttl_of(reset)
  if new == nil then
    if value and redis.pcall('PTTL', key) == -1 then redis.pcall('PEXPIRE', key, ttl) end
  elseif new == '' then
    return failed(redis.pcall('DEL', key))
  elseif family == log_family then
    return failed(keep_log(new, ttl))
  else
    return failed(redis.pcall('SET', key, new, 'PX', ttl))
  end
end

local foreign = 'ERR value of another form'

local function alone(i)
  local key, rule = KEYS[i], rules[items[i]]
  local family = rule[1]
  local value = read(key, family)
  local err = failed(value)
  if not err then
    local fits, new, reset, usage = families[family](rule, value, now, true)
    if fits == nil then
      err = foreign
    else
      err = write(key, family, value, new, reset)
      lines[i + 1] = usage or value or ''
    end
  end
  if err then lines[i + 1] = told(err) end
end

-- decided decides item i of a group on what it starts from.
local function decided(i, outcome, charged)
  local rule, prev = rules[items[i]], outcome.prev
  if prev then
    outcome.value, outcome.err = prev.new or prev.value, prev.err
    if outcome.value == '' then outcome.value = nil end
  end
  if outcome.err then return end
  local value = outcome.value
  local fits, new, reset, usage = families[rule[1]](rule, value, now, charged)
  if fits == nil then
    outcome.err = foreign
    return
  end
  if new == nil and prev then new = prev.new end
  outcome.fits, outcome.new, outcome.reset = fits, new, reset
  outcome.line = usage or value or ''
end

-- over_limit is the verdict: whether a request is refused.
local function over_limit(group, outcomes)
  local over, quotas, quotas_over = group[4] > 0, group[5], group[6]
  for ask, mode in ipairs(group[7]) do
    local outcome = outcomes[group[8][ask]]
    local refused = not outcome.fits
    if outcome.err then refused = mode >= 4 end
    if mode % 2 == 1 then refused = false end
    if mode % 4 >= 2 then
      quotas = quotas + 1
      if refused then quotas_over = quotas_over + 1 end
    elseif refused then
      over = true
    end
  end
  return over or quotas_over > 0 and quotas_over == quotas
end

-- chain decides all items of a group, on what is kept or on what others leave.
local function chain(group, charged, kept)
  local outcomes, first = {}, group[1]
  for i = first, group[2] do
    local k = i - first + 1
    local prev, outcome = group[9][k], {}
    if prev > 0 then
      outcome.prev = outcomes[prev]
    elseif kept then
      outcome.value, outcome.err = kept[k].value, kept[k].err
    else
      outcome.value = read(KEYS[i], rules[items[i]][1])
      outcome.err = failed(outcome.value)
    end
    outcomes[k] = outcome
    decided(i, outcome, charged)
  end
  return outcomes
end

local function together(group)
  local first, outcomes, starts = group[1], chain(group, true), {}
  local thought, spared, mark = outcomes, nil, '/'
  if over_limit(group, outcomes) then
    outcomes = chain(group, false, thought)
    spared, mark = outcomes, '|'
  elseif group[3] >= 2 then
    spared = chain(group, false, thought)
  end
  for _, prev in ipairs(group[9]) do starts[prev] = true end
  for i = first, group[2] do
    local k = i - first + 1
    local outcome = outcomes[k]
    if group[3] % 2 == 0 and not starts[k] and not outcome.err then
      local found = outcome
      while found.prev do found = found.prev end
      outcome.err = write(KEYS[i], rules[items[i]][1], found.value, outcome.new, outcome.reset)
    end
    if outcome.err then
      lines[i + 1] = told(outcome.err)
    else
      lines[i + 1] = thought[k].line .. (spared and mark .. spared[k].line or '')
    end
  end
end

local i, g = 1, 1
while i <= #KEYS do
  local group = groups[g]
  if group and group[1] == i then
    together(group)
    i, g = group[2] + 1, g + 1
  else
    if not lines[i + 1] then alone(i) end
    i = i + 1
  end
end
return concat(lines, '\n')
