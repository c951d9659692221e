// SPDX-License-Identifier: BSD-3-Clause
//
// Every predefined operation with every predefined datatype of C and of several languages that the
// standard allows it on, and with those that other MPIs allow it on; operations of the user's, of
// both kinds of counts; MPI_Op_commutative and MPI_Reduce_local.

#include <complex.h>
#include <limits.h>
#include <stdbool.h>

#include "coll_check.h"

enum { ITEMS = 37, WIDEST = 32 };

enum operation { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC };

static MPI_Op op_of(enum operation op)
{
    const MPI_Op ops[] = {MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,
                          MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    return ops[op];
}

// A contribution whose reduction fits in 8 bits where it must not wrap.
static int contribution(enum operation op, int rank, int item, int n)
{
    uint64_t h = coll_mix((uint64_t)rank * 1000 + (uint64_t)item + 1);
    switch (op) {
    case SUM:
        return (int)(h & 1);
    case PROD:
        return (rank + item) % n == 0 ? 3 : 1;
    case LAND:
        return h % 16 != 0;
    case LOR:
    case LXOR:
        return h % 5 == 0;
    default:
        return (int)(h % 120);
    }
}

typedef void set_item(void *at, int value);
typedef void fold_item(void *acc, const void *in, enum operation op);

// For each C type: how a small number is stored, and acc = acc op in.
#define ARITHMETIC(op, a, b) ((op) == SUM ? (a) + (b) : (a) * (b))
#define ORDERED(op, a, b)    ((op) == MAX ? ((a) > (b) ? (a) : (b)) : ((a) < (b) ? (a) : (b)))
#define LOGICAL(op, a, b)    ((op) == LAND ? (a) && (b) : (op) == LOR ? (a) || (b) : !(a) != !(b))
#define BITWISE(op, a, b)    ((op) == BAND ? (a) & (b) : (op) == BOR ? (a) | (b) : (a) ^ (b))
#define SETTER(name, type)                                                                         \
    static void set_##name(void *at, int value)                                                    \
    {                                                                                              \
        type item = (type)value;                                                                   \
        memcpy(at, &item, sizeof item);                                                            \
    }
#define FOLDER(name, type, expression)                                                             \
    SETTER(name, type)                                                                             \
    static void fold_##name(void *acc, const void *in, enum operation op)                          \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, acc, sizeof a);                                                                 \
        memcpy(&b, in, sizeof b);                                                                  \
        a = (type)(expression);                                                                    \
        memcpy(acc, &a, sizeof a);                                                                 \
    }
#define INTEGER(name, type)                                                                        \
    FOLDER(name, type,                                                                             \
           op <= MIN    ? ORDERED(op, a, b)                                                        \
           : op <= PROD ? ARITHMETIC(op, a, b)                                                     \
           : op <= LXOR ? LOGICAL(op, a, b)                                                        \
                        : BITWISE(op, a, b))
#define FLOATING(name, type)                                                                       \
    FOLDER(name, type, op <= MIN ? ORDERED(op, a, b) : ARITHMETIC(op, a, b))

INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)
INTEGER(u8, uint8_t)
INTEGER(u16, uint16_t)
INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
FLOATING(f, float)
FLOATING(d, double)
FLOATING(ld, long double)
FOLDER(cf, float complex, ARITHMETIC(op, a, b))
FOLDER(cd, double complex, ARITHMETIC(op, a, b))
FOLDER(cld, long double complex, ARITHMETIC(op, a, b))
FOLDER(b, bool, LOGICAL(op, a, b))

enum { ORDER = 1, ARITH = 2, LOGIC = 4, BITS = 8, ALL = 15 };

struct type_row {
    MPI_Datatype type;
    int size, classes; // classes: which operations it takes
    set_item *set;
    fold_item *fold;
};

static int class_of(enum operation op)
{
    return op <= MIN ? ORDER : op <= PROD ? ARITH : op <= LXOR ? LOGIC : BITS;
}

// Long double has padding, which reductions need not keep.
static int same_value(const struct type_row *row, const unsigned char *a, const unsigned char *b)
{
    long double x, y;
    if (row->set == set_ld) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x == y;
    }
    if (row->set == set_cld) {
        for (int part = 0; part < 2; part++) {
            memcpy(&x, a + part * (int)sizeof x, sizeof x);
            memcpy(&y, b + part * (int)sizeof y, sizeof y);
            if (x != y)
                return 0;
        }
        return 1;
    }
    return memcmp(a, b, (size_t)row->size) == 0;
}

