# SPDX-License-Identifier: BSD-3-Clause
# The mean of numbers that are spread over all ranks. Buffers of numpy go to MPI as they are: names of
# methods with a capital letter (Allreduce) send memory, those without (allreduce) pickle objects.
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
mine = numpy.arange(1000.0) + 1000 * world.rank
sums = numpy.array([mine.sum(), float(mine.size)])
world.Allreduce(MPI.IN_PLACE, sums)
if world.rank == 0:
    print(f"{world.size} ranks: the mean is {sums[0] / sums[1]}")
