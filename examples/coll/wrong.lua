-- The same with the mistake that many make once: it works while rank 0 is the root, and nobody
-- notices before somebody else is. Loading it says so.
algorithm {
  coll = "bcast", name = "mine", help = "a binomial tree for root 0 only",
  emit = function(g, shape)
    local p, v, n = shape.ranks, shape.rank, shape.bytes
    local buf, got, bit = g:buffer("buf", n), nil, 1
    while bit <= v do bit = bit * 2 end
    if v > 0 then got = g:recv(buf, n, v - bit // 2) end
    while v + bit < p do
      local s = g:send(buf, n, v + bit)
      if got then g:requ(s, got) end
      bit = bit * 2
    end
  end,
}

rule { coll = "bcast", alg = "mine" }
