#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the layer's functions with buffers (layer.h shows one) from the tables of spec/.

usage: gen_layer.py OUT.c

Every function of MPI's with a parameter for data must be among the rules here or in the list of those that are left alone."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "spec"))
import gen_mpi  # noqa: E402

# ---- which bytes a buffer has

# One buffer of `count` elements, by its name: p2p, files, packing.
ELEMENTS = {name: f"layer_elements({count}, {type_})" for name, (count, type_) in gen_mpi.BUFFERS.items()}
ELEMENTS.update({f"{side}_addr": f"layer_elements({side}_count, {side}_datatype)" for side in ("origin", "result")})


def blocks(side, count="peers"):
    return f"layer_blocks(t.{count}, {side}count, {side}type)"


def places(side, displs, count="peers"):
    return f"layer_places(t.{count}, LIST({side}counts), LIST({displs}), {side}type)"


def typed(side, displs, count="peers"):
    return f"layer_typed(t.{count}, LIST({side}counts), LIST({displs}), {side}types)"


def at(condition, text):
    return f"{condition} ? {text} : NOTHING"


ROOTS, LEAF = "layer_is_root(t, root)", "layer_is_leaf(t, root)"
SEND, RECV = ELEMENTS["sendbuf"], ELEMENTS["recvbuf"]
BOTH = {name: "layer_elements(count, datatype)" for name in ("sendbuf", "recvbuf")}
# With MPI_IN_PLACE the input is where the result will be.
SUM = "layer_sum(t.local, LIST(recvcounts), datatype)"
OWN = f"sendbuf == MPI_IN_PLACE ? {SUM} : recvcounts ? layer_elements(recvcounts[t.rank], datatype) : NOTHING"
COLLECTIVES = {
    "Bcast": {"buffer": at(f"{ROOTS} || {LEAF}", "layer_elements(count, datatype)")},
    "Gather": {"sendbuf": at(LEAF, SEND), "recvbuf": at(ROOTS, blocks("recv"))},
    "Gatherv": {"sendbuf": at(LEAF, SEND), "recvbuf": at(ROOTS, places("recv", "displs"))},
    "Scatter": {"sendbuf": at(ROOTS, blocks("send")), "recvbuf": at(LEAF, RECV)},
    "Scatterv": {"sendbuf": at(ROOTS, places("send", "displs")), "recvbuf": at(LEAF, RECV)},
    "Allgather": {"sendbuf": SEND, "recvbuf": blocks("recv")},
    "Allgatherv": {"sendbuf": SEND, "recvbuf": places("recv", "displs")},
    "Alltoall": {"sendbuf": blocks("send"), "recvbuf": blocks("recv")},
    "Alltoallv": {"sendbuf": places("send", "sdispls"), "recvbuf": places("recv", "rdispls")},
    "Alltoallw": {"sendbuf": typed("send", "sdispls"), "recvbuf": typed("recv", "rdispls")},
    "Reduce": {"sendbuf": at(LEAF, BOTH["sendbuf"]), "recvbuf": at(ROOTS, BOTH["recvbuf"])},
    "Allreduce": BOTH,
    "Scan": BOTH,
    "Exscan": BOTH,
    "Reduce_scatter": {"sendbuf": SUM, "recvbuf": OWN},
    "Reduce_scatter_block": {"sendbuf": "layer_blocks(t.local, recvcount, datatype)",
                             "recvbuf": "layer_blocks(sendbuf == MPI_IN_PLACE ? t.local : 1, recvcount, datatype)"},
    "Neighbor_allgather": {"sendbuf": SEND, "recvbuf": blocks("recv", "in")},
    "Neighbor_allgatherv": {"sendbuf": SEND, "recvbuf": places("recv", "displs", "in")},
    "Neighbor_alltoall": {"sendbuf": blocks("send", "out"), "recvbuf": blocks("recv", "in")},
    "Neighbor_alltoallv": {"sendbuf": places("send", "sdispls", "out"), "recvbuf": places("recv", "rdispls", "in")},
    "Neighbor_alltoallw": {"sendbuf": typed("send", "sdispls", "out"), "recvbuf": typed("recv", "rdispls", "in")},
}
ONE = "layer_elements(1, datatype)"
OTHERS = {
    "Pack": {"outbuf": "layer_bytes(outsize)"},
    "Unpack": {"inbuf": "layer_bytes(insize)"},
    "Reduce_local": {"inbuf": "layer_elements(count, datatype)", "inoutbuf": "layer_elements(count, datatype)"},
    "Psend_init": {"buf": "layer_elements(partitions * count, datatype)"},
    "Fetch_and_op": {"origin_addr": ONE, "result_addr": ONE},
    "Compare_and_swap": {"origin_addr": ONE, "compare_addr": ONE, "result_addr": ONE},
}
OTHERS["Pack_external"], OTHERS["Unpack_external"], OTHERS["Precv_init"] = OTHERS["Pack"], OTHERS["Unpack"], OTHERS["Psend_init"]
# Pointers that are no messages: memory for windows and for buffered sends, what tools read and write, the program's own.
LEFT = re.compile(r"Win_(create|allocate|attach|detach|shared_query)|\w*(attach|detach)(_buffer)?(_c)?$|T_|\w+_[gs]et_attr$|Attr_|Abi_|Alloc_mem|Free_mem|"
                  r"Get_address|File_\w+_end$")
