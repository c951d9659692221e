-- Listing 2 of the paper: generating a broadcast tree rooted at process 0 in GOAL.
--
--     millet goal check examples/goal/listing2.lua --ranks 8 --is bcast
--
-- The names are the paper's: i is the rank, p the number of ranks, GOAL_Rcv is g:recv.

local size = tonumber(arg.size or 64) -- bytes: --set size=1024

return function(g, i, p)
  local buf = GOAL_Buffer(g, "buf", size)

  local rcv = -1 -- valid identifiers are >= 0
  for r = 0, math.ceil(math.log(p, 2)) - 1 do
    local send = -1
    if i + 2 ^ r < p and i < 2 ^ r then
      send = GOAL_Send(g, buf, size, i + 2 ^ r)
    end
    if send >= 0 and rcv >= 0 then
      GOAL_Requ(g, send, rcv)
    end
    if i >= 2 ^ r and i < 2 ^ (r + 1) then
      rcv = GOAL_Rcv(g, buf, size, i - 2 ^ r)
    end
  end
end