static void try_pair(struct coll_test *t, const struct type_row *row, int number, enum operation op)
{
    unsigned char out[ITEMS * WIDEST] = {0}, in[ITEMS * WIDEST], want[WIDEST], next[WIDEST];
    for (int i = 0; i < ITEMS; i++)
        row->set(out + i * row->size, contribution(op, t->me, i, t->n));
    memset(in, COLL_POISON, sizeof in);
    CHECK_OK(MPI_Allreduce(out, in, ITEMS, row->type, op_of(op), t->comm));
    for (int i = 0; i < ITEMS; i++) {
        memset(want, 0, sizeof want);
        memset(next, 0, sizeof next);
        row->set(want, contribution(op, 0, i, t->n));
        for (int rank = 1; rank < t->n; rank++) {
            row->set(next, contribution(op, rank, i, t->n));
            row->fold(want, next, op);
        }
        if (!same_value(row, in + i * row->size, want))
            check_fail(__FILE__, __LINE__, "type %d, operation %d, item %d, %d ranks", number, op,
                       i, t->n);
    }
    CHECK(row->size == WIDEST || in[ITEMS * row->size] == COLL_POISON);
}

static void arithmetic(struct coll_test *t)
{
    const struct type_row rows[] = {
        {MPI_INT, sizeof(int), ALL, set_i32, fold_i32},
        {MPI_LONG, sizeof(long), ALL, set_i64, fold_i64},
        {MPI_SHORT, sizeof(short), ALL, set_i16, fold_i16},
        {MPI_UNSIGNED_SHORT, sizeof(short), ALL, set_u16, fold_u16},
        {MPI_UNSIGNED, sizeof(unsigned), ALL, set_u32, fold_u32},
        {MPI_UNSIGNED_LONG, sizeof(long), ALL, set_u64, fold_u64},
        {MPI_LONG_LONG, 8, ALL, set_i64, fold_i64},
        {MPI_LONG_LONG_INT, 8, ALL, set_i64, fold_i64},
        {MPI_UNSIGNED_LONG_LONG, 8, ALL, set_u64, fold_u64},
        {MPI_SIGNED_CHAR, 1, ALL, set_i8, fold_i8},
        {MPI_UNSIGNED_CHAR, 1, ALL, set_u8, fold_u8},
        {MPI_INT8_T, 1, ALL, set_i8, fold_i8},
        {MPI_INT16_T, 2, ALL, set_i16, fold_i16},
        {MPI_INT32_T, 4, ALL, set_i32, fold_i32},
        {MPI_INT64_T, 8, ALL, set_i64, fold_i64},
        {MPI_UINT8_T, 1, ALL, set_u8, fold_u8},
        {MPI_UINT16_T, 2, ALL, set_u16, fold_u16},
        {MPI_UINT32_T, 4, ALL, set_u32, fold_u32},
        {MPI_UINT64_T, 8, ALL, set_u64, fold_u64},
        {MPI_AINT, 8, ALL, set_i64, fold_i64},
        {MPI_OFFSET, 8, ALL, set_i64, fold_i64},
        {MPI_COUNT, 8, ALL, set_i64, fold_i64},
        {MPI_FLOAT, 4, ORDER | ARITH, set_f, fold_f},
        {MPI_DOUBLE, 8, ORDER | ARITH, set_d, fold_d},
        {MPI_LONG_DOUBLE, sizeof(long double), ORDER | ARITH, set_ld, fold_ld},
        {MPI_C_COMPLEX, 8, ARITH, set_cf, fold_cf},
        {MPI_C_FLOAT_COMPLEX, 8, ARITH, set_cf, fold_cf},
        {MPI_C_DOUBLE_COMPLEX, 16, ARITH, set_cd, fold_cd},
        {MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex), ARITH, set_cld, fold_cld},
        {MPI_C_BOOL, 1, LOGIC, set_b, fold_b},
        {MPI_BYTE, 1, BITS, set_u8, fold_u8},
        {MPI_CHAR, 1, ALL, CHAR_MIN < 0 ? set_i8 : set_u8, CHAR_MIN < 0 ? fold_i8 : fold_u8},
        {MPI_INTEGER, sizeof(int), ORDER | ARITH | BITS | (STRICT ? LOGIC : 0), set_i32, fold_i32},
        {MPI_REAL, sizeof(float), ORDER | ARITH, set_f, fold_f},
        {MPI_DOUBLE_PRECISION, sizeof(double), ORDER | ARITH, set_d, fold_d},
    };
    for (int i = 0; i < COUNT_OF(rows); i++)
        for (int op = MAX; op <= BXOR; op++)
            if (rows[i].type != MPI_DATATYPE_NULL && rows[i].classes & class_of((enum operation)op))
                try_pair(t, &rows[i], i, (enum operation)op);
}

