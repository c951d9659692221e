#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names that headers declare are mlt_WORD or mlt_WORD_...: the word is an object, and belongs to one layer (test/words.tsv; layers above may add to
the object). No name is declared for two things, no word has two meanings, and what the field has no word for is in docs/glossary.md.
What a .c file has for itself (functions, variables, types, macros) has a name that no other .c file of its layer has: profilers and debuggers tell
them apart, and a layer compiles as one file (-DCMAKE_UNITY_BUILD=ON).

--write adds the words that are missing, for you to look at."""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "test/words.tsv"
# Words that once had several meanings, or that nobody guessed. What they stood for has a name of the field's now.
GONE = {"above": "upcalls", "bell": "doorbell", "book": "rulebook, or directory", "crew": "pool, or agents", "deed": "operation", "desk": "rpc, mailbox or service",
        "elder": "parent", "guest": "participant", "house": "endpoint", "island": "domain", "kin": "child", "party": "members", "seat": "slot",
        "shelf": "registry", "sight": "event", "tube": "spsc", "way": "interceptor, mode or switch-over"}


def code_of(text):
    """Without comments, texts and preprocessor lines."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'^#(?!define)[^\n]*|"(?:\\.|[^"\\\n])*"', "", text, flags=re.M)


def declared(text):
    """Names of functions and types, and those of them that are only announced."""
    code = code_of(text)
    types = set(re.findall(r"typedef (?:struct|enum|union) (mlt_\w+)", code)) | set(re.findall(r"^\} (mlt_\w+);", code, re.M))
    whole = {name for name in types if re.search(rf"(?:struct|enum|union) {name}\s*\{{", code) or re.search(rf"^\}} {name};", code, re.M)}
    functions = {match.group(1) for match in re.finditer(r"^[a-zA-Z_][^\n;=()]*[ *](mlt_[a-z0-9_]+)\(", code, re.M)}
    return types | functions, types - whole


def prototype(text, name):
    """How a header declares it; a header may announce a function of another one, as it is there."""
    match = re.search(rf"^[a-zA-Z_][^\n;=()]*[ *]{name}\([^;{{]*;", code_of(text), re.M)
    return re.sub(r"\s+", " ", match.group()) if match else text


def headers():
    """The text of each, by its path below src."""
    return {str(path.relative_to(ROOT / "src")): path.read_text() for path in sorted((ROOT / "src").rglob("*.h")) if not path.name.endswith("_test.h")}


def sources():
    """The text of each .c file of the product, by its path below src."""
    return {str(path.relative_to(ROOT / "src")): path.read_text() for path in sorted((ROOT / "src").rglob("*.c"))
            if not re.search(r"_(test|fuzz)\.c$|^main_", path.name)}


def own_names(text):
    """Names of a .c file that no header declares."""
    code = code_of(text)
    code = re.sub(r"__attribute__\(\(.*?\)\) ", "", code)
    functions = re.findall(r"^static [^\n;=(]*?\b(\w+)\((?!\*)", code, re.M)
    variables = re.findall(r"^static [^\n;=()]*?\b(\w+)(?:\[[^\]\n]*\])*(?: =|;)", code, re.M)
    types = re.findall(r"^\} (\w+);", code, re.M) + re.findall(r"^(?:typedef )?(?:struct|enum|union) (\w+) \{", code, re.M)
    macros = re.findall(r"^#define (\w+)", code, re.M)
    return set(functions + variables + types + macros) - {"main", "_Static_assert"}


def check_own(texts, headers=None):
    places, faults = collections.defaultdict(set), []
    declaring = words_of(headers or {})[1]  # a type mlt_x of a .c file must not be one of another layer's header
    for path, text in texts.items():
        layer = path.split("/")[0]
        faults += [f"src/{path}: {name} is a type of {header}, too" for name in sorted(declared(text)[0] - declared(text)[1])
                   for header in declaring.get(name, ()) if header.split("/")[0] != layer and re.search(rf"^(typedef )?(struct|enum|union) {name} {{", text, re.M)]
        for name in own_names(text):
            places[path.split("/")[0], name].add(path)
    return faults + [f"{name} is a name of {' and of '.join(sorted(where))}; let it say which" for (_, name), where in sorted(places.items()) if len(where) > 1
            and not name.startswith(("mlt_", "MLT_"))]


def read_table():
    rows = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]] if TABLE.exists() else []
    return {word: layers.split(",") for word, layers in rows}


