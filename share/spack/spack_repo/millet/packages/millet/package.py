# SPDX-License-Identifier: BSD-3-Clause
"""Millet for Spack 1.0 or later: `spack repo add PATH/share/spack/spack_repo/millet`, then `spack install millet`. docs/guide/install.md has more."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Millet(CMakePackage):
    """Millet is an MPI whose ranks are processes, threads or fibers, with the standard ABI of MPI 5.0."""

    homepage = "https://millet.example"
    # The repository that this recipe lies in: a site that has a mirror of it names the mirror here.
    git = "https://millet.example/millet.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.3.0", tag="v0.3.0")
    version("0.2.0", tag="v0.2.0")

    variant("hosts", default=True, description="Jobs on several hosts (libsodium, loaded when such a job starts)")
    variant("lua", default=True, description="GOAL and rules of collectives from Lua")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.8:", type="build")
    depends_on("lua@5.4", type=("build", "link"), when="+lua")
    depends_on("libsodium@1.0.12:", type="run", when="+hosts")
    depends_on("openssh", type="run", when="+hosts")

    conflicts("platform=darwin", msg="Millet runs on Linux")
    conflicts("platform=windows", msg="Millet runs on Linux")
    conflicts("target=ppc64le:", msg="Millet runs on aarch64 and x86-64")
    conflicts("target=riscv64:", msg="Millet runs on aarch64 and x86-64")

    generator("ninja")
    sanity_check_is_file = ["bin/mpicc", "bin/mpirun", "include/mpi.h", "lib/libmpi_abi.so", "lib/pkgconfig/millet.pc"]

    def cmake_args(self):
        args, folders = [], []
        if self.spec.satisfies("+lua"):
            folders += self.spec["lua"].libs.directories
        else:
            args += [self.define("MLT_LUA_HEADERS", False), self.define("MLT_LUA_LIBRARY", False)]
        if self.spec.satisfies("+hosts"):
            folders += self.spec["libsodium"].libs.directories
        return args + [self.define("MLT_RPATH", folders)]

    @property
    def libs(self):
        return find_libraries("libmpi_abi", root=self.prefix.lib, shared=True)

    @property
    def headers(self):
        return find_headers("mpi", self.prefix.include)

    def setup_run_environment(self, env):
        env.set("MPICC", os.path.join(self.prefix.bin, "mpicc"))
        env.set("MPICXX", os.path.join(self.prefix.bin, "mpicxx"))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers call the compilers that Spack has chosen for the dependent, which need not use all languages.
        module = dependent_spec.package.module
        for variable, compiler in (("MPICH_CC", "spack_cc"), ("MPICH_CXX", "spack_cxx")):
            if hasattr(module, compiler):
                env.set(variable, getattr(module, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = os.path.join(self.prefix.bin, "mpicc")
        self.spec.mpicxx = os.path.join(self.prefix.bin, "mpicxx")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """What was installed compiles and runs a program, in each grain."""
        source = os.path.join(self.stage.source_path, "examples", "ring.c")
        Executable(os.path.join(self.prefix.bin, "mpicc"))(source, "-o", "ring")
        for grain in ("process", "thread", "fiber"):
            Executable(os.path.join(self.prefix.bin, "mpirun"))("-n", "4", "--grain", grain, "./ring")

