// SPDX-License-Identifier: BSD-3-Clause
//
// Random views, sizes, places and ways against a plain model of the file: an array of bytes that
// every rank computes for itself. `file_random [SEED [COUNT]]`.
//
// In each round the file is dealt out: a tile of slots, each of some etypes, belongs to ranks or to
// nobody, at random. A rank's view shows its slots of all tiles. All ranks write, then all read, each
// through a view of a round, in a random way and with a random type in memory.

#include <stdbool.h>

#include "file_check.h"

enum { MOST_SLOTS = 12, MODEL = 1 << 18, ROUNDS = 5 };

typedef struct deal {
    int etype, slots, length; // bytes of an etype; slots of a tile; etypes of a slot
    int gap;                  // bytes after each tile
    int disp;
    int owner[MOST_SLOTS];
    int nested; // 0: a list of slots; 1: of pairs of tiles; 2: as a struct
} deal;

typedef struct model {
    unsigned char *bytes;
    long long size; // of the file
} model;

static deal deal_out(uint64_t *random, int ranks)
{
    static const int sizes[] = {1, 1, 4, 8, 3, 24};
    deal d = {.etype = sizes[random_below(random, COUNT_OF(sizes))],
              .slots = 1 + random_below(random, MOST_SLOTS),
              .length = 1 + random_below(random, 9),
              .gap = random_below(random, 3) ? 0 : random_below(random, 50),
              .disp = random_below(random, 2) ? 0 : random_below(random, 500),
              .nested = random_below(random, 3)};
    if (random_below(random, 4) == 0)
        d.length *= 40;
    bool holes = random_below(random, 3) == 0;
    for (int i = 0; i < d.slots; i++)
        d.owner[i] = holes && random_below(random, 3) == 0 ? -1 : random_below(random, ranks);
    if (random_below(random, 3) == 0) // as arrays are dealt out, mostly
        for (int i = 0; i < d.slots; i++)
            d.owner[i] = i % ranks;
    return d;
}

static int slots_of(const deal *d, int rank)
{
    int n = 0;
    for (int i = 0; i < d->slots; i++)
        n += d->owner[i] == rank;
    return n;
}

static long long extent_of(const deal *d)
{
    return (long long)d->slots * d->length * d->etype + d->gap;
}

// Where byte k of a rank's data lies.
static long long place_of(const deal *d, int rank, long long k)
{
    int slot = d->length * d->etype, n = slots_of(d, rank);
    long long tile = k / ((long long)n * slot), in = k % ((long long)n * slot);
    int which = (int)(in / slot), i = 0;
    for (; i < d->slots; i++)
        if (d->owner[i] == rank && which-- == 0)
            break;
    return d->disp + tile * extent_of(d) + (long long)i * slot + in % slot;
}

static void set_view(MPI_File fh, const deal *d, int rank, const char *datarep)
{
    MPI_Datatype etype, list, tile, both;
    MPI_Aint at[MOST_SLOTS];
    int n = 0;
    for (int i = 0; i < d->slots; i++)
        if (d->owner[i] == rank)
            at[n++] = (MPI_Aint)i * d->length * d->etype;
    CHECK_OK(MPI_Type_contiguous(d->etype, MPI_BYTE, &etype));
    CHECK_OK(MPI_Type_commit(&etype));
    if (d->nested == 2) {
        int lengths[MOST_SLOTS];
        MPI_Datatype types[MOST_SLOTS];
        for (int i = 0; i < n; i++) {
            lengths[i] = d->length;
            types[i] = etype;
        }
        CHECK_OK(MPI_Type_create_struct(n, lengths, at, types, &list));
    } else {
        CHECK_OK(MPI_Type_create_hindexed_block(n, d->length, at, etype, &list));
    }
    CHECK_OK(MPI_Type_create_resized(list, 0, (MPI_Aint)extent_of(d), &tile));
    CHECK_OK(MPI_Type_contiguous(d->nested == 1 ? 2 : 1, tile, &both));
    CHECK_OK(MPI_Type_commit(&both));
    CHECK_OK(MPI_File_set_view(fh, d->disp, etype, both, datarep, MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&both));
    CHECK_OK(MPI_Type_free(&tile));
    CHECK_OK(MPI_Type_free(&list));
    CHECK_OK(MPI_Type_free(&etype));
}

// A type in memory of `etypes` etypes: without gaps, or with.
typedef struct shape {
    int block, gap; // etypes
} shape;

