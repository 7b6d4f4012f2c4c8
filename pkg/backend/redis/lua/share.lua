-- Replicas that share a view: each leaves its row, one of them is told to look at
-- all rows, all are told the state.
-- KEYS: the rows, the turn, the state. ARGV: the replica, its row, how long a turn
-- is and how long rows are kept, both in ms.
-- The reply is the instant in us, the state ('' = none), then, for the one whose turn
-- it is, replica and row by turns; each row begins with the instant it was left at.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local stamp = string.format('%.0f', now)
redis.call('HSET', KEYS[1], ARGV[1], stamp .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local turn = redis.call('PTTL', KEYS[2])
if turn == -1 or turn > tonumber(ARGV[3]) then
  redis.call('DEL', KEYS[2]) -- left by no replica, or by the clock of another server
end
local reply = {stamp, redis.call('GET', KEYS[3]) or ''}
if redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3], 'NX') then
  local rows = redis.call('HGETALL', KEYS[1])
  for i = 1, #rows, 2 do
    local left = tonumber(string.match(rows[i + 1], '^%d+'))
    if left and math.abs(now - left) < ARGV[4] * 1000 then
      reply[#reply + 1] = rows[i]
      reply[#reply + 1] = rows[i + 1]
    else
      redis.call('HDEL', KEYS[1], rows[i])
    end
  end
end
return reply
