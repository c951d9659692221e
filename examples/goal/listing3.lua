-- Listing 3 of the paper, as printed, with its faults: an n-way dissemination with a reduction.
--
--     millet goal check examples/goal/listing3.lua --ranks 8 --set n=1 \
--         --is allreduce --op sumInt32 --in localbuf --out localbuf
--
-- What is wrong with it (listing3_fixed.lua is right), and what the checker finds:
--   * the last round's receives are never reduced, so the result lacks what they brought;
--   * a receive of a round may overwrite buf before it has been reduced in the round before, and a
--     reduction may change localbuf while an earlier round still sends it: nothing orders them.

local n = tonumber(arg.n or 1)       -- ways
local size = tonumber(arg.size or 4) -- bytes
local op = arg.op or "sumInt32"
assert(n and n >= 1 and n % 1 == 0, "n should be a whole number of 1 or more")

-- The listing leaves its results in the second buffer; for Millet, and for the paper's Example 2,
-- the first is the result.
local function GOAL_Exec_second(g, func, buf1, s1, buf2, s2)
  return GOAL_Exec(g, func, buf2, s2, buf1, s1)
end

return function(g, i, p)
  local localbuf = GOAL_Buffer(g, "localbuf", size)
  local buf, send, rcv = {}, {}, {}
  for w = 1, n do
    buf[w - 1] = GOAL_Buffer(g, "buf" .. w - 1, size)
  end
  local rounds = 0 -- ceil(log(p) to the base n + 1)
  while (n + 1) ^ rounds < p do
    rounds = rounds + 1
  end

  for r = 0, rounds - 1 do
    for w = 1, n do
      send[w - 1] = GOAL_Send(g, localbuf, size, (i + w * (n + 1) ^ r) % p)
    end
    if r > 0 then
      local prev = rcv[0]
      for w = 1, n - 1 do
        local red = GOAL_Exec_second(g, op, buf[w - 1], size, buf[w], size)
        GOAL_Requ(g, red, rcv[w])
        GOAL_Requ(g, red, prev)
        prev = red
      end
      local red = GOAL_Exec_second(g, op, buf[n - 1], size, localbuf, size)
      GOAL_Requ(g, red, rcv[0])
      GOAL_Requ(g, send[n - 1], prev)
      for w = 1, n do
        GOAL_Requ(g, send[w - 1], red)
      end
    end
    for w = 1, n do
      rcv[w - 1] = GOAL_Rcv(g, buf[w - 1], size, (i - w * (n + 1) ^ r) % p)
    end
  end
end
