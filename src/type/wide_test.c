// SPDX-License-Identifier: BSD-3-Clause
// Wide kernels and runs: the same bytes as op.h's kernels give, and where mlt_type_pack finds them.
#include "type/wide.h"

#include "base/unit_test.h"
#include "type/build.h"
#include "type/type.h"

enum { MOST = 70, BYTES = (MOST + 1) * 8 };

static void fill(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(random64() % 256);
}

static void same_kernels(void)
{
    unsigned char in[BYTES], a[BYTES], b[BYTES];
    for (int op = 0; op < MLT_OPS; op++)
        for (int type = 0; type < MLT_OP_TYPES; type++) {
            mlt_op_kernel *wide = mlt_op_wide((mlt_op)op, (mlt_op_type)type);
            for (uint64_t n = 0; wide && n < MOST; n++) {
                size_t skip = (random64() % 8);
                fill(in, sizeof in);
                fill(a, sizeof a);
                memcpy(b, a, sizeof a);
                mlt_op_kernels[op][type](a + skip, in, n);
                wide(b + skip, in, n);
                CHECK(memcmp(a, b, sizeof a) == 0);
            }
        }
}

// Bytes [from, from + bytes) of the packed form, found by runs.
static void check_runs(const mlt_type *type, const unsigned char *memory, uint64_t from,
                       uint64_t bytes, uint32_t most)
{
    unsigned char want[4096], got[4096];
    uint64_t done = 0;
    mlt_type_pack(type, memory, from, want, bytes);
    while (done < bytes) {
        mlt_type_run runs[8];
        uint32_t n = most;
        uint64_t end = done + mlt_type_runs(type, from + done, bytes - done, runs, &n);
        CHECK(n > 0 && n <= most && end > done);
        for (uint32_t r = 0; r < n; r++)
            for (uint64_t i = 0; i < runs[r].count; i++, done += runs[r].length)
                memcpy(got + done, memory + runs[r].at + (int64_t)i * runs[r].stride,
                       runs[r].length);
        CHECK(done == end);
    }
    CHECK(memcmp(want, got, bytes) == 0);
}

static void all_runs(void)
{
    static unsigned char memory[16384];
    mlt_type vector, list, both;
    int64_t at[] = {24, 0, 8, 12, 100};
    const int64_t lengths[] = {1, 2, 1, 1, 3};
    fill(memory, sizeof memory);
    CHECK(mlt_type_make_vector(&vector, mlt_type_coded(0x209), 5, 2, 12) == MLT_OK);
    CHECK(mlt_type_make_indexed(&list, mlt_type_coded(0x209), 5, lengths, 0, at) == MLT_OK);
    CHECK(mlt_type_make_vector(&both, &vector, 3, 1, 100) == MLT_OK);
    const mlt_type *types[] = {&vector, &list, &both, MLT_TYPE_BYTE};
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 300; i++) {
            uint64_t from = (random64() % 200), bytes = (random64() % 600);
            check_runs(types[t], memory, from, bytes, 1 + (uint32_t)(random64() % 8));
        }
    mlt_type_unmake(&vector);
    mlt_type_unmake(&list);
    mlt_type_unmake(&both);
}

int main(void)
{
    same_kernels();
    all_runs();
    return 0;
}
