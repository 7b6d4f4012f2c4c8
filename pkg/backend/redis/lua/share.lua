-- Replicas that share a view: each leaves its row under a name, all are told the
-- states of the name's parts, and for each part one of them is told to look at all
-- rows. A key that holds something else is as none.
-- KEYS: the rows, then turn and state of each part. ARGV: the replica, its row, how
-- long a turn is and how long rows are kept, both in ms.
-- The reply is the instant in us, then for each part '1' to the one whose turn it is
-- ('' to others) and the state ('' = none), then, to one with a turn, replica and row
-- by turns; each row begins with the instant it was left at.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local stamp = string.format('%.0f', now)
local row = stamp .. ' ' .. ARGV[2]
local left = redis.pcall('HSET', KEYS[1], ARGV[1], row)
if type(left) == 'table' then
  if not string.find(left.err, 'WRONGTYPE', 1, true) then
    return left
  end
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], ARGV[1], row)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local reply, looks = {stamp}, false
for i = 2, #KEYS, 2 do
  local turn = redis.call('PTTL', KEYS[i])
  if turn == -1 or turn > 2 * tonumber(ARGV[3]) then -- replicas' turns differ in length, but not so much
    redis.call('DEL', KEYS[i]) -- left by no replica, or by the clock of another server
  end
  local mine = redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[3], 'NX')
  local state = redis.pcall('GET', KEYS[i + 1])
  reply[#reply + 1] = mine and '1' or ''
  reply[#reply + 1] = type(state) == 'string' and state or ''
  looks = looks or mine
end
if looks then
  local rows = redis.call('HGETALL', KEYS[1])
  for i = 1, #rows, 2 do
    local at = tonumber(string.match(rows[i + 1], '^%d+'))
    if at and math.abs(now - at) < ARGV[4] * 1000 then
      reply[#reply + 1] = rows[i]
      reply[#reply + 1] = rows[i + 1]
    else
      redis.call('HDEL', KEYS[1], rows[i])
    end
  end
end
return reply
