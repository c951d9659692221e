#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do build systems find Millet, and do the programs that they build run?

Everything is tried twice: in the build tree, and in a tree that was installed and then moved to a folder with a space in its
name. Prints a line a case, and `N passed, N failed` at the end. What a machine has no tool for is said as `skipped`."""

import os
import pathlib
import re
import runpy
import shlex
import shutil
import sys
import types

import harness
from harness import ROOT, Skip, expect

SOURCES = ROOT / "test" / "build"
GOAL = ROOT / "examples" / "goal"


class Tree:
    """A Millet to try: a folder with bin, lib and include."""

    def __init__(self, name, root):
        self.name, self.root = name, pathlib.Path(root)
        self.mpicc, self.mpicxx = self.root / "bin/mpicc", self.root / "bin/mpicxx"
        self.env = harness.environment(without=(*harness.OF_JOBS, "PKG_CONFIG", "LD_LIBRARY", "I_MPI"))
        self.env["PATH"] = f"{self.root}/bin:{os.environ['PATH']}"
        self.env["PKG_CONFIG_LIBDIR"] = str(self.root / "lib/pkgconfig")


def run(command, tree, cwd=None, fails=False, **env):
    """Runs a command in the tree's environment; its output. `fails`: it must fail, and standard error is returned."""
    done = harness.run(*command, code=None, limit=300, cwd=cwd, env={**tree.env, **env})
    expect(bool(done.code) == fails, f"it should {'fail' if fails else 'succeed'}", done)
    return done.err if fails else done.out