static MPI_Datatype memory_type(const deal *d, shape s)
{
    MPI_Datatype type, sized;
    int bytes = s.block * d->etype;
    CHECK_OK(MPI_Type_contiguous(bytes, MPI_BYTE, &type));
    CHECK_OK(MPI_Type_create_resized(type, 0, bytes + s.gap * d->etype, &sized));
    CHECK_OK(MPI_Type_commit(&sized));
    CHECK_OK(MPI_Type_free(&type));
    return sized;
}

static unsigned char value_of(int round, int rank, long long k)
{
    return (unsigned char)(1 + round * 131 + rank * 17 + k * 7 + (k >> 8) * 3);
}

// What a rank does in a round: so many elements of its memory type, from that etype on.
typedef struct job {
    shape shape;
    int count;
    long long from; // etypes
} job;

static job random_job(uint64_t *random, const deal *d, int rank)
{
    job j = {.shape = {1 + random_below(random, 7), random_below(random, 3)}};
    long long room = (MODEL / 4) / extent_of(d) * slots_of(d, rank) * d->length; // etypes
    j.from = room ? random_below(random, (int)(room / 2) + 1) : 0;
    int most = (int)((room - j.from) / j.shape.block);
    most = most < 400 || random_below(random, 4) == 0 ? most : 400;
    j.count = most > 0 ? random_below(random, most + 1) : 0;
    return j;
}

static long long data_bytes(const deal *d, const job *j)
{
    return (long long)j->count * j->shape.block * d->etype;
}

static long long memory_bytes(const deal *d, const job *j)
{
    return (long long)j->count * (j->shape.block + j->shape.gap) * d->etype + 1;
}

// Where byte k of the data lies in memory.
static long long memory_place(const deal *d, const job *j, long long k)
{
    int block = j->shape.block * d->etype;
    return k / block * (block + j->shape.gap * d->etype) + k % block;
}

static void move(MPI_File fh, int writes, int how, const job *j, void *buf, MPI_Datatype type,
                 MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int n = j->count;
    if (how % 2)
        CHECK_OK(MPI_File_seek(fh, j->from, MPI_SEEK_SET));
    switch (how * 2 + writes) {
    case 0:
        CHECK_OK(MPI_File_read_at(fh, j->from, buf, n, type, status));
        break;
    case 1:
        CHECK_OK(MPI_File_write_at(fh, j->from, buf, n, type, status));
        break;
    case 2:
        CHECK_OK(MPI_File_read(fh, buf, n, type, status));
        break;
    case 3:
        CHECK_OK(MPI_File_write(fh, buf, n, type, status));
        break;
    case 4:
        CHECK_OK(MPI_File_read_at_all_c(fh, j->from, buf, n, type, status));
        break;
    case 5:
        CHECK_OK(MPI_File_write_at_all_c(fh, j->from, buf, n, type, status));
        break;
    case 6:
        CHECK_OK(MPI_File_read_all(fh, buf, n, type, status));
        break;
    case 7:
        CHECK_OK(MPI_File_write_all(fh, buf, n, type, status));
        break;
    case 8:
        CHECK_OK(MPI_File_iread_at(fh, j->from, buf, n, type, &request));
        break;
    case 9:
        CHECK_OK(MPI_File_iwrite_at(fh, j->from, buf, n, type, &request));
        break;
    case 10:
        CHECK_OK(MPI_File_iread_all(fh, buf, n, type, &request));
        break;
    default:
        CHECK_OK(MPI_File_iwrite_all(fh, buf, n, type, &request));
        break;
    }
    if (how > 3)
        CHECK_OK(MPI_Wait(&request, status));
}

// The model after all ranks have written.
static void model_write(model *m, const deal *d, const job *jobs, int ranks, int round)
{
    for (int r = 0; r < ranks; r++) {
        long long n = data_bytes(d, &jobs[r]), base = jobs[r].from * d->etype;
        for (long long k = 0; k < n; k++) {
            long long at = place_of(d, r, base + k);
            CHECK(at < MODEL);
            m->bytes[at] = value_of(round, r, k);
            m->size = at + 1 > m->size ? at + 1 : m->size;
        }
    }
}

static void write_round(MPI_File fh, const deal *d, const job *j, int round, int rank, int how)
{
    MPI_Status status;
    MPI_Datatype type = memory_type(d, j->shape);
    long long n = data_bytes(d, j);
    unsigned char *buf = must_alloc((size_t)memory_bytes(d, j));
    for (long long k = 0; k < n; k++)
        buf[memory_place(d, j, k)] = value_of(round, rank, k);
    move(fh, 1, how, j, buf, type, &status);
    CHECK_INT(status_bytes(&status), n);
    free(buf);
    CHECK_OK(MPI_Type_free(&type));
}

