-- Spends the buckets of one call: all of them, or none.
--
-- KEYS  the buckets. The value of one is when it will be full again if nobody calls, in
--       microseconds of this server's clock. A full one is no key.
-- ARGV  the debt that the call adds to each, in microseconds, in the same order.
--
-- Answers {1 if it was spent, else 0; the moment it was judged at; each bucket's debt}. The debts
-- are those after the call if it was spent, else those that say why not. All numbers are integers
-- below 2^53, which a Lua number holds exactly. A bucket that is full later than any call could
-- make it (the clock was set back, or is another server's) is written anew though nothing is spent:
-- nobody is refused for more than a minute.

local FULL = 60000000

-- Keys may end late, never early: the server counts their time from before `now`.
local function keep(key, now, debt)
  redis.call('SET', key, string.format('%.0f', now + debt), 'PX', math.floor(debt / 1000) + 2)
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- MGET, not GET: what is no string is read as no bucket, and written over.
local kept = redis.call('MGET', unpack(KEYS))
local debts, passed = {}, 1
for i = 1, #KEYS do
  local debt = (tonumber(kept[i] or 0) or 0) - now
  -- In this form for what is no number at all, too: it compares false with everything.
  if not (debt > 0) then debt = 0 end
  if debt > FULL then
    debt = FULL
    keep(KEYS[i], now, debt)
  end
  if debt + ARGV[i] > FULL then passed = 0 end
  debts[i] = debt
end

if passed == 1 then
  for i, key in ipairs(KEYS) do
    debts[i] = debts[i] + ARGV[i]
    keep(key, now, debts[i])
  end
end
return {passed, now, unpack(debts)}
