-- Spends the buckets of one call: all of them, or none.
--
-- KEYS  the buckets. A bucket's value is the moment at which it is full if nobody calls, in
--       microseconds of this server's clock. A full bucket has no key.
-- ARGV  the debt that the call adds to each bucket, in microseconds, in the same order.
--
-- Returns {1 if spent, else 0; the moment of the decision; each bucket's debt}. The debts are those
-- after the call if it was spent, else those that caused the refusal. All numbers are integers
-- below 2^53, which a Lua number holds exactly. A bucket that is full later than any call could
-- make it (the clock was set back, or the value is from another server's clock) is rewritten even
-- if nothing is spent, so that no caller is refused for more than a minute.

local FULL = 60000000

-- The server counts a key's lifetime from before `now`, so keys may expire late but never early.
local function keep(key, now, debt)
  redis.call('SET', key, string.format('%.0f', now + debt), 'PX', math.floor(debt / 1000) + 2)
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- MGET, not GET: a key of another type reads as no bucket, and is overwritten.
local kept = redis.call('MGET', unpack(KEYS))
local debts, passed = {}, 1
for i = 1, #KEYS do
  local debt = (tonumber(kept[i] or 0) or 0) - now
  -- Written as `not (debt > 0)` because NaN compares false with everything.
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
