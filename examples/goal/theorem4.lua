-- Theorem 4 of the paper: the program of theorem3.lua with a dummy after every third action. All
-- actions between two dummies wait for the first one, and the second one waits for them; dependencies
-- that went across a dummy are gone. A side table of 3 cells is enough, whatever n and the window.
--
--     millet goal table examples/goal/theorem4.lua --ranks 1 --set n=1000

local n, every = tonumber(arg.n or 10), tonumber(arg.every or 3)
assert(n and n >= 4 and n % 2 == 0, "n should be an even number of 4 or more")
assert(every and every >= 1, "every should be a number of 1 or more")

return function(g)
  local a, part, dummy = {}, {}, nil
  local function segment(i) return (i - 1) // every end
  for i = 1, n do
    a[i] = g:calc(100)
    g:label(a[i], "a" .. i)
    part[#part + 1] = a[i]
    if dummy then g:requ(a[i], dummy) end
    if i > 1 and segment(i - 1) == segment(i) then g:requ(a[i], a[i - 1]) end
    if i > n // 2 and segment(i - n // 2) == segment(i) then g:requ(a[i], a[i - n // 2]) end
    if i % every == 0 and i < n then
      dummy = g:nop()
      g:label(dummy, "d" .. i // every)
      for _, action in ipairs(part) do g:requ(dummy, action) end
      part = {}
    end
  end
end
