// SPDX-License-Identifier: BSD-3-Clause
//
// Accumulates: every predefined operation on every predefined type that it takes, by every call
// that accumulates, in windows of every flavor and epochs of every kind. The reference is
// MPI_Reduce_local. Values are small whole numbers, so the order does not matter.

#include <complex.h>
#include <stdbool.h>

#include "coll_data.h"
#include "win_check.h"

enum { ITEMS = 5, WIDEST = 32, CELL = ITEMS * WIDEST };

typedef void set_item(void *at, int value);

#define SETTER(name, ctype)                                                                        \
    static void set_##name(void *at, int value)                                                    \
    {                                                                                              \
        ctype item = (ctype)value;                                                                 \
        memcpy(at, &item, sizeof item);                                                            \
    }
// A pair of a value and an index, whose gaps stay as they are.
#define PAIR_SETTER(name, ctype)                                                                   \
    static void set_##name(void *at, int value)                                                    \
    {                                                                                              \
        struct pair {                                                                              \
            ctype value;                                                                           \
            int index;                                                                             \
        } *pair = at;                                                                              \
        pair->value = (ctype)(value % 5);                                                          \
        pair->index = value;                                                                       \
    }

SETTER(i8, int8_t)
SETTER(i16, int16_t)
SETTER(i32, int32_t)
SETTER(i64, int64_t)
SETTER(f, float)
SETTER(d, double)
SETTER(ld, long double)
SETTER(cf, float complex)
SETTER(cd, double complex)
SETTER(cld, long double complex)
SETTER(b, bool)
PAIR_SETTER(f_int, float)
PAIR_SETTER(d_int, double)
PAIR_SETTER(l_int, long)
PAIR_SETTER(int_int, int)
PAIR_SETTER(s_int, short)
PAIR_SETTER(ld_int, long double)

enum { ORDER = 1, ARITH = 2, LOGIC = 4, BITS = 8, ALL = 15, PLACE = 16 };

struct type_row {
    MPI_Datatype type;
    int size, classes; // classes: which operations it takes
    set_item *set;
};

enum { TYPES = 45 };

static int types_of(struct type_row rows[TYPES])
{
    const struct type_row all[] = {
        {MPI_INT, sizeof(int), ALL, set_i32},
        {MPI_LONG, sizeof(long), ALL, set_i64},
        {MPI_SHORT, sizeof(short), ALL, set_i16},
        {MPI_UNSIGNED_SHORT, sizeof(short), ALL, set_i16},
        {MPI_UNSIGNED, sizeof(unsigned), ALL, set_i32},
        {MPI_UNSIGNED_LONG, sizeof(long), ALL, set_i64},
        {MPI_LONG_LONG, 8, ALL, set_i64},
        {MPI_UNSIGNED_LONG_LONG, 8, ALL, set_i64},
        {MPI_SIGNED_CHAR, 1, ALL, set_i8},
        {MPI_UNSIGNED_CHAR, 1, ALL, set_i8},
        {MPI_INT8_T, 1, ALL, set_i8},
        {MPI_INT16_T, 2, ALL, set_i16},
        {MPI_INT32_T, 4, ALL, set_i32},
        {MPI_INT64_T, 8, ALL, set_i64},
        {MPI_UINT8_T, 1, ALL, set_i8},
        {MPI_UINT16_T, 2, ALL, set_i16},
        {MPI_UINT32_T, 4, ALL, set_i32},
        {MPI_UINT64_T, 8, ALL, set_i64},
        {MPI_AINT, 8, STRICT ? ALL : ORDER | ARITH | BITS, set_i64},
        {MPI_OFFSET, 8, STRICT ? ALL : ORDER | ARITH | BITS, set_i64},
        {MPI_COUNT, 8, STRICT ? ALL : ORDER | ARITH | BITS, set_i64},
        {MPI_FLOAT, 4, ORDER | ARITH, set_f},
        {MPI_DOUBLE, 8, ORDER | ARITH, set_d},
        {MPI_LONG_DOUBLE, sizeof(long double), ORDER | ARITH, set_ld},
        {MPI_C_COMPLEX, 8, ARITH, set_cf},
        {MPI_C_FLOAT_COMPLEX, 8, ARITH, set_cf},
        {MPI_C_DOUBLE_COMPLEX, 16, ARITH, set_cd},
        {MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex), ARITH, set_cld},
        {MPI_C_BOOL, 1, LOGIC, set_b},
        {MPI_BYTE, 1, BITS, set_i8},
        {MPI_INTEGER, sizeof(int), ORDER | ARITH | BITS, set_i32},
        {MPI_REAL, sizeof(float), ORDER | ARITH, set_f},
        {MPI_DOUBLE_PRECISION, sizeof(double), ORDER | ARITH, set_d},
        {MPI_FLOAT_INT, 8, PLACE, set_f_int},
        {MPI_DOUBLE_INT, 16, PLACE, set_d_int},
        {MPI_LONG_INT, 16, PLACE, set_l_int},
        {MPI_2INT, 8, PLACE, set_int_int},
        {MPI_SHORT_INT, 8, PLACE, set_s_int},
        {MPI_LONG_DOUBLE_INT, 32, PLACE, set_ld_int},
    };
    _Static_assert(sizeof all / sizeof *all <= TYPES, "room for all");
    memcpy(rows, all, sizeof all);
    return COUNT_OF(all);
}