NO_DATA = {"extra_state"}

# ---- calls that complete something

WINDOW_ENDS = {"Win_fence": "ALL_TARGETS", "Win_complete": "ALL_TARGETS", "Win_unlock": "rank", "Win_unlock_all": "ALL_TARGETS", "Win_flush": "rank",
               "Win_flush_all": "ALL_TARGETS", "Win_flush_local": "rank", "Win_flush_local_all": "ALL_TARGETS", "Win_free": "ALL_TARGETS"}
# By what the program may learn that a receive whose request it has freed is complete.
LOOKS = {"Probe", "Iprobe", "Mprobe", "Improbe", "Barrier", "Comm_disconnect"}


def plain(f):
    """The blocking function that has the same buffers."""
    name = re.sub(r"_c$", "", f.name)
    if f.collective and f.chapter not in gen_mpi.FILE_CHAPTERS | gen_mpi.WINDOW_CHAPTERS:
        name = re.sub(r"_init$", "", name)
        name = name[1].upper() + name[2:] if re.match(r"I[a-z]", name) else name
    return name


def spans(f):
    """(buffer, its span) of the function, in the order of its parameters."""
    name = plain(f)
    rules = {**ELEMENTS, **OTHERS.get(name, {})} if name not in COLLECTIVES else COLLECTIVES[name]
    pointers = [p for p in f.params if p.type in ("void *", "const void *") and p.name not in NO_DATA]
    if LEFT.match(f.name):
        return []
    missing = [p.name for p in pointers if p.name not in rules]
    if missing:
        sys.exit(f"gen_layer.py: which bytes does {f.full} have at {', '.join(missing)}?")
    return [(p, rules[p.name]) for p in pointers]


def use(f, p):
    if plain(f) == "Bcast":
        return f"{ROOTS} ? READS : WRITES"
    return "READS" if p.type.startswith("const") else "WRITES"


def ending(f):
    if f.chapter in gen_mpi.FILE_CHAPTERS and re.search(r"_begin(_c)?$", f.name):
        return "layer_split(c, code, fh)"
    if f.has("request"):
        return f"layer_{'kept' if re.search('_init(_c)?$', f.name) else 'started'}(c, code, request)"
    if f.chapter in gen_mpi.WINDOW_CHAPTERS:
        return "layer_on_window(c, code, target_rank, win)"
    return "layer_end(c, code)"


def names(f, given=()):
    return ", ".join(dict(given).get(p.name, p.name) for p in f.params)


