// SPDX-License-Identifier: BSD-3-Clause
// What devices compute themselves: copies with gaps, many copies at once, and MPI's operations.
//
// The functions here enqueue a kernel (kernels.cu) on a stream and return what the driver says of
// that: whether the kernel was right shows when the stream is asked. The stream's context is the
// calling thread's current one. All addresses are ones that the device can reach: its own memory,
// a peer's, pinned memory of the host. They need no alignment, but copies and operations are faster
// with 16 bytes. The two sides of a copy do not overlap.
//
// A kernel is compiled when a context needs it first, by the driver, in 30 to 200 ms; drivers keep
// what they have compiled in a file. While it does so, the driver may wait for kernels that run.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/driver.h"
#include "gpu/kernels.h"
#include "type/op.h"
#include "type/type.h"

// ---- those of a context

typedef struct mlt_gpu_kernels mlt_gpu_kernels;

// Those of the calling thread's current context. They stay for as long as the process lives.
mlt_cu_result mlt_gpu_kernels_now(const mlt_gpu_driver *driver, mlt_gpu_kernels **out);

// Compiles all that are not yet, in the context, which is current. Later the driver might wait, while it compiles
// one, for streams that wait for a copy that needs it.
mlt_cu_result mlt_gpu_kernels_load(mlt_gpu_kernels *kernels);

// The context is gone, and its kernels with it: another one may come with the same address.
void mlt_gpu_kernels_forget(mlt_gpu_kernels *kernels);

// Why the last kernel could not be had: "the GPU's driver does not take the kernel reduce_half: ...".
// Empty: all that were asked for could be.
void mlt_gpu_kernels_why(mlt_gpu_kernels *kernels, char *text, size_t size);

// ---- copies

// Blocks of `length` bytes: `inner` of them, strides apart, and these `outer` times.
typedef struct mlt_gpu_blocks {
    mlt_cu_ptr to, from;
    uint64_t length, inner, outer;
    int64_t to_stride, from_stride; // of the inner loop
    int64_t to_outer, from_outer;
} mlt_gpu_blocks;

mlt_cu_result mlt_gpu_kernel_strided(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                     const mlt_gpu_blocks *blocks);

// Where the data of elements lie: the runs of one element, and how far it is to the next.
typedef struct mlt_gpu_runs {
    mlt_cu_ptr runs;   // n of mlt_type_run, where the device can read them until the kernel ends
    mlt_cu_ptr before; // likewise n + 1 numbers: bytes in all runs before
    uint64_t n, size;  // size: bytes of data in an element
    int64_t extent;
    uint64_t align; // a power of two that every number in it is a multiple of, but for the extent
} mlt_gpu_runs;

// All but the two addresses, of runs in memory of the host. `before` gets n + 1 numbers.
void mlt_gpu_runs_measure(mlt_gpu_runs *out, const mlt_type_run *runs, uint64_t n, int64_t extent,
                          uint64_t *before);

typedef struct mlt_gpu_side {
    mlt_cu_ptr at;            // the elements' address; of packed data the first byte to be copied
    const mlt_gpu_runs *runs; // NULL: the data are packed
} mlt_gpu_side;

// Bytes [from_byte, from_byte + bytes) of the packed form, from elements to packed bytes, back, or
// to other elements.
mlt_cu_result mlt_gpu_kernel_runs(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                  const mlt_gpu_side *to, const mlt_gpu_side *from,
                                  uint64_t from_byte, uint64_t bytes);

// Many copies, made for small ones: the longest one has `longest` bytes. The list lies where the
// device can read it until the kernel ends.
mlt_cu_result mlt_gpu_kernel_copies(mlt_gpu_kernels *kernels, mlt_cu_stream stream, mlt_cu_ptr list,
                                    uint64_t count, uint64_t longest);

// One small copy. Then `word`, memory of the host that the device can reach, has that value: the
// processor may look at it instead of asking the stream, which takes longer.
mlt_cu_result mlt_gpu_kernel_copy_told(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                       mlt_cu_ptr to, mlt_cu_ptr from, uint64_t bytes,
                                       mlt_cu_ptr word, uint64_t value);

// ---- operations

// How a device computes what a kernel of the host's does.
typedef struct mlt_gpu_reduction {
    uint32_t element; // bytes from one element to the next
    uint8_t kernel;   // for kernel.c
    uint8_t op, parts, unit, align;
    uint8_t value, index, index_at; // of pairs
} mlt_gpu_reduction;

// False: the device cannot (long double, 128 bits), or it is no kernel of op.h, wide.h and
// reduce.h. element: bytes from one element to the next.
bool mlt_gpu_reduction_find(mlt_op_kernel *kernel, uint32_t element, mlt_gpu_reduction *out);

// out[i] = (operands[0][i] op operands[1][i]) op operands[2][i] ... for `count` elements, with the
// bits that the host's kernel computes, but any NaN is as good as another. `out` may be one of the
// operands, but does not overlap one otherwise. number: 1 or more. If there are more than
// MLT_GPU_OPERANDS, the device must be able to read `operands` until the kernel ends; the processor
// always.
mlt_cu_result mlt_gpu_kernel_reduce(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                    const mlt_gpu_reduction *reduction, mlt_cu_ptr out,
                                    const mlt_cu_ptr *operands, uint32_t number, uint64_t count);
