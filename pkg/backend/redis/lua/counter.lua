-- sliding_window, variant counter: hits by sub-window.
--
-- Value: "index c0 ... ck", the number of the newest sub-window since the epoch
--        and the hits in it and in the k before, newest first.
-- Rule:  {family, op, post, hits, limit, limit + overdraft, k, w, u, sub-window of
--        the charge}, a sub-window being w/u us, both whole.

-- share is ceil(count * part / whole) for count < 2^35, part <= whole < 2^45.
-- Where the product is no exact number it goes by 7 bits of count at a time.
local function share(count, part, whole)
  local product = count * part
  if product < two53 then
    local rest = fmod(product, whole)
    return (product - rest) / whole + (rest > 0 and 1 or 0)
  end
  local quotient, rest = 0, 0
  for _, weight in ipairs({ 268435456, 2097152, 16384, 128, 1 }) do
    local chunk = floor(count / weight)
    count = count - chunk * weight
    local step = rest * 128 + chunk * part
    rest = fmod(step, whole)
    quotient = quotient * 128 + (step - rest) / whole
  end
  return quotient + (rest > 0 and 1 or 0)
end

-- sub_window is the number of the sub-window of now, and how much of it has
-- elapsed in 1/u us. As now * u might be no exact number, whole runs of u
-- sub-windows, which take w us, are counted first.
local function sub_window(now, w, u)
  local rest = fmod(now, w)
  local runs, units = (now - rest) / w, rest * u
  local elapsed = fmod(units, w)
  return runs * u + (units - elapsed) / w, elapsed
end

-- held_counts reads a value's index and counts; nil if it is none of k.
local function held_counts(value, k)
  if not find(value, '^%d[%d ]*$') then return nil end
  local index, held = nil, {}
  for number in gmatch(value, '%d+') do
    if index then
      held[#held + 1] = tonumber(number)
    else
      index = tonumber(number)
    end
  end
  if #held ~= k + 1 or index >= two53 then return nil end
  for i = 1, k + 1 do
    if held[i] >= two53 then return nil end
  end
  return index, held
end

-- shifted are counts moved into the past by some sub-windows.
local function shifted(held, by, k)
  local moved = {}
  for i = 1, k + 1 do moved[i] = held[i - by] or 0 end
  return moved
end

-- take removes up to n hits, the newest first.
local function take(held, n)
  for i = 1, #held do
    local give = min(n, held[i])
    held[i], n = held[i] - give, n - give
  end
end

-- encoded is the value to keep, and the us until it says nothing.
local function encoded(held, index, ahead, elapsed, w, u)
  local text, newest = { format('%.0f', index) }, nil
  for i = 1, #held do
    text[i + 1] = format('%.0f', held[i])
    if held[i] > 0 then newest = newest or i end
  end
  if not newest then return '', 0 end
  return concat(text, ' '), ceil(((ahead + #held + 1 - newest) * w - elapsed) / u)
end

local function counter(rule, value, now, charged)
  local op, n, limit, k, w, u = rule[2], rule[4], rule[5], rule[7], rule[8], rule[9]
  local current, since = sub_window(now, w, u)
  local index, elapsed, held, new = current, since, nil, nil
  if value then
    local at
    at, held = held_counts(value, k)
    if not at then return nil end
    if at <= current then
      held = shifted(held, current - at, k)
    else
      index, elapsed = current + 1, 0
      new = at > index -- heal
    end
  else
    held = shifted({}, 0, k)
  end
  local taken = share(held[k + 1], w - elapsed, w)
  for i = 1, k do taken = taken + held[i] end
  local fits = op < 0 or n <= limit - taken
  if op == -2 then
    local i = index - rule[10] + 1
    if held[i] then held[i], new = held[i] - min(n, held[i]), true end
  elseif op < 0 then
    new = true
    take(held, n)
  elseif op > 0 and (rule[3] > 0 or charged and fits) then
    new = true
    held[1] = held[1] + min(n, max(0, rule[6] - taken))
  end
  local text, reset = encoded(held, index, index - current, since, w, u)
  if not new or text == '' and not value then text = nil end
  return fits, text, reset
end