def with_buffers(f, found):
    team = "    team t = layer_team(comm);\n" if plain(f) in COLLECTIVES else ""
    known = "!t.known ? NOTHING : " if team else ""
    adds = "".join(f"    layer_add(c, {p.name}, {known}{span}, {use(f, p)});\n" for p, span in found)
    parts = "    layer_parts(c, partitions, count, datatype);\n" if f.has("partitions") else ""
    given = [(p.name, f"layer_at(c, {i})") for i, (p, _) in enumerate(found)]
    return (f'{f.prototype("MPI_")}\n{{\n    call *c = layer_begin("{f.full}");\n{team}{adds}{parts}    layer_place(c);\n'
            f"    int code = PMPI_{f.name}({names(f, given)});\n    return {ending(f)};\n}}\n\n")


def around(f, before, args, after):
    return f'{f.prototype("MPI_")}\n{{\n{before}    int code = PMPI_{f.name}({args});\n{after}    return code;\n}}\n\n'


def completes(f):
    if f.name in WINDOW_ENDS:
        given = f.name == "Win_free"
        before = "    uint64_t turn = layer_turn();\n" + ("    MPI_Win its = win ? *win : MPI_WIN_NULL;\n" if given else "")
        return around(f, before, names(f), f"    layer_window_synchronised(code, turn, {WINDOW_ENDS[f.name]}, {'its' if given else 'win'});\n")
    if f.chapter in gen_mpi.FILE_CHAPTERS and f.name.endswith("_end"):
        return around(f, "    call *c = layer_take_split(fh);\n", names(f, [("buf", "layer_split_buffer(c, buf)")]), "    layer_split_over(c, code);\n")
    if f.name in LOOKS:
        return around(f, "", names(f), "    layer_look_around();\n")
    return ""


def makes(f):
    """Types and communicators."""
    if f.name.startswith("T_") or gen_mpi.CHANGED.match(f.name):
        return ""
    after = "".join(f"    layer_type_made(code, {p.name});\n" for p in f.params if p.type == "MPI_Datatype *" and not p.array)
    for p in f.params:
        if p.type == "MPI_Comm *" and not p.array:
            after += f"    layer_comm_copied(code, comm, {p.name});\n" if f.has("request") else f"    layer_comm_made(code, {p.name});\n"
    return around(f, "", names(f), after) if after else ""


def predefined(constants):
    """Of each predefined type: its sizes, as the compiler has them."""
    code = {name: value for name, type_, value, _ in constants if type_ == "MPI_Datatype"}
    structs, rows = "", ""
    for row in gen_mpi.read_table(ROOT / "spec", "datatypes.tsv"):
        name, first, second = (row + ["", ""])[:3]
        if not second:
            rows += f"    [{code[name]}] = {{sizeof({first}), sizeof({first}), sizeof({first})}},\n"
            continue
        pair = f"struct pair_{name[4:].lower()}"
        structs += f"{pair} {{\n    {first} value;\n    {second} index;\n}};\n"
        rows += (f"    [{code[name]}] = {{sizeof({first}) + sizeof({second}), sizeof({pair}), offsetof({pair}, index) + sizeof({second})}},\n")
    return f"{structs}\nconst struct {{\n    size_t size, extent, true_extent;\n}} layer_predefined[1024] = {{\n{rows}}};\n"


def main():
    out = ["// Written by gen_layer.py.\n", '#include "layer.h"\n\n#include <wchar.h>\n\n']
    count = 0
    for row in gen_mpi.read_table(ROOT / "spec", "mpi_functions.tsv"):
        f = gen_mpi.Function(*row)
        found = spans(f) if f.abi else []
        count += bool(found)
        out.append(with_buffers(f, found) if found else completes(f) or makes(f))
    if count < 200:
        sys.exit(f"gen_layer.py: only {count} functions have buffers")
    out.append(predefined(gen_mpi.read_table(ROOT / "spec", "mpi_constants.tsv")))
    pathlib.Path(sys.argv[1]).write_text("".join(out))


if __name__ == "__main__":
    main()
