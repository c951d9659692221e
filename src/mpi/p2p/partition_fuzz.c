// SPDX-License-Identifier: BSD-3-Clause
// Any packet about partitioned messages, from a process of the job, while the rank starts requests
// and makes partitions ready: what cannot be meant ends the process with a sentence, and nothing
// outside of the requests' memory is touched. Each case is some steps of at least six bytes. The
// first says what: a packet (kind, request, first, count, round, bytes, data), or a call of the rank.
#include <fuzz/fuzz.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/upcalls.h"
#include "boot/ctl.h"
#include "fiber/fiber.h"
#include "mpi/comm/comm.h"
#include "mpi/p2p/partition_int.h"
#include "mpi/self.h"
#include "type/build.h"

const mlt_upcall_table mlt_upcalls = {.packet = mlt_part_packet};

enum { PARTS = 70, BYTES = 12, REQUESTS = 4, OTHER = 1, STEP = 6 };

// Leaving by a fatal message leaves memory behind.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

// ---- what ends the process

static jmp_buf back;
_Noreturn void __wrap_mlt_fatal(const char *format, ...);
_Noreturn void __wrap_mlt_fatal(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fuzz_check_sentence(text, sizeof text);
    FUZZ_CHECK(!strstr(text, "internal fault"));
    longjmp(back, 1);
}

// ---- a worker with a send and three receives

typedef struct scene {
    mlt_job *job;
    mlt_boot boot;
    mlt_worker *worker;
    mlt_mpi_worker mpi;
    mlt_comm comm;
    mlt_type gaps;
    mlt_partreq *part[REQUESTS]; // ids 1 to 4
    void *memory[REQUESTS];      // of exactly the size that the request has
} scene;

static mlt_job *new_job(void)
{
    uint32_t of[] = {1, 1}, ranks[] = {1, 1}, apps[] = {0, 0};
    mlt_job_plan plan = {.procs = 2,
                         .workers_of_proc = of,
                         .ranks_a_worker = ranks,
                         .app_of_proc = apps,
                         .cores = 2,
                         .launched = true};
    mlt_job *job;
    int fd;
    char why[256];
    FUZZ_CHECK(mlt_job_new(&plan, &job, &fd, why, sizeof why) == MLT_OK);
    close(fd);
    return job;
}

static void add(scene *s, uint32_t id, bool sends, const mlt_type *type, uint64_t count)
{
    mlt_req *req = mlt_req_new(&s->worker->ranks[0]);
    mlt_partreq *part = calloc(1, sizeof *part);
    s->memory[id - 1] = calloc(1, count * (uint64_t)type->extent + !count);
    mlt_req_init(req, &s->worker->ranks[0], MLT_REQ_OTHER);
    mlt_req_message(req, s->memory[id - 1], count, type, 0, 0, OTHER, 0);
    req->done = true;
    req->flags = MLT_REQF_PERSISTENT | MLT_REQF_PART;
    req->extra = part;
    req->owner = &s->comm;
    *part = (mlt_partreq){.req = req,
                          .worker = s->worker,
                          .id = id,
                          .sends = sends,
                          .parts = 1,
                          .part_bytes = count * type->size,
                          .peer_world = OTHER,
                          .peer_worker = OTHER,
                          .setup.done = true,
                          .offer.type = type->code};
    mlt_pair *pair = mlt_pair_new(PARTS, id == REQUESTS ? 0 : BYTES, false, sends);
    pair->from = pair->to = req->buf;
    pair->from_type = pair->to_type = type;
    pair->room = part->part_bytes;
    pair->from_worker = pair->to_worker = OTHER;
    if (sends) {
        part->parts = PARTS;
        part->part_bytes = pair->part_bytes;
        part->per_part = part->part_bytes / type->size;
    }
    atomic_init(&part->pair, pair);
    mlt_table_add(&mlt_parts_of(s->worker)->table, mlt_hash_word(id), (uintptr_t)part);
    s->part[id - 1] = part;
}

