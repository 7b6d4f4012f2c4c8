-- sliding_window, variant log: every hit's instant.
--
-- Value: a list of "ts n cum", oldest first: n hits at ts us; cum counts all hits
--        so far, so that a difference tells how many lie in a stretch.
-- Rule:  {family, op, post, hits, limit, 0, window in us, us of the charge}.
--
-- A view is what the list would be: its entries from lo to hi, then those in the
-- array part, each {ts, n, cum}. Nothing is written before keep_log.

local function entry(view, i) -- i from 0
  local kept = view.hi - view.lo + 1
  if i >= kept then return view[i - kept + 1] end
  local place = view.lo + i
  local known = view.known[place]
  if not known then
    local ts, n, cum = match(redis.call('LINDEX', view.key, place), '^(%d+) (%d+) (%d+)$')
    known = { tonumber(ts), tonumber(n), tonumber(cum) }
    if not ts or known[1] >= two53 or known[3] >= two53 then error('foreign') end
    view.known[place] = known
  end
  return known
end

local function size(view) return view.hi - view.lo + 1 + #view end

local function view_of(key)
  local length = redis.pcall('LLEN', key)
  if type(length) == 'table' then return length end
  return { key = key, length = length, lo = 0, hi = length - 1, known = {} }
end

local function copy(view)
  local c = { key = view.key, length = view.length, lo = view.lo, hi = view.hi, known = view.known }
  for i = 1, #view do c[i] = view[i] end
  return c
end

-- up_to is how many entries from i on have a field of at most t. It doubles its
-- steps, then halves them, as what is sought is mostly near i.
local function up_to(view, i, field, t)
  local n, step = size(view), 1
  if n == 0 or entry(view, n - 1)[field] <= t then return n end
  local low, high = i, i
  while high < n and entry(view, high)[field] <= t do
    low, high, step = high + 1, high + step, step * 2
  end
  high = min(high, n)
  while low < high do
    local middle = floor((low + high) / 2)
    if entry(view, middle)[field] <= t then low = middle + 1 else high = middle end
  end
  return low
end

-- between is how many hits the entries from i on have.
local function between(view, i)
  local n = size(view)
  if i >= n then return 0 end
  local first = entry(view, i)
  return entry(view, n - 1)[3] - first[3] + first[2]
end

local function truncate(view, n)
  local kept = view.hi - view.lo + 1
  if n < kept then view.hi = view.lo + n - 1 end
  for i = #view, max(n - kept, 0) + 1, -1 do view[i] = nil end
end

local function drop(view, n)
  local kept = view.hi - view.lo + 1
  view.lo = view.lo + min(n, kept)
  for _ = 1, n - kept do table.remove(view, 1) end
end

local function push(view, ts, n)
  local last, cum = size(view) - 1, n
  if last >= 0 then
    local tail = entry(view, last)
    cum = tail[3] + n
    if tail[1] == ts then
      n = n + tail[2]
      truncate(view, last)
    end
  end
  view[#view + 1] = { ts, n, cum }
end

-- give_back takes off the newest n hits, 0 < n <= those held.
local function give_back(view, n)
  local rest = entry(view, size(view) - 1)[3] - n
  local whole = up_to(view, 0, 3, rest)
  local cut = entry(view, whole)
  truncate(view, whole)
  local left = rest - (cut[3] - cut[2])
  if left > 0 then view[#view + 1] = { cut[1], left, rest } end
end

-- give_back_at takes up to n hits off the entry of ts.
local function give_back_at(view, ts, n)
  local at, last = up_to(view, 0, 1, ts - 1), size(view) - 1
  if at > last or entry(view, at)[1] ~= ts then return end
  local later = {}
  for i = at, last do later[#later + 1] = entry(view, i) end
  truncate(view, at)
  for i, e in ipairs(later) do
    local left = e[2]
    if i == 1 then left = left - min(n, left) end
    if left > 0 then push(view, e[1], left) end
  end
end

-- decided_log also returns what the caller has to know of the log: the hits in the
-- window, the instant of the one that has to leave first, and of the newest one.
local function decided_log(rule, view, now, charged)
  local op, n, limit, window = rule[2], rule[4], rule[5], rule[7]
  local new
  if size(view) > 0 and entry(view, size(view) - 1)[1] > now then -- heal
    local ahead = up_to(view, 0, 1, now)
    new = copy(view)
    truncate(new, ahead)
    push(new, now, between(view, ahead))
    view = new
  end
  local expired = up_to(view, 0, 1, now - window)
  local live, due = between(view, expired), 0
  local fits = op < 0 or n <= limit - live
  if op < 0 or op > 0 and charged and fits then
    new = copy(view)
    drop(new, expired)
  end
  local newest = 0
  if op == -2 then
    give_back_at(new, rule[8], n)
  elseif op < 0 and live > 0 then
    give_back(new, min(n, live))
  end
  local left = new or view
  if live > 0 and size(left) > 0 then newest = entry(left, size(left) - 1)[1] end
  if op > 0 and charged and fits then
    push(new, now, n)
  elseif not fits and n <= limit then
    local first = entry(view, expired)
    due = entry(view, up_to(view, expired, 3, first[3] - first[2] + live + n - limit - 1))[1]
  end
  local reset = 0
  if size(left) > 0 then reset = max(0, entry(left, size(left) - 1)[1] + window - now) end
  return fits, new, reset, format('%.0f %.0f %.0f', live, due, newest)
end

local function log(rule, view, now, charged)
  local ok, fits, new, reset, usage = pcall(decided_log, rule, view, now, charged)
  if not ok then return nil end
  return fits, new, reset, usage
end

-- keep_log makes the list what the view says. What may be refused for want of
-- memory comes first, so that no hit is forgotten for it.
local function keep_log(view, ttl)
  local key, from, failed = view.key, 1, nil
  if size(view) == 0 then return redis.pcall('DEL', key) end
  local texts = {}
  for i = 1, #view do texts[i] = format('%.0f %.0f %.0f', view[i][1], view[i][2], view[i][3]) end
  local hi = view.hi
  if hi + 1 < view.length and texts[1] then
    failed = redis.pcall('LSET', key, hi + 1, texts[1])
    if failed.err then return failed end
    hi, from = hi + 1, 2
  end
  if hi + 1 < view.length then redis.pcall('LTRIM', key, 0, hi) end
  for i = from, #texts do
    failed = redis.pcall('RPUSH', key, texts[i])
    if type(failed) == 'table' then return failed end
  end
  if view.lo > 0 then redis.pcall('LTRIM', key, view.lo, -1) end
  return redis.pcall('PEXPIRE', key, ttl)
end
