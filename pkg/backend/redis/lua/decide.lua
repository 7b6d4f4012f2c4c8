-- KEYS: one an item, in order.
-- ARGV: the plan, packed by MessagePack:
--   {now, slack, rules, items, groups}
--   now     us since the epoch; 0 is the server's TIME
--   slack   ms that a key outlives what it says
--   rules   numbers of a rule and hits, by family
--   items   for each, which of the rules
--   groups  of items that are decided together, each
--           {first, last, what, over, quotas, quotas over, modes, owners, prevs}:
--           what is 1 to write nothing + 2 to tell both values; over, quotas and
--           quotas over are those of asks without a key; of the others modes are
--           1 shadow + 2 quota + 4 if an error is a refusal, and owners the items
--           that decide for them; prevs are the items whose outcomes these ones
--           start from, or 0. Owners and prevs count from 1 in the group
-- Returns lines: now, then for each item "value", what it was decided on, or
-- "value|value" in a group that was refused, the second being what it was decided
-- on when only refunds and post-paid charges were carried out, or "value/value" in
-- one that was not but is to tell the second, too, or "!" and an error.
-- A log's value is "hits in the window, us of the one that leaves first, us of the
-- newest".
local plan = cmsgpack.unpack(ARGV[1])
local now, slack, rules, items, groups = plan[1], plan[2], plan[3], plan[4], plan[5]
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local lines = { format('%.0f', now) }

local families = { tat, fixed, counter, log }
local log_family = 4

local function read(key, family)
  if family == log_family then return view_of(key) end
  return redis.pcall('GET', key) or nil
end

local function failed(reply)
  return type(reply) == 'table' and reply.err
end

-- write keeps an outcome; where there is none it sees that the key expires.
local function write(key, family, value, new, reset)
  local ttl = ceil(reset / 1000) + slack
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
  if err then lines[i + 1] = '!' .. err end
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
      lines[i + 1] = '!' .. outcome.err
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
    alone(i)
    i = i + 1
  end
end
return concat(lines, '\n')
