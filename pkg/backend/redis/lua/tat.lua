-- token_bucket, leaky_bucket, gcra and adaptive: one instant, the theoretical
-- arrival time, whose distance from now is the key's debt.
--
-- Value: "tat" or "tat frac L", the instant tat + frac/L us.
-- Rule:  {family, op, post, L, cost, its frac, slack, its frac, fill, its frac,
--        us of the charge}, times in us with fractions over L; slack -1: never.
local function tat(rule, value, now, charged)
  local op, L, debt, frac, new = rule[2], rule[4], 0, 0, nil
  if value then
    local at
    if find(value, '^%d+$') then
      at = tonumber(value)
    else
      local whole, part, of = match(value, '^(%d+) (%d+) (%d+)$')
      at, frac, of = tonumber(whole), tonumber(part), tonumber(of)
      if not at or frac >= of then return nil end
      if of ~= L then
        if frac > 0 then at = at + 1 end
        frac = 0
      end
    end
    if at >= two53 then return nil end
    debt = at - now
    if debt < 0 then
      debt, frac = 0, 0
    elseif op ~= -2 and (debt > rule[9] or debt == rule[9] and frac > rule[10]) then
      debt, frac, new = rule[9], rule[10], true -- heal
    end
  end
  local fits = op < 0 or debt < rule[7] or debt == rule[7] and frac <= rule[8]
  local cost = rule[5]
  if op == -2 then cost = cost - max(0, now - rule[11]) end -- the rest has decayed
  if op < 0 and cost >= 0 then
    debt, frac, new = debt - cost, frac - rule[6], true
    if frac < 0 then debt, frac = debt - 1, frac + L end
    if debt < 0 then debt, frac = 0, 0 end
  elseif op > 0 and (rule[3] > 0 or charged and fits) then
    debt, frac, new = debt + rule[5], frac + rule[6], true
    if frac >= L then debt, frac = debt + 1, frac - L end
    if debt > rule[9] or debt == rule[9] and frac > rule[10] then
      debt, frac = rule[9], rule[10]
    end
  end
  if frac > 0 then
    if new then new = format('%.0f %.0f %.0f', now + debt, frac, L) end
    return fits, new, debt + 1
  end
  if new then
    if debt > 0 then
      new = format(int, now + debt)
    else
      new = value and ''
    end
  end
  return fits, new, debt
end
