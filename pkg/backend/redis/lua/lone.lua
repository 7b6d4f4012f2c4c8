-- Most requests are one charge of whole us that fits. Such a one is carried out
-- here as tat.lua would, in four fifths of the time. Whatever else there is gets no
-- line yet.
local lone_family, undecided = 5, false
for i = 1, #KEYS do
  local key, rule, line = KEYS[i], rules[items[i]], false
  if rule[1] == lone_family then
    local value, debt = redis.pcall('GET', key), 0
    local known = not value or not value.err and find(value, '^%d+$')
    if value and known then debt = max(0, value - now) end
    if known and debt <= rule[7] then
      debt = debt + rule[5]
      local done = redis.pcall('SET', key, format(int, now + debt), 'PX', ttl_of(debt))
      line = done.err and told(done.err) or value or ''
    end
  end
  lines[i + 1] = line
  undecided = undecided or not line
end
if not undecided then return concat(lines, '\n') end