// Pairs of a value and an index: ties go to the lower index.
#define LOCATE(name, ctype, mpitype)                                                               \
    static void locate_##name(struct coll_test *t, enum operation op)                              \
    {                                                                                              \
        struct pair {                                                                              \
            ctype value;                                                                           \
            int index;                                                                             \
        } out[ITEMS], in[ITEMS];                                                                   \
        memset(out, 0, sizeof out);                                                                \
        memset(in, 0, sizeof in);                                                                  \
        for (int i = 0; i < ITEMS; i++) {                                                          \
            out[i].value = (ctype)(contribution(op, t->me, i, t->n) % 5);                          \
            out[i].index = 1000 - t->me;                                                           \
        }                                                                                          \
        CHECK_OK(MPI_Allreduce(out, in, ITEMS, mpitype, op_of(op), t->comm));                      \
        for (int i = 0; i < ITEMS; i++) {                                                          \
            int best = contribution(op, 0, i, t->n) % 5, index = 1000;                             \
            for (int rank = 1; rank < t->n; rank++) {                                              \
                int value = contribution(op, rank, i, t->n) % 5;                                   \
                int better = op == MAXLOC ? value > best : value < best;                           \
                if (better || value == best)                                                       \
                    index = 1000 - rank;                                                           \
                best = better ? value : best;                                                      \
            }                                                                                      \
            CHECK(in[i].value == (ctype)best);                                                     \
            CHECK_INT(in[i].index, index);                                                         \
        }                                                                                          \
    }

LOCATE(float, float, MPI_FLOAT_INT)
LOCATE(double, double, MPI_DOUBLE_INT)
LOCATE(long, long, MPI_LONG_INT)
LOCATE(int, int, MPI_2INT)
LOCATE(short, short, MPI_SHORT_INT)
LOCATE(long_double, long double, MPI_LONG_DOUBLE_INT)

static void locations(struct coll_test *t)
{
    for (int op = MAXLOC; op <= MINLOC; op++) {
        locate_float(t, (enum operation)op);
        locate_double(t, (enum operation)op);
        locate_long(t, (enum operation)op);
        locate_int(t, (enum operation)op);
        locate_short(t, (enum operation)op);
        locate_long_double(t, (enum operation)op);
    }
}

static void commutes(struct coll_test *t)
{
    int yes = -1;
    for (int op = MAX; op <= MINLOC; op++) {
        CHECK_OK(MPI_Op_commutative(op_of((enum operation)op), &yes));
        CHECK_INT(yes, 1);
    }
    CHECK_OK(MPI_Op_commutative(t->ops[WRAP], &yes));
    CHECK_INT(yes, 1);
    CHECK_OK(MPI_Op_commutative(t->ops[AFFINE], &yes));
    CHECK_INT(yes, 0);
}

// inout = in op inout, on this rank alone.
static void local(struct coll_test *t)
{
    int in[3] = {5, 7, 9}, inout[3] = {1, 10, 100}, left[2] = {3, 4}, right[2] = {5, 6};
    CHECK_OK(MPI_Reduce_local(in, inout, 3, MPI_INT, MPI_SUM));
    CHECK(inout[0] == 6 && inout[1] == 17 && inout[2] == 109);
    CHECK_OK(MPI_Reduce_local(in, inout, 0, MPI_INT, MPI_SUM));
    CHECK(inout[0] == 6);
    CHECK_OK(MPI_Reduce_local(left, right, 1, t->layouts[L_PAIR].type, t->ops[AFFINE]));
    CHECK(right[0] == 15 && right[1] == 4 * 5 + 6);
#if MPI_VERSION >= 4
    CHECK_OK(MPI_Reduce_local_c(in, inout, 3, MPI_INT, MPI_MAX));
    CHECK(inout[0] == 6 && inout[1] == 17 && inout[2] == 109);
#endif
}

#if MPI_VERSION >= 4
// As affine_op of coll_data.h.
static void affine_c(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    CHECK(*type != MPI_DATATYPE_NULL);
    affine_pairs(in, inout, (int)*len, 0, 4, 8);
}

// An operation with a large count is for calls of both kinds of counts.
static void large_op(struct coll_test *t)
{
    struct coll_test other = *t;
    int yes = -1;
    CHECK_OK(MPI_Op_create_c(affine_c, 0, &other.ops[AFFINE]));
    CHECK_OK(MPI_Op_commutative(other.ops[AFFINE], &yes));
    CHECK_INT(yes, 0);
    for (int kind = REDUCE; kind <= EXSCAN; kind++)
        for (int i = 0; i < 4; i++) {
            struct coll_case c = case_plain(&other, (enum coll_kind)kind, 1 + 40 * i);
            c.red = AFFINE;
            c.slay = c.rlay = &t->layouts[L_PAIR];
            case_try(&c);
        }
    CHECK_OK(MPI_Op_free(&other.ops[AFFINE]));
    CHECK(other.ops[AFFINE] == MPI_OP_NULL);
}
#endif

static void body(struct coll_test *t)
{
    coll_need_ops(t);
    arithmetic(t);
    locations(t);
    commutes(t);
    local(t);
#if MPI_VERSION >= 4
    large_op(t);
#endif
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
