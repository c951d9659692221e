-- A broadcast of one's own: the binomial tree, whose root has the most children.
algorithm {
  coll = "bcast", name = "mine", help = "a binomial tree in Lua",
  emit = function(g, shape)
    local p, root, n = shape.ranks, shape.root, shape.bytes
    local v = (shape.rank - root) % p -- ranks counted from the root
    local buf, got, bit = g:buffer("buf", n), nil, 1
    while bit <= v do bit = bit * 2 end
    if v > 0 then got = g:recv(buf, n, (v - bit // 2 + root) % p) end
    while v + bit < p do
      local s = g:send(buf, n, (v + bit + root) % p)
      if got then g:requ(s, got) end
      bit = bit * 2
    end
  end,
}

rule { coll = "bcast", alg = "mine", why = "to try it" }
