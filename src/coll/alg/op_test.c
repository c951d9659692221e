// SPDX-License-Identifier: BSD-3-Clause
// Elements of derived types as reductions want them and back, whatever their bounds; both orders of
// operands; copies and comparison.
#include "coll/alg/op.h"

#include <string.h>

#include "base/unit_test.h"
#include "type/build.h"

enum { COUNT = 5, ROOM = 1024, MIDDLE = 512 };

static const mlt_type *int_type(void)
{
    for (int c = 0; c < 1024; c++)
        if (mlt_type_predefined[c].magic && strcmp(mlt_type_predefined[c].name, "MPI_INT") == 0)
            return &mlt_type_predefined[c];
    failed(__FILE__, __LINE__, "there is a MPI_INT");
}

static uint16_t code_of(const char *name)
{
    for (int c = 0; c < 1024; c++)
        if (mlt_type_predefined[c].magic && strcmp(mlt_type_predefined[c].name, name) == 0)
            return mlt_type_predefined[c].code;
    failed(__FILE__, __LINE__, name);
}

// result = result - second, element by element; elements of `int`.
static void subtract(void *arg, const mlt_run_operands *o)
{
    const mlt_coll_op *op = arg;
    CHECK(op->arg == op && op->function == subtract);
    CHECK(o->bytes == o->second_bytes);
    int *to = o->result;
    const int *from = o->second;
    for (uint64_t i = 0; i < o->bytes / sizeof(int); i++)
        to[i] = o->reversed ? from[i] - to[i] : to[i] - from[i];
}

static void fill(unsigned char *bytes)
{
    for (int i = 0; i < ROOM; i++)
        bytes[i] = (unsigned char)below(256);
}

// Data of element i of the user's, packed.
static void packed(const mlt_type *type, const unsigned char *user, int i, unsigned char *out)
{
    mlt_type_pack(type, user + i * type->extent, 0, out, type->size);
}

static void try_layout(const mlt_type *type, uint32_t element, bool apart, bool direct)
{
    static unsigned char user[ROOM], back[ROOM], want[ROOM], here[COUNT * 64], a[64], b[64];
    mlt_coll_op op;
    CHECK(mlt_coll_op_user(&op, subtract, NULL, 1, false, type));
    CHECK(op.element == element && op.apart == apart && op.direct == direct);
    CHECK(op.op == MLT_OPS && op.scratched && !op.commutes && !op.exact);
    fill(user);
    fill(back);
    memcpy(want, back, ROOM);
    memset(here, 0xee, sizeof here);
    mlt_coll_load(&op, here, user + MIDDLE, COUNT);
    for (int i = 0; i < COUNT; i++) {
        packed(type, user + MIDDLE, i, a);
        mlt_type_pack(type, mlt_coll_op_address(&op, here + i * op.element), 0, b, type->size);
        CHECK(memcmp(a, b, type->size) == 0);
        mlt_type_unpack(type, want + MIDDLE + i * type->extent, 0, a, type->size);
    }
    for (size_t i = COUNT * op.element; i < sizeof here; i++)
        CHECK(here[i] == 0xee); // no byte behind the last one
    mlt_coll_store(&op, back + MIDDLE, here, COUNT);
    CHECK(memcmp(back, want, ROOM) == 0);
}

// Elements are aligned for a function as they are in the user's memory: an int at 4, a long at 8.
static void alignments(void)
{
    const mlt_type *parts[] = {int_type(), &mlt_type_predefined[code_of("MPI_INT64_T") % 1024]};
    const int64_t lengths[] = {1, 1}, at[] = {4, 8};
    mlt_type pair, t;
    mlt_coll_op op;
    CHECK(mlt_type_make_struct(&pair, 2, lengths, at, parts) == MLT_OK);
    CHECK(pair.lb == 4 && pair.extent == 16);
    try_layout(&pair, 16, false, false);
    CHECK(mlt_coll_op_user(&op, subtract, NULL, 1, false, &pair) && op.origin == 0);
    CHECK(mlt_type_make_resized(&t, &pair, 4, 8) == MLT_OK); // they interlock
    try_layout(&t, 16, true, false);
    CHECK(mlt_coll_op_user(&op, subtract, NULL, 1, false, &t) && op.origin == 0);
    mlt_type_unmake(&t);
    mlt_type_unmake(&pair);
}

