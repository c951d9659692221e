-- Theorem 3 of the paper: n actions that are hard on a window. Action i is followed by action i + 1,
-- and each of the first half also by the one n/2 further on, so that a side table of n/2 cells is needed.
--
--     millet goal table examples/goal/theorem3.lua --ranks 1 --set n=1000

local n = tonumber(arg.n or 10)
assert(n and n >= 4 and n % 2 == 0, "n should be an even number of 4 or more")

return function(g)
  local a = {}
  for i = 1, n do
    a[i] = g:calc(100)
    g:label(a[i], "a" .. i)
  end
  for i = 1, n - 1 do
    g:requ(a[i + 1], a[i])
  end
  for j = 1, n // 2 do
    g:requ(a[j + n // 2], a[j])
  end
end
