-- An irregular sparse exchange, such as a multiplication with a sparse matrix has: every rank sends
-- to some others that no rule connects, and gets as many messages. All begin with the lowest rank,
-- where their messages then meet.
--
--     millet goal sim --machine examples/goal/machines/torus.machine examples/goal/exchange.lua --ranks 64
--     millet goal opt --machine examples/goal/machines/torus.machine examples/goal/exchange.lua --ranks 64 -o better.goal
--
-- --set degree=16: messages of a rank; --set size=65536: bytes of each; --set seed=1: another exchange.

local degree = tonumber(arg.degree or 16)
local size = tonumber(arg.size or 65536)
local seed = tonumber(arg.seed or 1)
assert(degree and size and seed, "degree, size and seed should be numbers")

local sends -- sends[from][to]: how many; from `degree` permutations of the ranks

local function make(p)
  local state = seed
  local function random(n)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % n
  end
  sends = {}
  for from = 0, p - 1 do sends[from] = {} end
  for _ = 1, degree do
    local to = {}
    for i = 0, p - 1 do to[i] = i end
    for i = p - 1, 1, -1 do
      local k = random(i + 1)
      to[i], to[k] = to[k], to[i]
    end
    for from = 0, p - 1 do
      local row = sends[from]
      if to[from] ~= from then row[to[from]] = (row[to[from]] or 0) + 1 end
    end
  end
end

return function(g, rank, p)
  if not sends then make(p) end
  local got, sent = g:buffer("in", degree * size), g:buffer("out", degree * size)
  for other = 0, p - 1 do
    for _ = 1, sends[other][rank] or 0 do
      g:recv(got, size, other)
      got = got + size
    end
  end
  for other = 0, p - 1 do
    for _ = 1, sends[rank][other] or 0 do
      g:send(sent, size, other)
      sent = sent + size
    end
  end
end
