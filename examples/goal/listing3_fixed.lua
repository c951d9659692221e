-- Listing 3 of the paper, put right: an n-way dissemination with a reduction, on (n + 1)^k ranks.
--
--     millet goal check examples/goal/listing3_fixed.lua --ranks 27 --set n=2 \
--         --is allreduce --op sumInt32 --in localbuf --out localbuf
--
-- What differs: every round receives into buffers of its own; what it received is reduced, in the
-- last round too; and that waits until the round's sends have left localbuf. The algorithm
-- allreduce.dissemination does the same for any number of ranks.

local n = tonumber(arg.n or 1)       -- ways
local size = tonumber(arg.size or 4) -- bytes
local op = arg.op or "sumInt32"
assert(n and n >= 1 and n % 1 == 0, "n should be a whole number of 1 or more")

return function(g, i, p)
  local rounds = 0
  while (n + 1) ^ rounds < p do
    rounds = rounds + 1
  end
  assert((n + 1) ^ rounds == p, "the number of ranks should be a power of n + 1; "
    .. "`millet goal gen --alg allreduce.dissemination --radix n` takes any")

  local localbuf = GOAL_Buffer(g, "localbuf", size)
  local red = -1 -- the last reduction into localbuf
  for r = 0, rounds - 1 do
    local buf, send, rcv = {}, {}, {}
    for w = 1, n do
      buf[w] = GOAL_Buffer(g, "buf" .. r .. "_" .. w, size)
      send[w] = GOAL_Send(g, localbuf, size, (i + w * (n + 1) ^ r) % p)
      rcv[w] = GOAL_Recv(g, buf[w], size, (i - w * (n + 1) ^ r) % p)
      if red >= 0 then
        GOAL_Requ(g, send[w], red)
      end
    end
    local prev = rcv[1]
    for w = 2, n do -- the first buffer is the result
      local sum = GOAL_Exec(g, op, buf[1], size, buf[w], size)
      GOAL_Requ(g, sum, rcv[w])
      GOAL_Requ(g, sum, prev)
      prev = sum
    end
    red = GOAL_Exec(g, op, localbuf, size, buf[1], size)
    GOAL_Requ(g, red, prev)
    for w = 1, n do
      GOAL_Requ(g, red, send[w])
    end
  end
end