def need(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")


def try_program(tree, program):
    """Runs a built program as one rank, as processes and as fibers, and looks at what it is linked with."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "-d", program], tree))
    expect("libmpi_abi.so.1" in needed, f"{program} does not need libmpi_abi.so.1, only {needed}")
    # With --as-needed a program may need libc only by way of the library.
    expect("libc.so.6" not in needed or needed.index("libmpi_abi.so.1") < needed.index("libc.so.6"),
           f"{program} has libc.so.6 before libmpi_abi.so.1, so main would not be Millet's: {needed}")
    others = [name for name in needed if re.match(r"lib(mpi|open|pmpi)", name) and name not in ("libmpi_abi.so.1", "libmpi_fortran.so.1")]
    expect(not others, f"{program} needs another MPI: {others}")
    mpirun = tree.root / "bin/mpirun"
    if not mpirun.exists():
        raise Skip("there is no mpirun to run the program with")
    expect(run([program], tree) == "sum 0 of 1 ranks\n", f"{program} alone: wrong output")
    for options in (["-n", "3"], ["-n", "1", "-nfg", "3"]):
        said = run([mpirun, *options, program], tree)
        expect(said == "sum 3 of 3 ranks\n", f"mpirun {' '.join(options)} {program} printed {said!r}")


# ---- the wrapper's own options: nothing is compiled

def case_show(tree, work):
    def words(*args, **env):
        return shlex.split(run([tree.mpicc, *args], tree, **env))

    include, lib = f"-I{tree.root}/include", f"-L{tree.root}/lib"
    rpath = f"-Wl,-rpath,{tree.root}/lib"
    compiler = words("-showme:command")
    for option in ("-showme:compile", "--showme:compile"):
        expect(include in words(option) and "-lmpi_abi" not in words(option), f"{option} printed {words(option)}")
    for args in ([], ["-cc=clang"], ["-cc=ccache gcc-12"], ["-cc=aarch64-linux-gnu-gcc"]):
        expect("-fstack-clash-protection" in words(*args, "-show") and "-fstack-clash-protection" in words(*args, "-showme:compile"),
               f"a large frame could jump over the guard of a stack with {args}")
    expect("-fstack-clash-protection" not in words("-cc=tcc", "-show"), "tcc does not know the option")
    for option in ("-showme:link", "--showme:link"):
        expect(words(option)[-3:] == [lib, rpath, "-lmpi_abi"], f"{option} printed {words(option)}")
        expect(include not in words(option), f"{option} printed {words(option)}")
    for option in ("-show", "-showme", "--showme", "-link-info"):
        full = words(option)
        expect(full[:len(compiler)] == compiler and include in full and full[-3:] == [lib, rpath, "-lmpi_abi"],
               f"{option} printed {full}")
    expect("-lmpi_abi" not in words("-compile-info"), "-compile-info has link flags")
    expect(words("-showme:libs") == ["mpi_abi"], "-showme:libs")
    expect(words("-showme:incdirs") == [f"{tree.root}/include"], "-showme:incdirs")
    for other, own in (("-show-incdir", "-showme:incdirs"), ("-show-libdir", "-showme:libdirs"), ("-show-libs", "-showme:libs"), ("-show_compile_info", "-showme:compile"),
                       ("-show-link-info", "-showme:link"), ("-compile_info", "-compile-info"), ("-link_info", "-link-info")):
        expect(words(other) == words(own), f"{other}: {words(other)}")
    expect(words("-showme:libdirs") == [f"{tree.root}/lib"], "-showme:libdirs")
    expect(re.search(r"\b\d+\.\d+\.\d+\b", run([tree.mpicc, "--showme:version"], tree)), "no version x.y.z")
    full = words("-show", "-DTEXT=\"a b\"", "x $y.c", "-o", "it's")
    expect("-DTEXT=\"a b\"" in full and "x $y.c" in full and "it's" in full, f"quoting is wrong: {full}")


def case_show_when_linking(tree, work):
    def links(*args):
        return "-lmpi_abi" in run([tree.mpicc, "-show", *args], tree)

    for args in (["x.c"], ["x.o", "-o", "x"], ["-shared", "x.o"], ["-x", "c", "-"], ["-v", "x.c"], ["@files"],
                 ["-lx"], ["-l", "x"], ["-MD", "-MF", "x.d", "x.c"]):
        expect(links(*args), f"mpicc {' '.join(args)} does not link with the library")
    for args in (["-c", "x.c"], ["x.c", "-S"], ["-E", "x.c"], ["-M", "x.c"], ["-MM", "x.c"], ["-fsyntax-only", "x.c"],
                 ["-v"], ["--version"], ["-dumpversion"], ["-print-search-dirs"], ["-o", "x"], ["-include", "x.h", "-v"],
                 ["-r", "x.o", "-o", "y.o"]):
        expect(not links(*args), f"mpicc {' '.join(args)} would link")


def case_refuses(tree, work):
    for option in ("-showme:nonsense", "--showme:nonsense", "-showme:", "-shownothing"):
        said = run([tree.mpicc, option], tree, fails=True)
        expect("unknown option" in said and said.count("\n") == 1, f"{option}: {said!r}")
    said = run([tree.mpicc, "-cxx=g++", "-show"], tree, fails=True)
    expect("-cc=COMPILER" in said, said)


def case_choose_compiler(tree, work):
    def command(wrapper, *args, **env):
        return run([wrapper, *args, "-showme:command"], tree, **env).strip()

    expect(command(tree.mpicc, "-cc=xcc") == "xcc", "-cc=")
    expect(command(tree.mpicc, "-cc=ccache xcc") == "ccache xcc", "-cc= with two words")
    expect(command(tree.mpicc, MPICH_CC="xcc") == "xcc", "MPICH_CC")
    expect(command(tree.mpicc, OMPI_CC="xcc") == "xcc", "OMPI_CC")
    expect(command(tree.mpicc, "-cc=ycc", OMPI_CC="xcc") == "ycc", "-cc= over OMPI_CC")
    expect(command(tree.mpicc, OMPI_CXX="x++") != "x++", "OMPI_CXX for C")
    for name in ("mpicxx", "mpic++", "mpiCC"):
        wrapper = tree.root / "bin" / name
        expect(command(wrapper, "-cxx=x++") == "x++", f"{name} -cxx=")
        expect(command(wrapper, MPICH_CXX="x++") == "x++", "MPICH_CXX")
        expect("++" in command(wrapper), f"{name} calls {command(wrapper)}")


def case_link_to_wrapper(tree, work):
    (work / "elsewhere").mkdir()
    for name in ("mpicc", "mpicxx"):
        (work / "elsewhere" / name).symlink_to(tree.root / "bin" / name)
        said = run([work / "elsewhere" / name, "-showme:incdirs"], tree)
        expect(shlex.split(said) == [f"{tree.root}/include"], f"through a link: {said}")
    said = run(["mpicc", "-showme:incdirs"], tree, cwd=work)
    expect(shlex.split(said) == [f"{tree.root}/include"], f"through PATH: {said}")
    said = run(["./mpicc", "-showme:incdirs"], tree, cwd=tree.root / "bin")
    expect(shlex.split(said) == [f"{tree.root}/include"], f"from its folder: {said}")


# ---- building

def case_compile_and_link(tree, work):
    run([tree.mpicc, "-Wall", "-Wextra", "-Werror", SOURCES / "program.c", "-o", work / "a"], tree)
    try_program(tree, work / "a")
    run([tree.mpicc, "-c", SOURCES / "program.c", "-o", work / "a.o"], tree)
    run([tree.mpicc, work / "a.o", "-o", work / "b", "-lm", "-pthread", "-Wl,--as-needed"], tree)
    try_program(tree, work / "b")


def case_configure(tree, work):
    """What a script made by autoconf does with CC=mpicc."""
    (work / "conftest.c").write_text("int main(void) { return 0; }\n")
    run(["mpicc", "conftest.c"], tree, cwd=work)
    expect((work / "a.out").exists(), "mpicc conftest.c made no a.out")
    run([work / "a.out"], tree)
    for option in ("--version", "-v", "-dumpmachine", "-print-prog-name=ld"):
        run(["mpicc", option], tree, cwd=work)
    run(["mpicc", "--no-such-option"], tree, cwd=work, fails=True)
    (work / "conftest.c").write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) + MPI_Finalize(); }\n")
    run(["mpicc", "-o", "conftest", "-g", "-O2", "conftest.c"], tree, cwd=work)
    expect("MPI_Init" in run(["mpicc", "-E", "conftest.c"], tree, cwd=work), "mpicc -E")
    run(["mpicc", "-S", "conftest.c"], tree, cwd=work)
    run(["mpicc", "-c", "-MD", "-MP", "-MF", "conftest.d", "conftest.c"], tree, cwd=work)
    expect("mpi.h" in (work / "conftest.d").read_text(), "no dependency on mpi.h")
    expect("mpi.h" in run(["mpicc", "-M", "conftest.c"], tree, cwd=work), "mpicc -M")
    run(["mpicc", "-r", "-nostdlib", "conftest.o", "-o", "conftest2.o"], tree, cwd=work)
    # AC_SEARCH_LIBS(MPI_Init, mpi): found without a library.
    (work / "conftest.c").write_text("char MPI_Init(void);\nint main(void) { return MPI_Init(); }\n")
    run(["mpicc", "-o", "conftest", "-fno-builtin", "-w", "conftest.c"], tree, cwd=work)


def case_clang(tree, work):
    need("clang")
    cc = "-cc=clang"
    if run([tree.mpicc, "-showme:compile"], tree).find("-fsanitize") >= 0:
        raise Skip("the library was built with gcc's sanitizers")
    run([tree.mpicc, cc, "-Weverything", "-Wno-padded", "-Werror=unused-command-line-argument", "-c",
         SOURCES / "program.c", "-o", work / "a.o"], tree)
    run([tree.mpicc, cc, "-Werror", work / "a.o", "-o", work / "a"], tree)
    try_program(tree, work / "a")


def case_cplusplus(tree, work):
    need("c++")
    for name in ("mpicxx", "mpic++", "mpiCC"):
        run([tree.root / "bin" / name, "-Wall", "-Wextra", "-Werror", SOURCES / "program.cc", "-o", work / name], tree)
    try_program(tree, work / "mpicxx")


def case_shared_library(tree, work):
    """The program itself does not use MPI, only its library does; distributions link with --as-needed."""
    run([tree.mpicc, "-shared", "-fPIC", SOURCES / "tell.c", "-o", work / "libtell.so"], tree)
    run([tree.mpicc, "-Wl,--as-needed", SOURCES / "tell_main.c", "-o", work / "a", f"-L{work}", "-ltell",
         f"-Wl,-rpath,{work}"], tree)
    try_program(tree, work / "a")


def case_pkg_config(tree, work):
    need("pkg-config")
    for name in ("mpi-c", "millet", "mpi-cxx"):
        flags = shlex.split(run(["pkg-config", "--cflags", "--libs", name], tree))
        compiler = run([tree.mpicc, "-showme:command"], tree).split()
        run([*compiler, SOURCES / "program.c", *flags, "-o", work / name], tree)
        try_program(tree, work / name)


def case_cmake_path(tree, work):
    cmake_project(tree, work, [])


def case_cmake_home(tree, work):
    tree.env["PATH"] = os.environ["PATH"]
    try:
        cmake_project(tree, work, [f"-DMPI_HOME={tree.root}"])
    finally:
        tree.env["PATH"] = f"{tree.root}/bin:{os.environ['PATH']}"


def cmake_project(tree, work, options):
    need("cmake")
    if not (tree.root / "bin/mpirun").exists():
        raise Skip("CMake's MPI module wants an mpiexec, and there is none")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    compiler = run([tree.mpicc, "-showme:command"], tree).strip()
    said = run(["cmake", "-S", SOURCES / "cmake", "-B", work / "out", *generator, *options,
                f"-DCMAKE_C_COMPILER={compiler}"], tree)
    expect(f"mpiexec is {tree.root}/bin/mpi" in said, f"CMake found another mpiexec:\n{said}")
    run(["cmake", "--build", work / "out"], tree)
    programs = ["program_c", "tell_main"] + ["program_cxx"] * (work / "out/program_cxx").exists()
    programs += ["program_fortran"] * (work / "out/program_fortran").exists()
    for program in programs:
        try_program(tree, work / "out" / program)


def case_cmake_package(tree, work):
    """find_package(Millet): one target for C and C++, one for Fortran, the version, and what is missing is named."""
    need("cmake")
    compiler = run([tree.mpicc, "-showme:command"], tree).strip()
    version = re.search(r"[0-9.]+[0-9]", run([tree.mpicc, "--showme:version"], tree)).group()
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []

    def configure(out, *options, **how):
        return run(["cmake", "-S", SOURCES / "package", "-B", work / out, *generator, f"-DCMAKE_C_COMPILER={compiler}",
                    f"-DCMAKE_PREFIX_PATH={tree.root}", *options], tree, **how)

    said = configure("out", f"-DWANTED={version}")
    expect(f"mpiexec is {tree.root.resolve()}/bin/mpiexec, version {version}" in said, said)
    run(["cmake", "--build", work / "out"], tree)
    expect((work / "out/program_fortran").exists() or not shutil.which("gfortran"), "the component Fortran makes no target", said)
    for program in ["program_c", *(name for name in ("program_cxx", "program_fortran") if (work / "out" / name).exists())]:
        try_program(tree, work / "out" / program)
    expect("0.1" in configure("old", "-DWANTED=0.1", fails=True), "a version that does not fit is taken")
    expect("has no component Java" in configure("parts", "-DPARTS=Java", fails=True), "a component that is not there is found")
    said = configure("language", "-DPARTS=Fortran", "-DWITHOUT_FORTRAN=ON", fails=True)
    expect(re.search(r"needs\s+the\s+language\s+Fortran", said), "Fortran is found without a compiler", said)


def loaded(tree, words, name):
    """The variables that a module sets, which its command prints as Python's assignments or the shell's."""
    said = run([*words, "load", name], tree, MODULEPATH=str(tree.root / "share/modulefiles"))
    found = dict(re.findall(r"^(?:export )?([A-Z_]+)=(.*?);", said, re.M))
    root = re.escape(str(tree.root)).replace("\\ ", r"\\*[ ]")  # a shell's word
    for variable, below in {"PATH": "/bin", "PKG_CONFIG_PATH": "/lib/pkgconfig", "CMAKE_PREFIX_PATH": "",
                            "LD_LIBRARY_PATH": "/lib/millet/abi", "MPI_HOME": ""}.items():
        expect(re.match(rf"[\"']?{root}{below}([:\"';]|$)", found.get(variable, "")), f"{variable} is {found.get(variable)}", said)


def case_modules(tree, work):
    """Environment Modules' file sets the prefix from its own place."""
    modulecmd = shutil.which("modulecmd")
    if not modulecmd:
        raise Skip("modulecmd (environment-modules) is not installed")
    loaded(tree, [modulecmd, "sh"], "millet")


def case_lmod(tree, work):
    lmod = pathlib.Path("/usr/share/lmod/lmod/libexec/lmod")
    if not lmod.exists():
        raise Skip("lmod is not installed")
    loaded(tree, [lmod, "sh"], "millet")


# ---- the standard ABI

def undefined(tree, program):
    """Names that a program takes from libraries, with their versions."""
    return set(re.findall(r"^ +[Uw] (\S+)$", run(["nm", "-D", program], tree), re.M))


def case_swap_out(tree, work):
    """Programs need nothing but the standard ABI and libc, so a library of another implementation can take Millet's place."""
    standard = {line.split("\t")[0] for line in (ROOT / "spec/mpi_functions.tsv").read_text().splitlines()}
    libc = run([*run([tree.mpicc, "-showme:command"], tree).split(), "-print-file-name=libc.so.6"], tree).strip()
    libc = {name.split("@")[0] for name in re.findall(r" [TWiVBD] (\S+)$", run(["nm", "-D", libc], tree), re.M)}
    for source in (SOURCES / "program.c", *sorted((ROOT / "examples").glob("*.c"))):
        if re.search(r"MPIX_|<millet/|<fgmpi", source.read_text()):
            continue  # says itself that it wants Millet
        run([tree.mpicc, source, "-o", work / source.stem], tree)
        names = undefined(tree, work / source.stem)
        # What Millet's library defines, too, has no version; with another library it is libc's.
        names = {name.split("@")[0] for name in names}
        other = {name for name in names - standard - libc if not re.match(r"_ITM_|__gmon_start__|__[at]san|__ubsan", name)}
        expect(names & standard and not other, f"{source.name} needs {other}")
    run([*run([tree.mpicc, "-showme:command"], tree).split(), "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1",
         SOURCES / "other_mpi.c", "-o", work / "libmpi_abi.so.1"], tree)
    if "-fsanitize" in run([tree.mpicc, "-showme:compile"], tree):
        return
    said = run([work / "program"], tree, LD_LIBRARY_PATH=str(work))
    expect(said == "sum 42 of 7 ranks\n", f"with another library: {said!r}")


def case_swap_in(tree, work):
    """A program that was linked with another implementation's library runs on Millet."""
    compiler = run([tree.mpicc, "-showme:command"], tree).split()
    (work / "other").mkdir()
    run([*compiler, "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", SOURCES / "other_mpi.c",
         "-o", work / "other/libmpi_abi.so.1"], tree)
    run([*compiler, f"-I{tree.root}/include", SOURCES / "program.c", work / "other/libmpi_abi.so.1", f"-Wl,-rpath,{work}/other", "-o", work / "program"], tree)
    if "-fsanitize" in run([tree.mpicc, "-showme:compile"], tree):
        raise Skip("a sanitizer's library wants programs with the same sanitizer")
    expect(run([work / "program"], tree) == "sum 42 of 7 ranks\n", "with its own library")
    for options in (["-n", "3"], ["-n", "1", "-nfg", "3"]):
        said = run([tree.root / "bin/mpirun", *options, work / "program"], tree)
        expect(said == "sum 3 of 3 ranks\n", f"mpirun {' '.join(options)} printed {said!r}")
    expect(run([work / "program"], tree, LD_LIBRARY_PATH=str(tree.root / "lib/millet/abi")) == "sum 0 of 1 ranks\n", "alone")


# ---- Spack, of which a few lines stand here

SPACK = ROOT / "share/spack/spack_repo/millet"


def spack_recipe():
    """The recipe, run with as much of Spack's language (its package API 2.0) as it uses; returns its class, and what its directives said."""
    said = []

    def directive(name):
        return lambda *words, **more: said.append((name, words, more))

    language = {name: directive(name) for name in ("license", "version", "variant", "provides", "depends_on", "conflicts")}
    language |= {name: lambda *words, **more: lambda function: function for name in ("run_after", "on_package_attributes")}
    language |= {"find_libraries": None, "find_headers": None, "Executable": None}
    systems = {"CMakePackage": type("CMakePackage", (), {"define": lambda self, name, value: (name, value)}), "generator": directive("generator")}
    modules = {"spack": {}, "spack.package": language, "spack_repo": {}, "spack_repo.builtin": {}, "spack_repo.builtin.build_systems": {},
               "spack_repo.builtin.build_systems.cmake": systems}
    for name, content in modules.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(content)
    try:
        names = runpy.run_path(str(SPACK / "packages/millet/package.py"))
    finally:
        for name in modules:
            del sys.modules[name]
    return names["Millet"], said


class FakeSpec:
    """A spec with these variants; every dependency has one folder of libraries."""

    def __init__(self, *variants):
        self.variants, self.libs, self.directories = variants, self, ["/dependency/lib"]

    def satisfies(self, what):
        return what in self.variants

    def __getitem__(self, name):
        return self


def spack_environment(package, *compilers):
    """The variables for a dependent whose build has these compilers."""
    variables = {}
    module = types.SimpleNamespace(**{f"spack_{name}": f"/spack/{name}" for name in compilers})
    package.setup_dependent_build_environment(types.SimpleNamespace(set=variables.__setitem__), types.SimpleNamespace(package=types.SimpleNamespace(module=module)))
    return variables


def case_spack(tree, work):
    """The recipe is right about this tree: its version, options that CMake knows, files that are installed. Spack itself is not run."""
    recipe, said = spack_recipe()
    text = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "cmake/MltLua.cmake").read_text()
    expect((SPACK / "repo.yaml").read_text().split() == ["repo:", "namespace:", SPACK.name, "api:", "v2.0"], "repo.yaml")
    expect([words for name, words, more in said if name == "provides"] == [("mpi@:5.0",)], "it provides MPI")
    version = re.search(r"project\(millet VERSION ([0-9.]+)", text).group(1)
    expect(version in [words[0] for name, words, more in said if name == "version"], f"the recipe has no version {version}")
    package = recipe()
    for variants in ((), ("+lua",), ("+hosts",), ("+lua", "+hosts")):
        package.spec = FakeSpec(*variants)
        for option, value in package.cmake_args():
            expect(re.search(rf"(option|set|find_path|find_library)\({option}\b", text), f"CMake knows no {option}")
        expect(len(dict(package.cmake_args())["MLT_RPATH"]) == len(variants), "folders of libraries")
    for path in recipe.sanity_check_is_file:
        expect((tree.root / path).exists(), f"{path} is missing")
    # A dependent in C++ compiles by our wrappers with the compilers of its own; one in C has no other.
    package.prefix = types.SimpleNamespace(bin=str(tree.root / "bin"))
    both = spack_environment(package, "cc", "cxx")
    expect("MPICH_CXX" not in spack_environment(package, "cc") and pathlib.Path(both["MPICC"]).exists() and pathlib.Path(both["MPICXX"]).exists(), "variables", both)
    for variable, wrapper in (("MPICH_CC", both["MPICC"]), ("MPICH_CXX", both["MPICXX"])):
        expect(run([wrapper, "-show", "x.c"], tree, **{variable: both[variable]}).startswith(both[variable]), f"{wrapper} does not obey {variable}")