struct op_row {
    MPI_Op op;
    int class;
};

enum { OPS = 12 };

static void ops_of(struct op_row rows[OPS])
{
    const struct op_row all[OPS] = {{MPI_MAX, ORDER},  {MPI_MIN, ORDER},    {MPI_SUM, ARITH},
                                    {MPI_PROD, ARITH}, {MPI_LAND, LOGIC},   {MPI_LOR, LOGIC},
                                    {MPI_LXOR, LOGIC}, {MPI_BAND, BITS},    {MPI_BOR, BITS},
                                    {MPI_BXOR, BITS},  {MPI_MAXLOC, PLACE}, {MPI_MINLOC, PLACE}};
    memcpy(rows, all, sizeof all);
}

// What a rank gives to an item: products stay small, sums of 1,000 ranks too.
static int contribution(const struct op_row *op, int rank, int item)
{
    if (op->op == MPI_PROD)
        return 1 + (coll_mix((uint64_t)rank * 31 + (uint64_t)item) % 8 == 0);
    if (op->op == MPI_SUM)
        return (int)(coll_mix((uint64_t)rank * 31 + (uint64_t)item) % 2);
    return (int)(coll_mix((uint64_t)rank * 31 + (uint64_t)item) % (op->class == PLACE ? 100 : 3));
}

// The calls that accumulate. Those with requests need locks.
enum form { ACC, GET_ACC, FETCH, ACC_C, GET_ACC_C, R_ACC, R_GET_ACC, R_ACC_C, R_GET_ACC_C, FORMS };

static int form_fits(enum form form, enum epoch kind)
{
    if (form >= R_ACC && kind != LOCK && kind != LOCK_ALL)
        return 0;
    return MPI_VERSION >= 4 || (form != ACC_C && form != GET_ACC_C && form < R_ACC_C);
}

struct call {
    const box *b;
    enum form form;
    MPI_Datatype type;
    int size, count; // of an element in bytes; how many
    MPI_Op op;
};

