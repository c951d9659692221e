// SPDX-License-Identifier: BSD-3-Clause
// A producer and a consumer thread push numbered messages of random sizes through small rings; also
// the sleep handshake (attended, starved), which loses no wake-up. Run under TSan too.
#include "wire/ring.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "os/os.h"

typedef struct job {
    void *memory;
    uint32_t slots, data_bytes, most;
    uint64_t messages;
    uint64_t seed;
    _Atomic uint32_t consumer_asleep, producer_asleep;
    uint64_t sleeps;
} job;

static bool membarrier; // set before the threads start
static uint64_t share = 1;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static unsigned char pattern(uint64_t message, uint64_t i)
{
    return (unsigned char)(message * 31 + i * 7 + 1);
}

static void wake(_Atomic uint32_t *word)
{
    if (atomic_exchange(word, 0))
        mlt_os_futex_wake(word, 1);
}

static void *produce(void *arg)
{
    job *j = arg;
    mlt_ring_tx tx;
    mlt_ring_open_tx(&tx, j->memory, j->slots, j->data_bytes);
    uint64_t seed = j->seed;
    for (uint64_t m = 0; m < j->messages; m++) {
        uint64_t bytes = next_random(&seed) % (j->most + 1);
        uint32_t units = bytes > MLT_SLOT_PAYLOAD ? mlt_ring_units(bytes) : 0;
        unsigned char *data = NULL;
        mlt_slot *slot;
        while (!(slot = mlt_ring_reserve(&tx, units, &data))) {
            atomic_store(&tx.ring->starved, 1);
            atomic_store(&j->producer_asleep, 1);
            atomic_thread_fence(memory_order_seq_cst);
            uint32_t take = units ? mlt_ring_take(tx.unit_tail, units, tx.units) : 0;
            if (!mlt_ring_refresh(&tx, take)) {
                mlt_os_futex_wait(&j->producer_asleep, 1, -1);
            }
            atomic_store(&j->producer_asleep, 0);
            atomic_store(&tx.ring->starved, 0);
        }
        slot->bytes = bytes;
        slot->tag = (int32_t)m;
        unsigned char *to = units ? data : slot->payload;
        for (uint64_t i = 0; i < bytes; i++)
            to[i] = pattern(m, i);
        mlt_ring_publish(&tx, slot);
        if (mlt_ring_is_cold(&tx, membarrier))
            wake(&j->consumer_asleep);
    }
    return NULL;
}

static void consume(job *j)
{
    mlt_ring_rx rx;
    mlt_ring_open_rx(&rx, j->memory, j->slots, j->data_bytes);
    uint64_t seed = j->seed;
    for (uint64_t m = 0; m < j->messages; m++) {
        const mlt_slot *slot;
        while (!(slot = mlt_ring_peek(&rx))) {
            if (mlt_ring_give_back(&rx))
                wake(&j->producer_asleep);
            atomic_store(&j->consumer_asleep, 1);
            mlt_ring_attend(&rx, false);
            if (membarrier)
                CHECK(mlt_os_barrier() == MLT_OK);
            else
                atomic_thread_fence(memory_order_seq_cst);
            if (!mlt_ring_peek(&rx)) {
                mlt_os_futex_wait(&j->consumer_asleep, 1, -1);
                j->sleeps++;
            }
            atomic_store(&j->consumer_asleep, 0);
            mlt_ring_attend(&rx, true);
        }
        uint64_t bytes = next_random(&seed) % (j->most + 1);
        CHECK(slot->bytes == bytes && slot->tag == (int32_t)m);
        uint32_t units = bytes > MLT_SLOT_PAYLOAD ? mlt_ring_units(bytes) : 0;
        const unsigned char *from = units ? mlt_ring_payload(&rx, units) : slot->payload;
        for (uint64_t i = 0; i < bytes; i++)
            CHECK(from[i] == pattern(m, i));
        if (mlt_ring_consume(&rx, units))
            wake(&j->producer_asleep);
    }
    CHECK(!mlt_ring_peek(&rx));
}

static void run(uint32_t slots, uint32_t data_bytes, uint32_t most, uint64_t messages,
                uint64_t seed)
{
    job j = {.slots = slots,
             .data_bytes = data_bytes,
             .most = most,
             .messages = messages / share,
             .seed = seed};
    uint64_t size = mlt_ring_size(slots, data_bytes);
    j.memory = aligned_alloc(MLT_LINE, (size + MLT_LINE - 1) / MLT_LINE * MLT_LINE);
    CHECK(j.memory);
    memset(j.memory, 0, size);
    pthread_t producer;
    CHECK(pthread_create(&producer, NULL, produce, &j) == 0);
    consume(&j);
    CHECK(pthread_join(producer, NULL) == 0);
    free(j.memory);
}

static void all(void)
{
    run(8, 4096, 8, 100000, 1);   // wraps often, inline only
    run(8, 4096, 1024, 50000, 2); // data wraps with skips
    run(64, 16384, 4096, 20000, 3);
    run(256, 65536, 40, 200000, 4); // around the inline limit
    run(256, 65536, 16384, 5000, 5);
    for (uint64_t seed = 10; seed < 30; seed++)
        run(16, 8192, 2000, 2000, seed);
}

// An argument divides the number of messages: under a sanitizer, where each takes a hundred times
// as long, fewer go through the same shapes.
int main(int argc, char **argv)
{
    share = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    all();
    membarrier = mlt_os_barrier_join() == MLT_OK;
    if (membarrier)
        all();
    return 0;
}
