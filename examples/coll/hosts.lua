-- A broadcast that crosses once to each other host: to its lowest rank, which tells the others.
local function leader(shape, h)
  if shape.host[shape.root] == h then return shape.root end
  for r = 0, shape.ranks - 1 do
    if shape.host[r] == h then return r end
  end
end

algorithm {
  coll = "bcast", name = "by_host", help = "from the root to a rank of each host, and from there",
  refuses = function(shape) if not shape.host then return "it is for ranks on several hosts" end end,
  emit = function(g, shape)
    local me, n, host = shape.rank, shape.bytes, shape.host
    local buf, lead = g:buffer("buf", n), leader(shape, host[me])
    local got = me ~= shape.root and g:recv(buf, n, me == lead and shape.root or lead) or nil
    local function tell(r)
      local s = g:send(buf, n, r)
      if got then g:requ(s, got) end
    end
    for h = 0, shape.hosts - 1 do
      if me == shape.root and h ~= host[me] then tell(leader(shape, h)) end
    end
    for r = 0, shape.ranks - 1 do
      if me == lead and r ~= me and host[r] == host[me] then tell(r) end
    end
  end,
}

rule { coll = "bcast", hosts = {2}, each = {2}, alg = "by_host", why = "to try it" }