static void begin(scene *s)
{
    static bool read;
    char why[256];
    if (!read)
        FUZZ_CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) ==
                   MLT_OK);
    read = true;
    s->job = new_job();
    s->boot = (mlt_boot){.job = s->job, .ctl = -1};
    FUZZ_CHECK(mlt_worker_new(&s->boot, 0, 1, &s->worker, why, sizeof why) == MLT_OK);
    mlt_sched_adopt(s->worker->sched, &s->worker->ranks[0]);
    s->worker->mpi = &s->mpi;
    FUZZ_CHECK(mlt_type_make_vector(&s->gaps, MLT_TYPE_BYTE, 2, 4, 8) == MLT_OK);
    add(s, 1, true, MLT_TYPE_BYTE, PARTS * BYTES);
    add(s, 2, false, MLT_TYPE_BYTE, PARTS * BYTES);
    add(s, 3, false, &s->gaps, PARTS * BYTES / 8 - 1); // too small, and cut inside of elements
    add(s, 4, false, MLT_TYPE_BYTE, 0);
}

// What a fatal message has interrupted stays as it is.
static void end(scene *s)
{
    mlt_worker_free(s->worker);
    mlt_parts_free(s->mpi.parts);
    mlt_job_close(s->job);
    mlt_type_unmake(&s->gaps);
    for (int i = 0; i < REQUESTS; i++) {
        mlt_partreq *part = s->part[i];
        mlt_pair_drop(part_pair(part));
        mlt_pair_drop(part->stale);
        free(part->early);
        free(part);
        free(s->memory[i]);
    }
}

// ---- steps

static void start(const scene *s, uint8_t which)
{
    mlt_req *req = s->part[which % REQUESTS]->req;
    if (req->done)
        mlt_part_request_start(req);
}

static void ready(const scene *s, uint8_t from, uint8_t count)
{
    mlt_partreq *part = s->part[0];
    const mlt_pair *pair = part_pair(part);
    uint32_t low = from % PARTS, high = low + count % (PARTS - low);
    for (uint32_t i = low; i <= high; i++)
        if (part->req->done || pair_bit(pair->ready, i, memory_order_relaxed))
            return;
    mlt_part_far_ready(part, low, high);
}

// Returns how many bytes of data it has taken.
static size_t send(const scene *s, const uint8_t *step, const uint8_t *data, size_t size)
{
    size_t bytes = step[5] < size ? step[5] : size;
    mlt_packet packet = {.kind = (uint16_t)(PART_START + step[0] % 8),
                         .object = step[1] % 8,
                         .word = (int8_t)step[2],
                         .src = step[4],
                         .dst = (int8_t)step[3]};
    if (packet.kind == PART_DATA && packet.dst > 0 && step[5] != 255)
        bytes = packet.object == REQUESTS ? 0 : (size_t)packet.dst * BYTES; // mostly what fits
    char *copy = calloc(1, bytes + 1); // its bounds are the sanitizer's
    memcpy(copy, data, bytes < size ? bytes : size);
    mlt_part_packet(s->worker, OTHER, &packet, copy, bytes);
    free(copy);
    return bytes < size ? bytes : size;
}

static void play(const scene *s, const uint8_t *data, size_t size)
{
    uint8_t step[STEP];
    while (size >= STEP) {
        fuzz_take(&data, &size, step, sizeof step);
        switch (step[0] >> 5) {
        case 0:
            start(s, step[1]);
            break;
        case 1:
            ready(s, step[1], step[2]);
            break;
        case 2:
            (void)mlt_worker_step(s->worker);
            break;
        default: {
            size_t taken = send(s, step, data, size);
            data += taken;
            size -= taken;
        }
        }
    }
    for (int i = 0; i < 4; i++)
        (void)mlt_worker_step(s->worker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static scene s; // not on a stack that longjmp forgets
    memset(&s, 0, sizeof s);
    begin(&s);
    if (setjmp(back) == 0)
        play(&s, data, size);
    end(&s);
    return 0;
}