static void read_round(MPI_File fh, const model *m, const deal *d, const job *j, int rank, int how)
{
    MPI_Status status;
    MPI_Datatype type = memory_type(d, j->shape);
    long long n = data_bytes(d, j), base = j->from * d->etype, want = 0;
    unsigned char *buf = must_alloc((size_t)memory_bytes(d, j));
    memset(buf, 201, (size_t)memory_bytes(d, j));
    move(fh, 0, how, j, buf, type, &status);
    while (want < n && place_of(d, rank, base + want) < m->size)
        want++;
    CHECK_INT(status_bytes(&status), want);
    for (long long k = 0; k < n; k++) {
        unsigned char right = k < want ? m->bytes[place_of(d, rank, base + k)] : 201;
        if (buf[memory_place(d, j, k)] != right)
            check_fail(__FILE__, __LINE__, "byte %lld of %lld is %d, should be %d", k, n,
                       buf[memory_place(d, j, k)], right);
    }
    for (long long at = 0, k = 0; at < memory_bytes(d, j); at++) { // gaps are left alone
        if (k < n && memory_place(d, j, k) == at)
            k++;
        else
            CHECK_INT(buf[at], 201);
    }
    free(buf);
    CHECK_OK(MPI_Type_free(&type));
}

static void compare(const char *path, const model *m)
{
    long long size;
    unsigned char *bytes = file_bytes(path, &size);
    CHECK_INT(size, m->size);
    for (long long i = 0; i < size; i++)
        if (bytes[i] != m->bytes[i])
            check_fail(__FILE__, __LINE__, "byte %lld of the file is %d, should be %d", i, bytes[i],
                       m->bytes[i]);
    free(bytes);
}

// How writes are merged and sieved changes nothing in the file.
static void random_hints(MPI_File fh, uint64_t seed)
{
    static const char *const words[] = {"automatic", "enable", "disable", "enable"};
    static const char *const nodes[] = {"1", "2", "3", "1000"};
    MPI_Info info;
    uint64_t random = seed * 31 + 7;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "romio_ds_write", words[random_below(&random, 4)]));
    CHECK_OK(MPI_Info_set(info, "romio_ds_read", words[random_below(&random, 4)]));
    CHECK_OK(MPI_Info_set(info, "romio_cb_write", words[random_below(&random, 4)]));
    CHECK_OK(MPI_Info_set(info, "cb_nodes", nodes[random_below(&random, 4)]));
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK_OK(MPI_Info_free(&info));
}

static void one_seed(uint64_t seed, int rank, int ranks)
{
    char path[PATH_ROOM];
    uint64_t random = seed * 77 + 5;
    model m = {.bytes = calloc(MODEL, 1)};
    job *jobs = must_alloc((size_t)ranks * sizeof *jobs);
    CHECK(m.bytes != NULL);
    fresh_path(path);
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    if (random_below(&random, 4) == 0)
        CHECK_OK(MPI_File_set_atomicity(fh, 1));
    random_hints(fh, seed);
    for (int round = 0; round < ROUNDS; round++) {
        for (int reads = 0; reads < 2; reads++) {
            deal d = deal_out(&random, ranks);
            int how = random_below(&random, 6);
            const char *datarep = random_below(&random, 2) ? "native" : "external32";
            for (int r = 0; r < ranks; r++)
                jobs[r] = random_job(&random, &d, r);
            if (!reads)
                model_write(&m, &d, jobs, ranks, round);
            set_view(fh, &d, rank, datarep);
            if (reads)
                read_round(fh, &m, &d, &jobs[rank], rank, how);
            else
                write_round(fh, &d, &jobs[rank], round, rank, how);
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
            if (rank == 0 && !reads)
                compare(path, &m);
        }
    }
    CHECK_OK(MPI_File_close(&fh));
    free(jobs);
    free(m.bytes);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), ranks = world_size();
    long long seed = argc > 1 ? atoll(argv[1]) : 1, count = argc > 2 ? atoll(argv[2]) : 1;
    for (long long s = seed; s < seed + count; s++) {
        if (rank == 0 && count > 1 && getenv("SEEDS_TOLD"))
            fprintf(stderr, "seed %lld\n", s);
        one_seed((uint64_t)s, rank, ranks);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