def words_of(texts):
    """Layers, by word; headers that declare it, by name; and names with words that are gone."""
    words, places, faults = collections.defaultdict(set), collections.defaultdict(set), []
    for path, text in texts.items():
        layer = path.split("/")[0]
        names, announced = declared(text)
        for name in sorted(names):
            parts = name.split("_")[1:]
            words[parts[0]].add(layer)
            if layer != "arch" and name not in announced:
                places[name].add(path)
            faults += [f"src/{path}: {name}: '{part}' is no word any more: {GONE[part]}" for part in parts if part in GONE]
    return words, places, faults


def check(texts, table):
    words, places, faults = words_of(texts)
    for word, layers in sorted(words.items()):
        for layer in sorted(layers - set(table.get(word, []))):
            home = f"belongs to {', '.join(table[word])}" if word in table else "is not in test/words.tsv"
            faults.append(f"layer {layer}: the word of mlt_{word}... {home}; take another, or --write it")
    faults += [f"test/words.tsv: no header has mlt_{word}..." for word in sorted(set(table) - set(words))]
    for name, where in sorted(places.items()):
        if len(where) > 1 and len({prototype(texts[path], name) for path in where}) > 1:
            faults.append(f"{name} is declared in {' and '.join(sorted(where))}")
    return faults


def self_test():
    """Each fault is found, and nothing else."""
    table = {"ring": ["wire"], "type": ["type", "mpi"]}
    fine = {"wire/ring.h": "int mlt_ring_take(void);\n// mlt_tube_of()\n", "type/type.h": "typedef struct mlt_type {\n    int x;\n} mlt_type;\n",
            "mpi/handle.h": "struct mlt_type;\nint mlt_type_of(int handle);\n", "wire/wire.h": "int mlt_ring_take(void);\n"}
    wrong = [({"p2p/p2p.h": "int mlt_ring_give(void);\n"}, "layer p2p: the word of mlt_ring... belongs to wire"),
             ({"wire/tcp.h": "int mlt_ring_shelf(void);\n"}, "'shelf' is no word any more"),
             ({"wire/tcp.h": "void mlt_news_of(void);\n"}, "the word of mlt_news... is not in test/words.tsv"),
             ({"mpi/type.h": "typedef struct mlt_type {\n    int y;\n} mlt_type;\n"}, "mlt_type is declared in mpi/type.h and type/type.h"),
             ({"wire/tcp.h": "char mlt_ring_take(int x);\n"}, "mlt_ring_take is declared in"),
             ({"wire/ring.h": "", "wire/wire.h": ""}, "test/words.tsv: no header has mlt_ring...")]
    bad = check(fine, table)
    for change, wanted in wrong:
        faults = check({**fine, **change}, table)
        bad += [] if len(faults) == 1 and wanted in faults[0] else [f"wanted one fault, {wanted}: {faults}"]
    twice = {"p2p/send.c": "static int emit(int x)\n{\n}\nstatic struct here {\n} at[2] = {0};\n", "p2p/recv.c": "static void\nfoo(void);\n#define EMIT 1\n", "coll/a.c": "static int emit(void);\n"}
    for text, wanted in [("static int emit(int y)\n", "emit"), ("static int emit;\n", "emit"), ("typedef struct emit {\n} emit;\n", "emit"), ("#define EMIT\n", "EMIT")]:
        faults = check_own({**twice, "p2p/req.c": text})
        wrong.append(text)
        bad += [] if len(faults) == 1 and faults[0].startswith(f"{wanted} is a name of p2p/") else [f"wanted {wanted} twice: {faults}"]
    wrong.append("a type of a .c file")
    faults = check_own({"fiber/policy.c": "typedef struct mlt_type {\n    int x;\n} mlt_type;\n"}, fine)
    bad += [] if len(faults) == 1 and "mlt_type is a type of type/type.h, too" in faults[0] else [f"wanted a type twice: {faults}"]
    for fault in bad:
        print(fault)
    print(f"{len(wrong) + 1 - len(bad)} passed, {len(bad)} failed")
    return bool(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="add what is missing to test/words.tsv, and remove what no header has")
    parser.add_argument("--self-test", action="store_true", help="try whether faults are found")
    parser.add_argument("--build", help="not used")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    texts, table = headers(), read_table()
    if options.write:
        words = words_of(texts)[0]
        table = {word: sorted(set(table.get(word, [])) | layers) for word, layers in words.items()}
        TABLE.write_text("word\tlayers\n" + "".join(f"{word}\t{','.join(table[word])}\n" for word in sorted(table)))
    faults = check(texts, table) + check_own(sources(), texts)
    for fault in faults:
        print(fault)
    print(f"{int(not faults)} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
