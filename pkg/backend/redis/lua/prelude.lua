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
--
-- Every number is an integer below 2^53, which a double holds exactly; tostring and
-- % are not exact, these formats and fmod are.
local floor, ceil, fmod, min, max = math.floor, math.ceil, math.fmod, math.min, math.max
local format, find, match, gmatch, gsub = string.format, string.find, string.match, string.gmatch, string.gsub
local concat, two53 = table.concat, 9007199254740992

-- int is half as dear as %.0f, but goes through a C long, which may have 32 bits.
local int = format('%d', two53) == '9007199254740992' and '%d' or '%.0f'

local plan = cmsgpack.unpack(ARGV[1])
local now, slack, rules, items, groups = plan[1], plan[2], plan[3], plan[4], plan[5]
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local lines = { format(int, now) }

-- told is the line of an error. Redis 6.2 writes some behind the name of the script
-- and before the end of a line, which no line may have in it.
local function told(err)
  err = gsub(err, '^@%S+: %d+: %-?', '')
  return '!' .. gsub(err, '%c+', '')
end

local function ttl_of(reset) return format(int, ceil(reset / 1000) + slack) end
