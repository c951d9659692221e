// SPDX-License-Identifier: BSD-3-Clause
// A producer puts frames of random lengths, some with data that lie elsewhere, into a small queue. A
// consumer takes them frame by frame, or as bytes in arbitrary portions. Run under TSan too.
#include "wire/tcp/spsc.h"

#include <pthread.h>
#include <sys/uio.h>

#include "base/unit_test.h"
#include "os/os.h"
#include "wire/frame.h"

enum { SIZE = 1024, MOST = SIZE / 2, FRAMES = 40000, FAR_BYTES = 777 };

typedef struct job {
    mlt_spsc *queue;
    bool references;
    uint64_t seed;
} job;

static unsigned char elsewhere[FAR_BYTES + 256];

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static unsigned char pattern(uint64_t frame, uint64_t i)
{
    return (unsigned char)(frame * 31 + i * 7 + 1);
}

// Frame n, as both sides know it: its length, and that of its data elsewhere.
static void shape(uint64_t *seed, bool references, uint64_t *bytes, uint64_t *far)
{
    *bytes = 8 + next_random(seed) % (MOST / 8) * 8;
    *far = references && next_random(seed) % 4 == 0 ? 1 + next_random(seed) % FAR_BYTES : 0;
}

static void *produce(void *arg)
{
    job *j = arg;
    uint64_t seed = j->seed, bytes, far;
    uint64_t last = 0;
    for (uint64_t n = 0; n < FRAMES; n++) {
        shape(&seed, j->references, &bytes, &far);
        unsigned char *room;
        for (;;) {
            while (!(room = mlt_spsc_reserve(j->queue, bytes)))
                mlt_os_yield();
            for (uint64_t i = 0; i < bytes; i++)
                room[i] = pattern(n, i);
            if (!far) {
                mlt_spsc_publish(j->queue, bytes);
                break;
            }
            last = mlt_spsc_publish_reference(j->queue, bytes, elsewhere + n % 256, far);
            if (last)
                break;
            mlt_os_yield();
        }
    }
    while (!mlt_spsc_is_empty(j->queue) || !mlt_spsc_has_left(j->queue, last))
        mlt_os_yield();
    return NULL;
}

static void take_frames(job *j)
{
    uint64_t seed = j->seed, bytes, far;
    for (uint64_t n = 0; n < FRAMES; n++) {
        const unsigned char *frame;
        shape(&seed, false, &bytes, &far);
        while (!(frame = mlt_spsc_peek(j->queue)))
            mlt_os_yield();
        for (uint64_t i = 0; i < bytes; i++)
            CHECK(frame[i] == pattern(n, i));
        mlt_spsc_consume(j->queue, bytes);
    }
}

// Where the bytes that come next belong.
typedef struct place {
    uint64_t seed, n, at, bytes, far;
} place;

static void check_byte(place *p, unsigned char byte)
{
    uint64_t all = p->bytes + mlt_wire_frame_pad(p->far), at = p->at - p->bytes;
    if (p->at < p->bytes)
        CHECK(byte == pattern(p->n, p->at));
    else
        CHECK(byte == (at < p->far ? elsewhere[p->n % 256 + at] : 0));
    if (++p->at == all) {
        p->at = 0;
        p->n++;
        shape(&p->seed, true, &p->bytes, &p->far);
    }
}

static void take_bytes(job *j)
{
    place p = {.seed = j->seed};
    uint64_t portions = 99;
    shape(&p.seed, true, &p.bytes, &p.far);
    while (p.n < FRAMES) {
        struct iovec pieces[5];
        uint64_t all = 0, most = next_random(&portions) % 3000 + 1;
        uint32_t count = mlt_spsc_pieces(j->queue, pieces, 5);
        for (uint32_t i = 0; i < count; i++)
            for (size_t k = 0; k < pieces[i].iov_len && all < most; k++, all++)
                check_byte(&p, ((const unsigned char *)pieces[i].iov_base)[k]);
        if (all)
            (void)mlt_spsc_wrote(j->queue, all);
        else
            mlt_os_yield();
    }
}

static void run(bool references)
{
    job j = {.queue = mlt_spsc_new(SIZE), .references = references, .seed = 7};
    pthread_t producer;
    CHECK(j.queue && pthread_create(&producer, NULL, produce, &j) == 0);
    if (references)
        take_bytes(&j);
    else
        take_frames(&j);
    CHECK(pthread_join(producer, NULL) == 0 && mlt_spsc_is_empty(j.queue));
    mlt_spsc_free(j.queue);
}

// What nobody will read is dropped, and whoever waits for room is to be told.
static void drops(void)
{
    mlt_spsc *queue = mlt_spsc_new(SIZE);
    const uint64_t first = UINT32_MAX - UINT64_C(5); // more references than 32 bits count
    atomic_store(&queue->reference_head, first);
    atomic_store(&queue->reference_tail, first);
    queue->reference_taken = first;
    for (int round = 0; round < 10; round++) {
        memset(mlt_spsc_reserve(queue, 400), 1, 400);
        mlt_spsc_publish(queue, 400);
        memset(mlt_spsc_reserve(queue, 104), 1, 104);
        uint64_t ticket = mlt_spsc_publish_reference(queue, 104, elsewhere, 13);
        CHECK(ticket == first + (uint64_t)round + 1 && !mlt_spsc_has_left(queue, ticket));
        atomic_store(&queue->starved, round % 2);
        CHECK(mlt_spsc_wrote(queue, 450) == (round % 2));
        CHECK(mlt_spsc_drop(queue) == (round % 2));
        CHECK(mlt_spsc_is_empty(queue) && mlt_spsc_has_left(queue, ticket));
    }
    mlt_spsc_free(queue);
}

int main(void)
{
    for (size_t i = 0; i < sizeof elsewhere; i++)
        elsewhere[i] = (unsigned char)(i * 13 + 5);
    drops();
    run(false);
    run(true);
    return 0;
}
