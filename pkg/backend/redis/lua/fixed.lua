-- fixed_window: the count of one window and its start.
--
-- Value: "start count", start in us.
-- Rule:  {family, op, post, hits, limit, limit + overdraft, window in us,
--        1 if a window starts with its first hit, start of the charge}.
local function fixed(rule, value, now, charged)
  local op, n, limit, window = rule[2], rule[4], rule[5], rule[7]
  local fresh, latest = now, now
  if rule[8] == 0 then
    fresh = now - fmod(now, window)
    latest = fresh + window
  end
  local start, count, new = fresh, 0, nil
  if value then
    local at, held = match(value, '^(%d+) (%d+)$')
    at, held = tonumber(at), tonumber(held)
    if not at or at >= two53 or held >= two53 then return nil end
    if rule[8] == 0 then at = at - fmod(at, window) end
    if held > 0 and at + window > now then
      start, count = at, held
      if start > latest then start, new = latest, true end -- heal
    end
  end
  local fits = op < 0 or n <= limit - count
  if op == -2 and start ~= rule[9] then
    n = 0 -- that window is over
  elseif op < 0 then
    count, new = count - min(n, count), true
  elseif op == 2 then -- count refused hits, too
    if n > 0 then count, new = min(count + n, two53 - 1), true end
    fits = count <= limit
  elseif op == 1 and (rule[3] > 0 or charged and fits) then
    count, new = count + min(n, max(0, rule[6] - count)), true
  end
  if count == 0 then return fits, new and value and '', 0 end
  if new then new = format('%.0f %.0f', start, count) end
  return fits, new, start + window - now
end
