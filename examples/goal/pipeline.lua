-- A pipelined reduction along a chain to rank 0, with named buffers and no dependency written by
-- hand: auto() derives the least set that is safe, from what touches which bytes in which order.
--
--     millet goal check examples/goal/pipeline.lua --ranks 4 --is reduce --op sumFloat64
--     millet goal gen examples/goal/pipeline.lua --ranks 2 --set segment=32

local size = tonumber(arg.size or 128)      -- bytes
local segment = tonumber(arg.segment or 32) -- bytes of a piece
assert(segment and segment > 0, "segment should be a number of bytes above 0")

return function(g, rank, p)
  local own = g:buffer("in", size)
  local acc = own -- the last rank has nothing to add
  if rank == 0 then
    acc = g:buffer("out", size)
  elseif rank < p - 1 then
    acc = g:buffer("tmp", size)
  end
  if p == 1 then
    g:exec("copyFloat64", acc, size, own, size)
  end
  for at = 0, size - 1, segment do
    local n = math.min(segment, size - at)
    if rank < p - 1 then
      g:recv(acc + at, n, rank + 1)
      g:exec("sumFloat64", acc + at, n, own + at, n)
    end
    if rank > 0 then
      g:send(acc + at, n, rank - 1)
    end
  end
  g:auto()
end
