// SPDX-License-Identifier: BSD-3-Clause
// Ports without MPI above them, workers as threads: what a flood makes a port hold, how few packets
// a stream costs, and what is left when senders go. What programs see is in test/mpi/csp_port.c.
#include "base/upcalls.h"
#include "csp/net/port.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/job.h"
#include "csp/net/remote.h"
#include "p2p/job_test.h"
#include "p2p/settings.h"
#include "p2p/worker.h"
#include "wire/wire.h"

static void run(uint32_t workers, uint32_t ranks, void (*entry)(void *rank))
{
    test_job_run(workers, ranks, "direct", entry, mlt_csp_end);
}

enum { ROOM = 10000, COUNT = 2000, LONG = 100000 };

// Everybody floods rank 0, with messages of all lengths up to the room, and one that is longer.
// Rank 0 takes one only now and then: it never holds more than the room of each sender, or one
// longer message each.
static void flood(void *rank)
{
    mlt_rank *me = rank;
    unsigned char *data = calloc(1, LONG);
    csp_port *port = me->world == 0 ? csp_port_new("flood", ROOM) : NULL;
    if (!port) {
        csp_target *target;
        CHECK(csp_target_at(0, "flood", &target, CSP_NEVER) == CSP_OK);
        for (size_t i = 0; i < COUNT; i++)
            CHECK(csp_send(target, data, i * i % ROOM) == CSP_OK);
        CHECK(csp_send(target, data, LONG) == CSP_OK);
        CHECK(csp_send(target, data, 1) == CSP_OK);
        csp_target_free(target);
    }
    uint64_t most = 0, count = (uint64_t)(me->worker->world_size - 1) * (COUNT + 2);
    size_t longs = 0;
    for (uint64_t i = 0; port && i < count; i++) {
        size_t bytes;
        CHECK(csp_receive(port, data, LONG, &bytes, NULL) == CSP_OK);
        if (bytes == LONG)
            longs++;
        if (i % 3 == 0)
            csp_yield();
        if (longs == 0 && port->held_most > most)
            most = port->held_most;
    }
    if (port) {
        CHECK(port->held == 0 && longs == me->worker->world_size - 1);
        CHECK(port->held_most <= (uint64_t)(me->worker->world_size - 1) * LONG);
        csp_port_free(port);
    }
    free(data);
}

// Without longer messages the bound is the room; and a stream costs few packets.
static void stream(void *rank)
{
    mlt_rank *me = rank;
    enum { MANY = 20000, BYTES = 100, WIDE = 100000 };
    char data[BYTES] = {0};
    csp_port *port = me->world == 0 ? csp_port_new("stream", WIDE) : NULL;
    if (!port) {
        csp_target *target;
        CHECK(csp_target_at(0, "stream", &target, CSP_NEVER) == CSP_OK);
        for (int i = 0; i < MANY; i++)
            CHECK(csp_send(target, data, sizeof data) == CSP_OK);
        csp_target_free(target);
        return;
    }
    for (uint32_t i = 0; i < MANY * (me->worker->world_size - 1); i++)
        CHECK(csp_receive(port, data, sizeof data, NULL, NULL) == CSP_OK);
    uint32_t senders = me->worker->world_size - 1;
    CHECK(port->held_most <= (uint64_t)WIDE * senders);
    // A packet for each quarter of the room; each sender may have asked for a last one.
    CHECK(me->worker->wire->sent <= senders * (MANY * BYTES / (WIDE / 4) + 20u));
    csp_port_free(port);
}

// A sender that leaves is forgotten, with its last message.
static void forgotten(void *rank)
{
    mlt_rank *me = rank;
    csp_port *port = csp_port_new("forget", 0);
    csp_target *target;
    for (int i = 0; i < 3; i++) {
        CHECK(csp_target_at(1 - me->world, "forget", &target, CSP_NEVER) == CSP_OK);
        CHECK(csp_send(target, &i, sizeof i) == CSP_OK);
        csp_target_free(target);
    }
    CHECK(csp_target_at(1 - me->world, "forget", &target, CSP_NEVER) == CSP_OK);
    CHECK(csp_send(target, NULL, 0) == CSP_OK);
    for (int i = 0, got; i < 3; i++)
        CHECK(csp_receive(port, &got, sizeof got, NULL, NULL) == CSP_OK && got == i);
    CHECK(csp_receive(port, NULL, 0, NULL, NULL) == CSP_OK);
    CHECK(port->senders.next == port->senders.prev && !mlt_list_empty(&port->senders));
    CHECK(csp_send(target, NULL, 0) == CSP_OK); // the other has looked at its senders, too
    CHECK(csp_receive(port, NULL, 0, NULL, NULL) == CSP_OK);
    csp_target_free(target);
    csp_port_free(port);
}

const mlt_upcall_table mlt_upcalls = {.packet = mlt_route_packet};

int main(void)
{
    char why[256];
    CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) == MLT_OK);
    run(2, 1, flood);
    run(4, 1, flood);
    run(2, 2, flood);
    run(2, 1, stream);
    run(3, 1, stream);
    run(2, 1, forgotten);
    return 0;
}
