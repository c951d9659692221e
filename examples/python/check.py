# SPDX-License-Identifier: BSD-3-Clause
# Does this Python find Millet's library, and is each process a rank? It needs no package.
import ctypes
import sys

mpi = ctypes.CDLL("libmpi_abi.so.1")
world, rank, size = ctypes.c_void_p(0x101), ctypes.c_int(), ctypes.c_int()  # the handle's value in the standard ABI
version, length = ctypes.create_string_buffer(8192), ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mpi.MPI_Get_library_version(version, ctypes.byref(length))
sys.stdout.write(f"rank {rank.value} of {size.value}: {version.value.decode().split()[0]}\n")  # one write: lines stay whole
sys.stdout.flush()
mpi.MPI_Finalize()
