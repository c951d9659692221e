# SPDX-License-Identifier: BSD-3-Clause
# Listings 2 to 17 of Bjorndalen and Sampson, Process-Oriented Collective Operations (2008), as they are in the paper, and each beside
# the library's operation. Where the paper leaves a helper function out, it is here.
#
#     mpirun -n 5 python3 collectives.py      ranks are members
#     python3 collectives.py                  five processes are
import millet
from millet import Group, Parallel, Sequence, nodes, process


# ---- helper functions


@process
def pass_on(comm, targ_rank, data):
    comm.send_to(targ_rank, data)


def pass_on_multiple(comm, targ_ranks, data):
    Parallel(*[pass_on(comm, targ, data) for targ in targ_ranks])


@process
def recv_from_other(comm, rank):
    return comm.recv_from(rank)


def recv_from_multiple(comm, ranks, res_dict=None):
    res = Parallel(*[recv_from_other(comm, rank) for rank in ranks])
    if res_dict is not None:
        res_dict.update(zip(ranks, res))
    return res


@process
def recv_from_multiple_p(comm, ranks, res_dict=None):
    return recv_from_multiple(comm, ranks, res_dict)


def binom_get_parent(rank, size):
    return rank & (rank - 1)


def binom_get_children(rank, size):
    low = rank & -rank if rank else size
    return [rank + bit for bit in (1 << i for i in range(size.bit_length())) if bit < low and rank + bit < size]


def get_reduce_peers_binom(comm):
    """Children with smaller subtrees first, so that operands stay in order."""
    parent = [binom_get_parent(comm.rank, comm.groupsize)] if comm.rank else []
    return binom_get_children(comm.rank, comm.groupsize), parent


# ---- broadcast: listings 2 to 4


def Broadcast_linear(comm, data):
    """linear broadcast"""
    if comm.rank == 0:
        pass_on_multiple(comm, range(1, comm.groupsize), data)
    else:
        data = comm.recv()
    return data


def Broadcast_binomial(comm, data):
    """binomial broadcast"""
    if comm.rank != 0:
        data = comm.recv()  # read from parent in tree
    pass_on_multiple(comm, binom_get_children(comm.rank, comm.groupsize), data)
    return data


# ---- reduce: listings 5 to 8


def Reduce_linear(comm, data, func):
    if comm.rank == 0:
        # Start with the highest ranks, reducing towards the root.
        v = comm.recv_from(comm.groupsize - 1)
        for i in range(comm.groupsize - 2, 0, -1):
            t = comm.recv_from(i)
            v = func(t, v)
        v = func(data, v)
        return v
    else:
        # Non-root processes pass the values directly to the root
        comm.send_to(0, data)
        return data


def Reduce_binom1(comm, data, func):
    recv_from, send_to = get_reduce_peers_binom(comm)
    v = data
    for peer in recv_from:
        t = comm.recv_from(peer)
        v = func(v, t)
    for peer in send_to:
        comm.send_to(peer, v)
    return v


def Reduce_binom2(comm, data, func):
    recv_from, send_to = get_reduce_peers_binom(comm)
    v = data
    res = recv_from_multiple(comm, recv_from)
    for r in res:
        v = func(v, r)
    for peer in send_to:
        comm.send_to(peer, v)
    return v


def Reduce_binom3(comm, data, func):
    """Recursive processes, calling 'func' on the current and next in the chain."""

    @process
    def _reduce_1(comm, func, peers):
        if len(peers) > 1:
            res = Parallel(recv_from_other(comm, peers[0]), _reduce_1(comm, func, peers[1:]))
            return func(res[0], res[1])
        else:
            return comm.recv_from(peers[0])

    recv_from, send_to = get_reduce_peers_binom(comm)
    v = data
    if len(recv_from) > 0:
        res = Sequence(_reduce_1(comm, func, recv_from))
        v = func(v, res[0])
    for peer in send_to:
        comm.send_to(peer, v)
    return v


# ---- barrier: listings 9 to 11


def Barrier_non_par(comm):
    if comm.rank > 0:
        comm.send_to(0, None)
        comm.recv_from(0)
    else:
        for i in range(1, comm.groupsize):
            comm.recv_from(i)
        for i in range(1, comm.groupsize):
            comm.send_to(i, None)