static void accumulate(const struct call *c, const void *in, void *out, int rank, size_t at)
{
    MPI_Aint disp = box_disp(c->b, rank, at);
    MPI_Win win = c->b->win;
    MPI_Datatype t = c->type;
    MPI_Request r;
    int n = c->count;
    switch (c->form) {
    case ACC:
        CHECK_OK(MPI_Accumulate(in, n, t, rank, disp, n, t, c->op, win));
        break;
    case GET_ACC:
        CHECK_OK(MPI_Get_accumulate(in, n, t, out, n, t, rank, disp, n, t, c->op, win));
        break;
    case FETCH:
        for (int i = 0; i < n; i++) {
            size_t place = (size_t)i * (size_t)c->size;
            CHECK_OK(MPI_Fetch_and_op((const char *)in + place, (char *)out + place, t, rank,
                                      box_disp(c->b, rank, at + place), c->op, win));
        }
        break;
    case R_ACC:
        CHECK_OK(MPI_Raccumulate(in, n, t, rank, disp, n, t, c->op, win, &r));
        break;
    case R_GET_ACC:
        CHECK_OK(MPI_Rget_accumulate(in, n, t, out, n, t, rank, disp, n, t, c->op, win, &r));
        break;
#if MPI_VERSION >= 4
    case ACC_C:
        CHECK_OK(MPI_Accumulate_c(in, n, t, rank, disp, n, t, c->op, win));
        break;
    case GET_ACC_C:
        CHECK_OK(MPI_Get_accumulate_c(in, n, t, out, n, t, rank, disp, n, t, c->op, win));
        break;
    case R_ACC_C:
        CHECK_OK(MPI_Raccumulate_c(in, n, t, rank, disp, n, t, c->op, win, &r));
        break;
    case R_GET_ACC_C:
        CHECK_OK(MPI_Rget_accumulate_c(in, n, t, out, n, t, rank, disp, n, t, c->op, win, &r));
        break;
#endif
    default:
        CHECK(0);
    }
    if (c->form >= R_ACC)
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static int fetches(enum form form)
{
    return form != ACC && form != ACC_C && form != R_ACC && form != R_ACC_C;
}

// Long doubles have padding, which no operation need keep.
static int same(const struct type_row *t, const unsigned char *a, const unsigned char *b)
{
    if (t->set == set_ld || t->set == set_cld) {
        for (int i = 0; i * (int)sizeof(long double) < t->size; i++) {
            long double x, y;
            memcpy(&x, a + i * (int)sizeof x, sizeof x);
            memcpy(&y, b + i * (int)sizeof y, sizeof y);
            if (x != y)
                return 0;
        }
        return 1;
    }
    if (t->set == set_ld_int) {
        long double x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x == y && memcmp(a + sizeof x, b + sizeof y, sizeof(int)) == 0;
    }
    return memcmp(a, b, (size_t)t->size) == 0;
}

static void initial(const struct type_row *t, const struct op_row *op, unsigned char *cell)
{
    memset(cell, 0, CELL);
    for (int i = 0; i < ITEMS; i++)
        t->set(cell + i * t->size, contribution(op, -1, i));
}

// One type with one operation, to the right neighbour and to rank 0. All pairs share an epoch, so
// each has its place in the window and its own buffers.
struct pair {
    const struct type_row *type;
    const struct op_row *op;
    size_t at;
    unsigned char in[CELL], out[CELL], one[CELL];
};

static void pair_prepare(const box *b, struct pair *p)
{
    const struct type_row *t = p->type;
    initial(t, p->op, b->base + p->at);
    initial(t, p->op, b->base + p->at + CELL);
    memset(p->in, 0, CELL);
    for (int i = 0; i < ITEMS; i++)
        t->set(p->in + i * t->size, contribution(p->op, b->rank, i));
}

static struct call pair_call(const box *b, enum form form, const struct pair *p)
{
    const struct type_row *t = p->type;
    return (struct call){b, form, t->type, t->size, form == FETCH ? 2 : ITEMS, p->op->op};
}

// The first count items are what these ranks have made of the initial ones.
static void pair_check(const struct pair *p, enum form form, const unsigned char *cell, int first,
                       int ranks, int count)
{
    const struct type_row *t = p->type;
    _Alignas(16) unsigned char want[CELL];
    initial(t, p->op, want);
    for (int rank = first; rank < first + ranks; rank++)
        for (int i = 0; i < count; i++) {
            _Alignas(16) unsigned char next[WIDEST] = {0};
            t->set(next, contribution(p->op, rank, i));
            CHECK_OK(MPI_Reduce_local(next, want + i * t->size, 1, t->type, p->op->op));
        }
    for (int i = 0; i < ITEMS; i++)
        if (!same(t, cell + i * t->size, want + i * t->size))
            check_fail(
                __FILE__, __LINE__,
                "type of %d bytes, classes %d; operation of class %d; form %d: item %d of %d "
                "ranks is wrong",
                t->size, t->classes, p->op->class, form, i, ranks);
}

static void pair_verify(const box *b, enum form form, const struct pair *p)
{
    int left = (b->rank + b->size - 1) % b->size, count = pair_call(b, form, p).count;
    pair_check(p, form, b->base + p->at, left, 1, count);
    pair_check(p, form, b->base + p->at + CELL, 0, b->rank == 0 ? b->size : 0, count);
    if (fetches(form))
        pair_check(p, form, p->out, 0, 0, 0);
}

enum { PAIRS = 400 };

static void all_pairs(const box *b, enum epoch kind, enum form form)
{
    struct type_row types[TYPES];
    struct op_row ops[OPS];
    struct pair *pairs = must_alloc(PAIRS * sizeof *pairs);
    int count = 0, all = types_of(types), right = (b->rank + 1) % b->size;
    ops_of(ops);
    for (int i = 0; i < all; i++)
        for (int k = 0; k < OPS; k++)
            if (types[i].type != MPI_DATATYPE_NULL && types[i].classes & ops[k].class) {
                CHECK(count < PAIRS && (size_t)(count + 1) * 2 * CELL <= b->bytes);
                struct pair *p = &pairs[count];
                *p = (struct pair){&types[i], &ops[k], (size_t)count++ * 2 * CELL, {0}, {0}, {0}};
                pair_prepare(b, p);
                initial(p->type, p->op, p->out); // what a form that fetches two items leaves
            }
    epoch_open(b, kind);
    for (int i = 0; i < count; i++) {
        struct call c = pair_call(b, form, &pairs[i]);
        memset(pairs[i].out, 0, fetches(form) ? (size_t)(c.count * c.size) : 0);
        accumulate(&c, pairs[i].in, pairs[i].out, right, pairs[i].at);
        accumulate(&c, pairs[i].in, pairs[i].one, 0, pairs[i].at + CELL);
    }
    epoch_close(b, kind);
    for (int i = 0; i < count; i++)
        pair_verify(b, form, &pairs[i]);
    free(pairs);
}

// MPI_REPLACE puts, MPI_NO_OP gets, of any type at all.
static void replace(const box *b, enum epoch kind, enum form form)
{
    struct type_row types[TYPES];
    struct cells {
        _Alignas(16) unsigned char in[CELL], out[CELL], again[CELL];
    } *of = must_alloc(TYPES * sizeof *of);
    int all = types_of(types), right = (b->rank + 1) % b->size,
        left = (b->rank + b->size - 1) % b->size;
    memset(of, 0, TYPES * sizeof *of);
    memset(b->base, 0, (size_t)all * CELL);
    for (int i = 0; i < all; i++)
        for (int k = 0; k < ITEMS; k++) {
            types[i].set(of[i].in + k * types[i].size, b->rank + k);
            types[i].set(b->base + i * CELL + k * types[i].size, 50 + b->rank + k);
        }
    for (int twice = 0; twice < (fetches(form) ? 2 : 1); twice++) {
        epoch_open(b, kind);
        for (int i = 0; i < all; i++) {
            struct call c = {b,
                             form,
                             types[i].type,
                             types[i].size,
                             form == FETCH ? 2 : ITEMS,
                             twice ? MPI_NO_OP : MPI_REPLACE};
            if (c.type != MPI_DATATYPE_NULL)
                accumulate(&c, twice ? NULL : of[i].in, twice ? of[i].again : of[i].out, right,
                           (size_t)i * CELL);
        }
        epoch_close(b, kind);
    }
    for (int i = 0; i < all; i++)
        for (int k = 0; k < (form == FETCH ? 2 : ITEMS) && types[i].type != MPI_DATATYPE_NULL;
             k++) {
            _Alignas(16) unsigned char next[WIDEST] = {0};
            const struct type_row *t = &types[i];
            t->set(next, left + k);
            CHECK(same(t, b->base + i * CELL + k * t->size, next));
            CHECK(!fetches(form) || same(t, of[i].again + k * t->size, of[i].in + k * t->size));
            t->set(next, 50 + right + k);
            CHECK(!fetches(form) || same(t, of[i].out + k * t->size, next));
        }
    free(of);
}

// The types that MPI_Compare_and_swap takes: integers, logicals, bytes. One comparison holds, one
// does not.
static void swaps(const box *b, enum epoch kind)
{
    enum { WIDE = 16 };
    struct type_row types[TYPES];
    struct words {
        _Alignas(16) unsigned char was[WIDE], other[WIDE], next[WIDE], next_left[WIDE],
            out[2][WIDE];
    } *of = must_alloc(TYPES * sizeof *of);
    int all = types_of(types), right = (b->rank + 1) % b->size,
        left = (b->rank + b->size - 1) % b->size;
    memset(of, 0, TYPES * sizeof *of);
    memset(b->base, 0, (size_t)all * 2 * WIDE);
    for (int i = 0; i < all; i++) {
        types[i].set(of[i].was, 1);
        types[i].set(of[i].next, b->rank % 2);
        types[i].set(of[i].next_left, left % 2);
        memcpy(b->base + i * 2 * WIDE, of[i].was,
               (size_t)(types[i].classes & (LOGIC | BITS) ? types[i].size : 0));
    }
    epoch_open(b, kind);
    for (int i = 0; i < all; i++)
        for (int k = 0;
             k < 2 && types[i].type != MPI_DATATYPE_NULL && types[i].classes & (LOGIC | BITS); k++)
            CHECK_OK(MPI_Compare_and_swap(of[i].next, of[i].was, of[i].out[k], types[i].type, right,
                                          box_disp(b, right, (size_t)(i * 2 + k) * WIDE), b->win));
    epoch_close(b, kind);
    for (int i = 0; i < all; i++) {
        if (types[i].type == MPI_DATATYPE_NULL || (types[i].classes & (LOGIC | BITS)) == 0)
            continue;
        CHECK(memcmp(of[i].out[0], of[i].was, WIDE) == 0);
        CHECK(memcmp(b->base + i * 2 * WIDE, of[i].next_left, WIDE) == 0);
        CHECK(memcmp(of[i].out[1], of[i].other, WIDE) == 0);
        CHECK(memcmp(b->base + (i * 2 + 1) * WIDE, of[i].other, WIDE) == 0);
    }
    free(of);
}

// Nobody is reached; no elements.
static void nothing(const box *b, enum epoch kind, enum form form)
{
    int in[2] = {1, 2}, out[2] = {3, 4};
    struct call c = {b, form, MPI_INT, 4, 1, MPI_SUM};
    memset(b->base, 0, b->bytes);
    epoch_open(b, kind);
    if (b->flavor != DYNAMIC) {
        CHECK_OK(MPI_Compare_and_swap(&in[0], &in[1], &out[0], MPI_INT, MPI_PROC_NULL, 0, b->win));
        CHECK_OK(MPI_Fetch_and_op(&in[0], &out[0], MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, b->win));
        CHECK_OK(MPI_Accumulate(in, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, b->win));
        CHECK_OK(MPI_Get_accumulate(in, 1, MPI_INT, out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT,
                                    MPI_SUM, b->win));
    }
    c.count = 0;
    accumulate(&c, in, out, 0, 0);
    epoch_close(b, kind);
    CHECK(out[0] == 3 && out[1] == 4);
    for (int i = 0; i < CELL; i++)
        CHECK_INT(b->base[i], 0);
}

// Datatypes of ints on all sides.
static void layouts(const box *b, enum epoch kind, int all_of_them)
{
    struct layout all[COLL_LAYOUTS];
    int right = (b->rank + 1) % b->size, left = (b->rank + b->size - 1) % b->size;
    for (int i = 0; i < COLL_LAYOUTS; i++)
        all[i] = layout_of((enum coll_layout)i);
    for (int i = L_PAIR; i <= L_LAST_INTS; i++)
        for (int k = L_PAIR; k <= L_LAST_INTS; k++) {
            if (!all_of_them && (i + 3 * k) % EPOCHS != (int)kind)
                continue;
            const struct layout *here = &all[i], *there = &all[k];
            struct area out, in, window;
            area_init(&out, here, 3);
            area_init(&in, there, 3);
            area_init(&window, there, 3);
            area_poison(&out);
            area_poison(&in);
            area_poison(&window);
            for (int unit = 0; unit < 6; unit++) {
                int value = 1000 * b->rank + unit, there_is = 5 * b->rank + unit,
                    sum = there_is + 1000 * left + unit, right_was = 5 * right + unit;
                memcpy(unit_at(area_base(&out), here, 0, unit), &value, 4);
                memcpy(unit_at(area_base(&window), there, 0, unit), &there_is, 4);
                if (unit == 0) {
                    area_expect(&window);
                    area_expect(&in);
                }
                memcpy(unit_at(area_wanted(&window), there, 0, unit), &sum, 4);
                memcpy(unit_at(area_wanted(&in), there, 0, unit), &right_was, 4);
            }
            CHECK(window.size <= b->bytes);
            memcpy(b->base, window.memory, window.size);
            MPI_Aint disp = box_disp(b, right, (size_t)window.origin);
            epoch_open(b, kind);
            CHECK_OK(MPI_Get_accumulate(area_base(&out), 3, here->type, area_base(&in), 3,
                                        there->type, right, disp, 3, there->type, MPI_SUM, b->win));
            epoch_close(b, kind);
            memcpy(window.memory, b->base, window.size);
            CHECK_INT(area_fault(&window), 1LL << 60);
            CHECK_INT(area_fault(&in), 1LL << 60);
            epoch_open(b, kind);
            CHECK_OK(MPI_Accumulate(area_base(&out), 3, here->type, right, disp, 3, there->type,
                                    MPI_SUM, b->win));
            epoch_close(b, kind);
            for (int unit = 0; unit < 6; unit++) {
                int sum = 5 * b->rank + unit + 2 * (1000 * left + unit);
                CHECK(memcmp(unit_at(b->base + window.origin, there, 0, unit), &sum, 4) == 0);
            }
            area_fini(&out);
            area_fini(&in);
            area_fini(&window);
        }
    for (int i = 0; i < COLL_LAYOUTS; i++)
        CHECK_OK(MPI_Type_free(&all[i].type));
}

// More than fits into any message.
static void large(const box *b, enum epoch kind)
{
    int words = (int)(b->bytes / sizeof(int32_t)), right = (b->rank + 1) % b->size,
        left = (b->rank + b->size - 1) % b->size;
    int32_t *in = must_alloc(b->bytes), *out = must_alloc(b->bytes),
            *data = (int32_t *)(void *)b->base;
    for (int i = 0; i < words; i++) {
        in[i] = b->rank + i;
        data[i] = 7 * b->rank + i % 13;
        out[i] = -1;
    }
    epoch_open(b, kind);
    CHECK_OK(MPI_Get_accumulate(in, words, MPI_INT32_T, out, words, MPI_INT32_T, right,
                                box_disp(b, right, 0), words, MPI_INT32_T, MPI_SUM, b->win));
    epoch_close(b, kind);
    for (int i = 0; i < words; i++)
        if (data[i] != 7 * b->rank + i % 13 + left + i || out[i] != 7 * right + i % 13)
            check_fail(__FILE__, __LINE__, "word %d of %d is %d, was %d at the neighbour", i, words,
                       (int)data[i], (int)out[i]);
    free(in);
    free(out);
}

// argv[1]: all, for every flavor with every kind of epoch and form; else one of each for each other.
int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int all = argc > 1 && strcmp(argv[1], "all") == 0;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        box b = box_new((enum flavor)flavor, PAIRS * 2 * CELL, 1),
            wide = box_new((enum flavor)flavor, 400000, 4);
        for (int kind = 0; kind < EPOCHS; kind++) {
            for (int form = 0; form < FORMS; form++) {
                if (!form_fits((enum form)form, (enum epoch)kind))
                    continue;
                if (all || form % FLAVORS == (flavor + kind) % FLAVORS)
                    all_pairs(&b, (enum epoch)kind, (enum form)form);
                if (all || form % FLAVORS == (flavor + kind + 1) % FLAVORS)
                    replace(&b, (enum epoch)kind, (enum form)form);
                nothing(&b, (enum epoch)kind, (enum form)form);
            }
            swaps(&b, (enum epoch)kind);
            layouts(&b, (enum epoch)kind, all);
            large(&wide, (enum epoch)kind);
        }
        box_free(&wide);
        box_free(&b);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