static void layouts(void)
{
    const mlt_type *one = int_type();
    mlt_type column, gaps, t;
    int64_t at[2] = {-4, 8};
    CHECK(mlt_type_make_vector(&column, one, 3, 1, 20) == MLT_OK);
    CHECK(mlt_type_make_indexed(&gaps, one, 2, NULL, 1, at) == MLT_OK);
    try_layout(one, 4, false, true);
    CHECK(mlt_type_make_vector(&t, one, 1, 3, 0) == MLT_OK);
    try_layout(&t, 12, false, true);
    mlt_type_unmake(&t);
    try_layout(&column, 44, false, false);
    try_layout(&gaps, 16, false, false);
    // Bounds that are wider than the data.
    CHECK(mlt_type_make_resized(&t, &gaps, -8, 24) == MLT_OK);
    try_layout(&t, 24, false, false);
    mlt_type_unmake(&t);
    // Columns of a matrix: each begins where the one before has its second element.
    CHECK(mlt_type_make_resized(&t, &column, 0, 4) == MLT_OK);
    try_layout(&t, 44, true, false);
    mlt_type_unmake(&t);
    // Backwards; data outside of the bounds.
    CHECK(mlt_type_make_resized(&t, one, 0, -4) == MLT_OK);
    try_layout(&t, 4, true, false);
    mlt_type_unmake(&t);
    CHECK(mlt_type_make_resized(&t, one, 8, 16) == MLT_OK);
    try_layout(&t, 4, true, false);
    mlt_type_unmake(&t);
    // Nothing at all.
    CHECK(mlt_type_make_vector(&t, one, 0, 1, 4) == MLT_OK);
    try_layout(&t, 1, false, true);
    mlt_type_unmake(&t);
    // Bounds elsewhere, and yet one behind the other.
    CHECK(mlt_type_make_resized(&t, one, -1, 4) == MLT_OK);
    try_layout(&t, 4, false, true);
    mlt_type_unmake(&t);
    // Too large an element.
    mlt_coll_op op;
    CHECK(mlt_type_make_resized(&t, one, 0, INT64_C(1) << 32) == MLT_OK);
    CHECK(!mlt_coll_op_user(&op, subtract, NULL, 1, false, &t));
    mlt_type_unmake(&t);
    CHECK(mlt_type_make_resized(&t, one, 0, (INT64_C(1) << 32) - 1) == MLT_OK);
    CHECK(mlt_coll_op_user(&op, subtract, NULL, 1, false, &t));
    CHECK(op.element == UINT32_MAX);
    mlt_type_unmake(&t);
    mlt_type_unmake(&column);
    mlt_type_unmake(&gaps);
}

static void orders(void)
{
    mlt_coll_op first, op;
    int a[3] = {10, 20, 30}, b[3] = {1, 2, 3}, scratch[3];
    CHECK(mlt_coll_op_user(&first, subtract, NULL, 1, false, int_type()));
    mlt_coll_op_copy(&op, &first);
    memset(&first, 0, sizeof first); // subtract looks at its argument
    mlt_coll_apply(&op, a, b, 2 * sizeof(int), false, scratch);
    CHECK(a[0] == 9 && a[1] == 18 && a[2] == 30);
    mlt_coll_apply(&op, a, b, 3 * sizeof(int), true, NULL);
    CHECK(a[0] == -8 && a[1] == -16 && a[2] == -27);
    mlt_coll_apply(&op, NULL, NULL, 0, true, NULL);
    CHECK(b[0] == 1 && b[1] == 2 && b[2] == 3);
}

static void make(mlt_coll_op *op, mlt_reduce_op which, const char *type)
{
    mlt_reduction r;
    char why[200];
    uint16_t code = code_of(type);
    CHECK(mlt_reduce_find(which, code, &r, why, sizeof why));
    mlt_coll_op_predefined(op, &r, &mlt_type_predefined[code % 1024]);
}

static void predefined(void)
{
    struct {
        double value;
        int index;
    } a[2] = {{1, 5}, {3, 6}}, b[2] = {{2, 7}, {3, 4}};
    int x[2] = {1, 2}, y[2] = {10, 20};
    mlt_coll_op sum, most, least, other;
    make(&sum, MLT_REDUCE_SUM, "MPI_INT");
    CHECK(sum.op == MLT_OP_SUM && sum.type == MLT_OP_INT32 && !sum.function && sum.exact);
    CHECK(sum.element == 4 && sum.commutes && sum.direct && !sum.scratched);
    mlt_coll_apply(&sum, x, y, sizeof x, false, NULL);
    CHECK(x[0] == 11 && x[1] == 22);
    make(&most, MLT_REDUCE_MAXLOC, "MPI_DOUBLE_INT");
    make(&least, MLT_REDUCE_MINLOC, "MPI_DOUBLE_INT");
    CHECK(most.op == MLT_OPS && most.function && most.arg == &most && most.element == 16);
    mlt_coll_apply(&most, a, b, sizeof a, true, NULL);
    CHECK(a[0].value == 2 && a[0].index == 7 && a[1].value == 3 && a[1].index == 4);
    // As a run calls it.
    b[0].value = 9;
    mlt_coll_op_copy(&other, &most);
    other.function(
        other.arg,
        &(mlt_run_operands){.result = a, .second = b, .bytes = sizeof a, .second_bytes = sizeof a});
    CHECK(a[0].value == 9 && a[0].index == 7);
    // The same function of runs, and yet others.
    CHECK(mlt_coll_op_same(&most, &other) && !mlt_coll_op_same(&most, &least));
    make(&other, MLT_REDUCE_SUM, "MPI_DOUBLE");
    CHECK(!mlt_coll_op_same(&sum, &other) && !other.exact);
    make(&other, MLT_REDUCE_SUM, "MPI_INT32_T");
    CHECK(mlt_coll_op_same(&sum, &other));
}

int main(void)
{
    layouts();
    alignments();
    orders();
    predefined();
    return 0;
}