def Barrier_linear(comm):
    if comm.rank > 0:
        comm.send_to(0, None)
        comm.recv_from(0)
    else:
        recv_from_multiple(comm, range(1, comm.groupsize))
        pass_on_multiple(comm, range(1, comm.groupsize), None)


def Barrier_binom(comm):
    children = binom_get_children(comm.rank, comm.groupsize)
    recv_from_multiple(comm, children)
    if comm.rank != 0:
        # (pass up, recv down)
        parent = binom_get_parent(comm.rank, comm.groupsize)
        comm.send_to(parent, None)
        comm.recv_from(parent)
    pass_on_multiple(comm, children, None)


# ---- the others: listings 12 to 17


def Allreduce(comm, data, func=lambda x, y: x + y):
    data = Reduce_binom3(comm, data, func)
    data = Broadcast_binomial(comm, data)
    return data


def Gather_seq(comm, data):
    if comm.rank != 0:
        comm.send_to(0, data)
        return None
    else:
        vals = [data]
        for i in range(1, comm.groupsize):
            vals.append(comm.recv_from(i))
        return vals


def Gather_par(comm, data):
    if comm.rank != 0:
        comm.send_to(0, data)
        return None
    else:
        res = {0: data}
        recv_from_multiple(comm, range(1, comm.groupsize), res_dict=res)
        return [res[k] for k in range(comm.groupsize)]


def Allgather(comm, data):
    vals = Gather_par(comm, data)  # rank 0 gets all of them
    return Broadcast_binomial(comm, vals)  # rank 0 will forward all values


def Scatter_seq(comm, data):
    if comm.rank != 0:
        return comm.recv_from(0)
    else:
        for i in range(1, comm.groupsize):
            comm.send_to(i, data[i])
        return data[0]


def Scatter_par(comm, data):
    if comm.rank != 0:
        return comm.recv_from(0)
    else:
        Parallel(*[pass_on(comm, i, data[i]) for i in range(1, comm.groupsize)])
        return data[0]


def scatter_send(comm, data, targets):
    Parallel(*[pass_on(comm, i, data[i]) for i in targets])


@process
def scatter_send_p(comm, data, targets):
    scatter_send(comm, data, targets)


def Alltoall(comm, data):
    other = [i for i in range(comm.groupsize) if i != comm.rank]
    res = {comm.rank: data[comm.rank]}
    Parallel(scatter_send_p(comm, data, other), recv_from_multiple_p(comm, other, res_dict=res))
    return [res[k] for k in sorted(res.keys())]


# ---- do all of them give the same as the library's?


def join(a, b):
    """Does not commute."""
    return a + b


def compare(comm, listings, library, *args, at_root=False):
    wanted = library(comm, *args)
    for listing in listings:
        got = listing(comm, *args)
        comm.barrier()
        right = comm.allreduce(got == wanted or at_root and comm.rank != 0, lambda a, b: a and b)
        if comm.rank == 0:
            print(f"{listing.__name__}: {'right' if right else 'WRONG'}")


@process
def member(comm):
    letter = chr(ord("a") + comm.rank)
    whole = [letter + str(i) for i in range(comm.groupsize)]
    compare(comm, [Broadcast_linear, Broadcast_binomial], millet.Broadcast, letter)
    if comm.groupsize > 1:
        compare(comm, [Reduce_linear, Reduce_binom1, Reduce_binom2, Reduce_binom3], millet.Reduce, letter, join, at_root=True)
    compare(comm, [Barrier_non_par, Barrier_linear, Barrier_binom], lambda comm: comm.barrier())
    compare(comm, [Allreduce], millet.Allreduce, letter)
    compare(comm, [Gather_seq, Gather_par], millet.Gather, letter)
    compare(comm, [Allgather], millet.Allgather, letter)
    compare(comm, [Scatter_seq, Scatter_par], millet.Scatter, whole)
    compare(comm, [Alltoall], millet.Alltoall, whole)


group = Group("all", members=1 if nodes() > 1 else 5)
Parallel([member(comm) for comm in group])
