// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets: in windows of every flavor, in epochs of every kind, by all forms of the calls, of
// contiguous data and of datatypes on either side, to other ranks, to oneself and to nobody.

#include "coll_data.h"
#include "win_check.h"

enum { SLOT = 512 }; // bytes of a window for each origin

// The calls, with and without large counts, and those with requests, which locks allow only.
enum form { PLAIN, LARGE_COUNT, REQUEST, LARGE_REQUEST, FORMS };

static int form_fits(enum form form, enum epoch kind)
{
    if (form >= REQUEST && kind != LOCK && kind != LOCK_ALL)
        return 0;
    return form == PLAIN || form == REQUEST || MPI_VERSION >= 4;
}

typedef struct end {
    void *at;
    int count;
    MPI_Datatype type;
} end;

static void put(const box *b, enum form form, end from, int rank, MPI_Aint disp, end to)
{
    MPI_Request r;
    if (form == PLAIN)
        CHECK_OK(MPI_Put(from.at, from.count, from.type, rank, disp, to.count, to.type, b->win));
    if (form == REQUEST)
        CHECK_OK(
            MPI_Rput(from.at, from.count, from.type, rank, disp, to.count, to.type, b->win, &r));
#if MPI_VERSION >= 4
    if (form == LARGE_COUNT)
        CHECK_OK(MPI_Put_c(from.at, from.count, from.type, rank, disp, to.count, to.type, b->win));
    if (form == LARGE_REQUEST)
        CHECK_OK(
            MPI_Rput_c(from.at, from.count, from.type, rank, disp, to.count, to.type, b->win, &r));
#endif
    if (form >= REQUEST)
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void get(const box *b, enum form form, end to, int rank, MPI_Aint disp, end from)
{
    MPI_Request r;
    if (form == PLAIN)
        CHECK_OK(MPI_Get(to.at, to.count, to.type, rank, disp, from.count, from.type, b->win));
    if (form == REQUEST)
        CHECK_OK(MPI_Rget(to.at, to.count, to.type, rank, disp, from.count, from.type, b->win, &r));
#if MPI_VERSION >= 4
    if (form == LARGE_COUNT)
        CHECK_OK(MPI_Get_c(to.at, to.count, to.type, rank, disp, from.count, from.type, b->win));
    if (form == LARGE_REQUEST)
        CHECK_OK(
            MPI_Rget_c(to.at, to.count, to.type, rank, disp, from.count, from.type, b->win, &r));
#endif
    if (form >= REQUEST)
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static end bytes_at(void *at, size_t n)
{
    return (end){at, (int)n, MPI_BYTE};
}

// Each rank writes its slot of every rank's window, then reads it back.
static void slots(const box *b, enum epoch kind, enum form form)
{
    unsigned char out[SLOT];
    size_t own = (size_t)b->rank * SLOT, n = SLOT - 3;
    epoch_open(b, kind);
    pattern_fill(out, n, (unsigned)b->rank);
    for (int i = 0; i < b->size; i++)
        put(b, form, bytes_at(out, n), i, box_disp(b, i, own), bytes_at(NULL, n));
    epoch_close(b, kind);
    for (int i = 0; i < b->size; i++) {
        CHECK_PATTERN(b->base + i * SLOT, n, (unsigned)i);
        for (size_t k = n; k < SLOT; k++)
            CHECK_INT(b->base[(size_t)i * SLOT + k], 0);
    }
    unsigned char *in = must_alloc((size_t)b->size * SLOT);
    memset(in, 0xee, (size_t)b->size * SLOT);
    epoch_open(b, kind);
    for (int i = 0; i < b->size; i++)
        get(b, form, bytes_at(in + i * SLOT, n), i, box_disp(b, i, own), bytes_at(NULL, n));
    epoch_close(b, kind);
    for (int i = 0; i < b->size; i++) {
        CHECK_PATTERN(in + i * SLOT, n, (unsigned)b->rank);
        CHECK_INT(in[i * SLOT + (int)n], 0xee);
    }
    free(in);
    memset(b->base, 0, b->bytes);
}

// One layout of ints here, another there, in both directions.
static void layouts_between(const box *b, enum epoch kind, const struct layout *here,
                            const struct layout *there, int items)
{
    struct area out, in, window;
    int right = (b->rank + 1) % b->size, left = (b->rank + b->size - 1) % b->size;
    int here_items = items * there->units, there_items = items * here->units;
    area_init(&out, here, here_items);
    area_init(&in, here, here_items);
    area_init(&window, there, there_items);
    CHECK(window.size <= b->bytes);
    area_poison(&out);
    area_poison(&in);
    area_expect(&in);
    memset(b->base, COLL_POISON, b->bytes);
    memset(window.want, COLL_POISON, window.size);
    int units = items * here->units * there->units;
    coll_put(area_base(&out), here, 0, units, coll_key(1, b->rank, 0));
    coll_put(area_wanted(&in), here, 0, units, coll_key(1, b->rank, 0));
    coll_put(area_wanted(&window), there, 0, units, coll_key(1, left, 0));
    MPI_Aint disp = box_disp(b, right, (size_t)window.origin);
    epoch_open(b, kind);
    put(b, PLAIN, (end){area_base(&out), here_items, here->type}, right, disp,
        (end){NULL, there_items, there->type});
    epoch_close(b, kind);
    CHECK(memcmp(b->base, window.want, window.size) == 0);
    epoch_open(b, kind);
    get(b, PLAIN, (end){area_base(&in), here_items, here->type}, right, disp,
        (end){NULL, there_items, there->type});
    epoch_close(b, kind);
    CHECK_INT(area_fault(&in), 1LL << 60);
    area_fini(&out);
    area_fini(&in);
    area_fini(&window);
    memset(b->base, 0, b->bytes);
}

static void layouts(enum flavor flavor, enum epoch kind)
{
    box b = box_new(flavor, 4096, 4);
    struct layout all[COLL_LAYOUTS];
    for (int i = 0; i < COLL_LAYOUTS; i++)
        all[i] = layout_of((enum coll_layout)i);
    for (int i = L_INT; i <= L_LAST_INTS; i++)
        for (int k = L_INT; k <= L_LAST_INTS; k++)
            if (i != L_DOUBLE && k != L_DOUBLE && (i + 3 * k) % EPOCHS == (int)kind)
                layouts_between(&b, kind, &all[i], &all[k], 1 + (i + k) % 5);
    layouts_between(&b, kind, &all[L_STRUCT], &all[L_STRUCT], 5);
    layouts_between(&b, kind, &all[L_DOUBLE], &all[L_DOUBLE], 7);
    for (int i = 0; i < COLL_LAYOUTS; i++)
        CHECK_OK(MPI_Type_free(&all[i].type));
    box_free(&b);
}

// Nobody is reached, and nothing changes.
static void nothing(const box *b, enum epoch kind, enum form form)
{
    unsigned char byte = 1;
    epoch_open(b, kind);
    put(b, form, bytes_at(&byte, 1), MPI_PROC_NULL, 0, bytes_at(NULL, 1));
    get(b, form, bytes_at(&byte, 1), MPI_PROC_NULL, 0, bytes_at(NULL, 1));
    put(b, form, bytes_at(&byte, 0), 0, box_disp(b, 0, 0), bytes_at(NULL, 0));
    get(b, form, bytes_at(NULL, 0), b->size - 1, box_disp(b, b->size - 1, 0), bytes_at(NULL, 0));
    epoch_close(b, kind);
    CHECK_INT(byte, 1);
    for (size_t i = 0; i < b->bytes; i++)
        CHECK_INT(b->base[i], 0);
}

// Lengths around what a protocol may change at, to the right neighbour, from the left one, and from
// this rank to itself.
static void lengths(enum flavor flavor, enum epoch kind, int longest)
{
    static const int all[] = {1,    7,    8,    9,     31,    32,    33,     255,
                              1024, 4097, 8191, 16384, 65535, 65536, 262144, 1048579};
    box b = box_new(flavor, 3 * (size_t)longest, 1);
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    unsigned char *out = must_alloc((size_t)longest), *in = must_alloc((size_t)longest);
    for (int i = 0; i < COUNT_OF(all) && all[i] <= longest; i++) {
        size_t n = (size_t)all[i];
        if (too_long(all[i]))
            continue;
        pattern_fill(out, n, (unsigned)(b.rank + i));
        epoch_open(&b, kind);
        put(&b, PLAIN, bytes_at(out, n), right, box_disp(&b, right, 1), bytes_at(NULL, n));
        put(&b, PLAIN, bytes_at(out, n), b.rank, box_disp(&b, b.rank, 2 * (size_t)longest),
            bytes_at(NULL, n));
        epoch_close(&b, kind);
        CHECK_PATTERN(b.base + 1, n, (unsigned)(left + i));
        CHECK_PATTERN(b.base + 2 * longest, n, (unsigned)(b.rank + i));
        memset(in, 0, n);
        epoch_open(&b, kind);
        get(&b, PLAIN, bytes_at(in, n), left, box_disp(&b, left, 2 * (size_t)longest),
            bytes_at(NULL, n));
        epoch_close(&b, kind);
        CHECK_PATTERN(in, n, (unsigned)(left + i));
    }
    free(out);
    free(in);
    box_free(&b);
}

// Many small ones in an epoch.
static void crowd(enum flavor flavor, enum epoch kind)
{
    enum { EACH = 100 };
    size_t words = (size_t)EACH * (size_t)world_size();
    box b = box_new(flavor, words * sizeof(int), sizeof(int));
    int *out = must_alloc(words * sizeof *out), *data = (int *)(void *)b.base;
    epoch_open(&b, kind);
    for (int i = 0; i < EACH; i++)
        for (int to = 0; to < b.size; to++) {
            int *own = &out[i * b.size + to];
            *own = b.rank * 1000000 + i * 100 + to;
            put(&b, PLAIN, (end){own, 1, MPI_INT}, to,
                box_disp(&b, to, (size_t)(i * b.size + b.rank) * sizeof(int)),
                (end){NULL, 1, MPI_INT});
        }
    epoch_close(&b, kind);
    for (int i = 0; i < EACH; i++)
        for (int from = 0; from < b.size; from++)
            CHECK_INT(data[i * b.size + from], from * 1000000 + i * 100 + b.rank);
    free(out);
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int kind = 0; kind < EPOCHS; kind++) {
            box b = box_new((enum flavor)flavor, (size_t)world_size() * SLOT, 1);
            for (int form = 0; form < FORMS; form++)
                if (form_fits((enum form)form, (enum epoch)kind)) {
                    slots(&b, (enum epoch)kind, (enum form)form);
                    nothing(&b, (enum epoch)kind, (enum form)form);
                }
            box_free(&b);
            layouts((enum flavor)flavor, (enum epoch)kind);
            crowd((enum flavor)flavor, (enum epoch)kind);
            lengths((enum flavor)flavor, (enum epoch)kind, kind == LOCK ? 1048579 : 65536);
        }
    CHECK_OK(MPI_Finalize());
    return 0;
}