def case_meson(tree, work):
    need("meson")
    need("ninja")
    shutil.copytree(SOURCES / "meson", work / "source")
    for name in ("program.c", "program.cc", "program.f90"):
        shutil.copy(SOURCES / name, work / "source")
    if "-fsanitize" in run([tree.mpicc, "-showme:compile"], tree):
        raise Skip("Meson does not pass a sanitizer on when it links")
    run(["meson", "setup", work / "out", work / "source"], tree)
    run(["ninja", "-C", work / "out"], tree)
    for program in ("program_c", "program_cxx", "program_fortran"):
        if (work / "out" / program).exists():
            try_program(tree, work / "out" / program)


def case_examples(tree, work):
    for source in sorted((ROOT / "examples").glob("*.c")):
        run([tree.mpicc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", source, "-o", work / source.stem], tree)
    folder = ROOT / "examples" / "csp"
    programs = {source.stem: [source] for source in folder.glob("*.c")}
    programs["collectives"] = sorted((folder / "collectives").glob("*.c"))
    for name, sources in sorted(programs.items()):
        run([tree.mpicc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", *sources, "-o", work / name], tree)


def case_goal(tree, work):
    """<millet/goal.h> in C and C++, in every mode; `millet goal run` and `measure` find the programs of their ranks."""
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run([tree.mpicc, "-std=c99", *flags, GOAL / "example3.c", "-o", work / "example3"], tree)
    programs = [work / "example3"]
    if shutil.which("c++"):
        run([tree.mpicxx, "-std=c++11", *flags, "-x", "c++", GOAL / "example3.c", "-o", work / "example3_cxx"], tree)
        programs.append(work / "example3_cxx")
    modes = (["-n", "3"], ["-n", "3", "--workers", "thread"], ["-nfg", "3"], ["-nfg", "3", "--sched", "random:7"])
    for program in programs:
        for mode, setting in ((m, s) for m in modes for s in ({}, {"MILLET_GOAL_OFFLOAD": "1"}, {"MILLET_GOAL_WINDOW": "1"})):
            said = run([tree.root / "bin/mpirun", *mode, program], tree, **setting)
            expect(said == "501: 10 + 20 = 30, 502: 1 + 30 = 31\n", f"mpirun {' '.join(mode)} {setting}: {said!r}")
        said = run([tree.root / "bin/mpirun", "-n", "2", program], tree, fails=True)
        expect("example3 is for three ranks" in said, said)
    said = run(["millet", "goal", "run", "--show", "memory", GOAL / "example2.goal"], tree, cwd=work)
    expect("after   32 43 21 31" in said, said)
    said = run(["millet", "goal", "measure", "--quick"], tree, cwd=work)
    expect(re.findall(r"^(\w+) +[0-9.]+$", said, re.M) == ["L", "o", "g", "G", "O", "S", "exec"], said)


def case_csp(tree, work):
    """<millet/csp.h> in strict C11 and C++11, with both compilers; programs run alone and by mpirun."""
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    sanitized = "-fsanitize" in run([tree.mpicc, "-showme:compile"], tree)
    tour = ROOT / "examples" / "csp" / "tour.c"
    for cc, cxx in (("cc", "c++"), ("clang", "clang++")):
        if shutil.which(cc) and not (sanitized and cc == "clang"):
            run([tree.mpicc, f"-cc={cc}", "-std=c11", "-D_GNU_SOURCE", *flags, tour, "-o", work / "tour"], tree)
            expect(run([work / "tour"], tree).endswith("\nheard a word\n"), "the tour does not end")
        if shutil.which(cxx) and not (sanitized and cc == "clang"):
            run([tree.mpicxx, f"-cxx={cxx}", "-std=c++11", *flags, SOURCES / "csp.cc", "-o", work / "csp"], tree)
            for start in ([], [tree.root / "bin/mpirun", "-n", "2"], [tree.root / "bin/mpirun", "-nfg", "2"]):
                expect(set(run([*start, work / "csp"], tree).split("\n")) == {"sum 6", ""}, f"{start} {cxx}")


def case_files(tree, work):
    for path in ("bin/mpirun", "bin/mpiexec", "bin/millet", "bin/mpicc", "bin/mpicxx", "bin/mpic++", "bin/mpiCC", "bin/mpifort", "bin/mpif90", "bin/mpif77",
                 "lib/libmpi_fortran.so", "lib/libmpi_fortran.so.1", "include/mpif.h", "share/millet/fortran/mpi_f08.f90", "libexec/millet/fortran_modules",
                 "lib/libmpi_abi.so", "lib/libmpi_abi.so.1", "include/mpi.h", "include/mpi-ext.h", "include/fgmpi.h",
                 "include/millet/goal.h", "include/millet/coll.h", "include/millet/csp.h", "include/millet/flow.h",
                 "libexec/millet/goalrun", "libexec/millet/goalmeasure", "libexec/millet/colltune", "lib/millet/millet_lua.so", "lib/pkgconfig/mpi-c.pc",
                 "lib/pkgconfig/millet.pc", "share/millet/millet-gdb.py"):
        expect((tree.root / path).exists(), f"{path} is missing")


# ---- the manual

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"]


def commands_of(tree, *words):
    """A command of millet and all below it, each with what its --help prints."""
    text = run(["millet", *words, "--help"], tree)
    yield words, text
    if " COMMAND " in text.split("\n")[0]:
        for name in re.findall(r"^  (\w+) {2,}", text, re.M):
            yield from commands_of(tree, *words, name)


def plain(page):
    """A page without the language of man."""
    return re.sub(r"\\f[BIR]", "", page).replace("\\-", "-").replace("\\(aq", "'")


def case_manual(tree, work):
    """Every program and command has a page, with all that its --help shows."""
    folder = tree.root / "share/man/man1"
    helps = {"-".join(["millet", *words]): text for words, text in commands_of(tree)}
    helps |= {"mpirun": run(["mpirun", "--help"], tree), "mpicc": run(["mpicc", "-help"], tree)}
    aliases = {"mpiexec": "mpirun", "mpicxx": "mpicc", "mpic++": "mpicc", "mpiCC": "mpicc",
               "mpifort": "mpicc", "mpif90": "mpicc", "mpif77": "mpicc"}
    pages = {path.name[:-2]: plain(path.read_text()) for path in folder.glob("*.1")}
    expect(len(helps) > 20 and set(pages) == {*helps, *aliases}, f"pages {sorted(pages)} of {sorted(helps)}")
    for alias, name in aliases.items():
        expect(pages[alias] == pages[name], f"{alias}.1 is not {name}.1")
    for name, text in helps.items():
        page = pages[name]
        for section in SECTIONS:
            expect(f"\n.SH {section}\n" in page, f"{name}.1 has no section {section}")
        # An option stands at the beginning of a line of help, after two blanks; so does a command.
        names = [word for line in re.findall(r"^  (-.*?)(?:  |$)", text, re.M) for word in line.replace(",", " ").split()]
        names = [word for word in names if word.startswith("-")] + re.findall(r"^  (\w+) {2,}", text, re.M)
        expect(names, f"--help of {name} shows nothing")
        for word in names:
            expect(re.search(rf"^.TP\n(.*[ ,])?{re.escape(word)}([ ,].*)?$", page, re.M), f"{name}.1 lacks {word}")
    for name in re.findall(r"^  [ *] (MILLET_\w+)", run(["millet", "info"], tree), re.M):
        expect(f".TP\n{name}\n" in pages["mpirun"], f"mpirun.1 lacks {name}")


def case_manual_lint(tree, work):
    need("mandoc")
    said = run(["mandoc", "-Tlint", *sorted((tree.root / "share/man/man1").glob("*.1"))], tree)
    expect(not said, said)


WRAPPER = [case_show, case_show_when_linking, case_refuses, case_choose_compiler, case_link_to_wrapper]
BUILDING = [case_files, case_manual, case_manual_lint, case_compile_and_link, case_configure, case_clang, case_cplusplus, case_shared_library,
            case_pkg_config, case_cmake_path, case_cmake_home, case_cmake_package, case_modules, case_lmod, case_swap_out, case_swap_in, case_spack, case_meson, case_examples, case_csp, case_goal]


def install_and_move(build, folder):
    """A tree installed under one name and used under another, which has a space in it."""
    harness.run("cmake", "--install", build, "--prefix", folder / "first", limit=300)
    (folder / "first").rename(folder / "moved tree")


def uninstall(build, folder):
    """The target removes what was installed last, and nothing else; DESTDIR is where it was put."""
    stays = folder / "stage/opt/millet/lib/millet/of a user"
    for destination, prefix, left in ((None, folder / "millet", []), (folder / "stage", pathlib.Path("/opt/millet"), [stays])):
        env = harness.environment({"DESTDIR": str(destination)} if destination else {}, without=(*harness.OF_JOBS, "DESTDIR"))
        at = pathlib.Path(f"{destination or ''}{prefix}")
        harness.run("cmake", "--install", build, "--prefix", prefix, env=env, limit=300)
        expect((at / "bin/mpirun").exists() and (at / "bin/mpicxx").is_symlink(), "it is not installed")
        for path in left:
            path.write_text("")
        said = harness.run("cmake", "--build", build, "--target", "uninstall", env=env, limit=300)
        expect(re.search(r"^uninstalled \d{3} files$", said.out, re.M), "how many files", said)
        found = sorted(path for path in at.rglob("*") if not path.is_dir())
        expect(found == left and at.exists() == bool(left), "what is left", found)
    said = harness.run("cmake", "--build", build, "--target", "uninstall", code=None, limit=300)
    expect(said.code and "uninstall: nothing to remove: there is no " in said.out + said.err, "nothing is installed any more", said)


def other_libc(folder):
    """A C library that is not glibc, such as musl, is refused in one sentence before anything is compiled."""
    (folder / "other").mkdir()
    (folder / "other/features.h").write_text("#include_next <features.h>\n#undef __GLIBC__\n")
    said = harness.run("cmake", "-S", ROOT, "-B", folder / "other/build", "-G", "Ninja", f"-DCMAKE_C_FLAGS=-I{folder}/other", code=1)
    expect("Millet needs glibc 2.31 or newer" in " ".join(said.err.split()), "configuring for another C library", said)


def try_case(case, tree, work):
    if case in BUILDING and not (tree.root / "lib/libmpi_abi.so.1").exists():
        raise Skip("the library is not built")
    work.mkdir(parents=True)
    case(tree, work)


def main():
    parser = harness.parser(__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="only cases with WORD in their name")
    parser.add_argument("--no-install", action="store_true", help="only the build tree")
    options = parser.parse_args()
    total = harness.Sum()
    with harness.folder("build") as folder:
        if options.only in "other libc":
            total.run("another C library is refused", other_libc, folder)
        trees = [Tree("build tree", options.build)]
        if not options.no_install:
            total.run("install", install_and_move, options.build, folder)
            trees += [Tree("installed and moved", folder / "moved tree")] * (not total.failed)
            total.run("uninstall", uninstall, options.build, folder)
        for tree in trees:
            for case in WRAPPER + BUILDING:
                if options.only in case.__name__:
                    total.run(f"{tree.name}: {case.__name__[5:].replace('_', ' ')}", try_case, case, tree,
                              folder / tree.name.replace(" ", "_") / case.__name__)
    return total.end()


if __name__ == "__main__":
    sys.exit(main())
