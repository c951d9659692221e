// SPDX-License-Identifier: BSD-3-Clause
// A CUDA program of MPI ranks as people write them, against CUDA's run-time library: each rank has
// its own variables on the device and in the program, whatever ranks are, and device buffers go
// into MPI's calls.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { N = 1000, THREADS = 128, ROUNDS = 3 };

__device__ int counter;  // this rank's launches
__constant__ int factor; // of this rank
static int own;          // likewise, in the program

__global__ void fill(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i] = factor * i;
    if (i == 0)
        counter++;
}

#define CUDA(call) check((call), #call, __LINE__)

static void check(cudaError_t error, const char *call, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "ranks.cu:%d: %s: %s\n", line, call, cudaGetErrorString(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// How many numbers on the device are not their index times this.
static int count_wrong(const int *device, int times)
{
    size_t bytes = N * sizeof(int);
    int *host = (int *)malloc(bytes), wrong = 0;
    CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        wrong += host[i] != times * i;
    free(host);
    return wrong;
}

static int run_kernels(int rank, int *out)
{
    int launches = rank % ROUNDS + 1, counted = -1;
    own = rank + 1;
    CUDA(cudaMemcpyToSymbol(factor, &own, sizeof own));
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD); // the other ranks' launches come between
        if (i < launches)
            fill<<<(N + THREADS - 1) / THREADS, THREADS>>>(out);
        CUDA(cudaGetLastError());
    }
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    return (counted != launches) + (own != rank + 1) + count_wrong(out, own);
}

// cudaMemset may return before it is done, and MPI's calls wait for no stream.
static void forget(int *in)
{
    CUDA(cudaMemset(in, 0xff, N * sizeof(int)));
    CUDA(cudaDeviceSynchronize());
}

// To the next rank, from the one before.
static int exchange(int rank, int size, int *out, int *in)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    forget(in);
    MPI_Sendrecv(out, N, MPI_INT, next, 5, in, N, MPI_INT, before, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return count_wrong(in, before + 1);
}

static int reduce(int size, int *out, int *in)
{
    forget(in);
    MPI_Allreduce(out, in, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return count_wrong(in, size * (size + 1) / 2);
}

int main(int argc, char **argv)
{
    int rank, size, wrong, all, *out, *in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CUDA(cudaMalloc((void **)&out, N * sizeof(int)));
    CUDA(cudaMalloc((void **)&in, N * sizeof(int)));
    wrong = run_kernels(rank, out);
    wrong += exchange(rank, size, out, in);
    wrong += reduce(size, out, in);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        size_t unused, total;
        CUDA(cudaMemGetInfo(&unused, &total));
        if (all)
            printf("%d results of %d ranks are wrong\n", all, size);
        else
            printf("%d ranks are right\n", size);
        printf("%zu MiB of device memory are in use\n", (total - unused) >> 20);
    }
    CUDA(cudaFree(out));
    CUDA(cudaFree(in));
    MPI_Finalize();
    return all != 0;
}
