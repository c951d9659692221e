// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "boot/recorder.h"

enum { SEND = 1, RECV, BARRIER, TEST, BCAST, BAD };

static const char *name(uint16_t fn, uint8_t *holds)
{
    static const struct {
        const char *name;
        uint8_t holds;
    } functions[] = {[SEND] = {"MPI_Send", MLT_RECORD_TO | MLT_RECORD_TAG | MLT_RECORD_BYTES},
                     [RECV] = {"MPI_Recv", MLT_RECORD_FROM | MLT_RECORD_TAG | MLT_RECORD_BYTES},
                     [BARRIER] = {"MPI_Barrier", 0},
                     [TEST] = {"MPI_Test", MLT_RECORD_TIMES},
                     [BCAST] = {"MPI_Bcast", MLT_RECORD_ROOT},
                     [BAD] = {"a\nb", 0}};
    *holds = functions[fn].holds;
    return functions[fn].name;
}

// One process of `workers` workers with `ranks` ranks each.
static mlt_job *make(uint32_t workers, uint32_t ranks, mlt_placement *plan)
{
    static mlt_placement_proc proc;
    static mlt_placement_host host;
    const uint32_t app = 0;
    proc = (mlt_placement_proc){.workers = workers, .ranks = workers * ranks};
    *plan = (mlt_placement){.procs = &proc,
                            .proc_count = 1,
                            .workers = workers,
                            .ranks = workers * ranks,
                            .hosts = &host,
                            .host_count = 1};
    mlt_job_plan wanted = {.procs = 1,
                           .workers_of_proc = &workers,
                           .ranks_a_worker = &ranks,
                           .app_of_proc = &app,
                           .cores = 2};
    mlt_job *job;
    int fd;
    char why[256];
    if (mlt_job_new(&wanted, &job, &fd, why, sizeof why) != MLT_OK)
        exit(1);
    return job;
}

static mlt_recorder_head *record(mlt_job *job, uint32_t worker, mlt_recorder_mode mode)
{
    return mlt_recorder_begin(job, worker, mode, name, BAD + 1);
}

static void send(mlt_recorder_head *r, int32_t rank, int32_t peer, int32_t tag)
{
    mlt_recorder_put(r, SEND, rank, peer, tag, 0, 2, 4);
}

// Without times, which differ each time.
static char *without_times(const char *text)
{
    char *plain = strdup(text), *to = plain;
    for (const char *from = text; *from; from++) {
        if (*from == '[')
            from = strstr(from, "ago] ") + strlen("ago] ");
        *to++ = *from;
    }
    *to = '\0';
    return plain;
}

static void expect(const mlt_text *text, const char *wanted)
{
    char *plain = without_times(mlt_text_so_far(text));
    if (strcmp(plain, wanted) != 0)
        fprintf(stderr, "is:     %s\nwanted: %s\n", plain, wanted);
    CHECK(strcmp(plain, wanted) == 0);
    free(plain);
}

static void test_words(void)
{
    mlt_placement plan;
    mlt_job *job = make(1, 1, &plan);
    mlt_recorder_head *r = record(job, 0, MLT_RECORDER_ON);
    mlt_text text = {0};
    mlt_calls_of_proc(&text, job, &plan, 0, -1);
    expect(&text, ""); // nothing was called
    mlt_recorder_put(r, BARRIER, 0, 0, 0, 8 * 5, 0, 0);
    mlt_calls_of_host(&text, job, &plan, 0);
    expect(&text, ""); // where a rank is, the hang report says
    mlt_calls_of_proc(&text, job, &plan, 0, 0);
    expect(&text, "rank 0's last calls: MPI_Barrier, communicator #5\n");
    CHECK(strstr(text.text, " ago] MPI_Barrier") != NULL);
    mlt_text_free(&text);
    mlt_recorder_put(r, RECV, 0, -1, -2, 8, 1024, 4);
    send(r, 0, -3, 7);
    for (int i = 0; i < 1234; i++)
        mlt_recorder_put_again(r, TEST, 0);
    mlt_recorder_put(r, BCAST, 0, 3, 0, 0, 0, 0);
    mlt_calls_of_host(&text, job, &plan, 0);
    expect(&text,
           "rank 0's last calls: MPI_Barrier, communicator #5; MPI_Recv from any rank, any tag, "
           "MPI_COMM_SELF (4 KiB); "
           "MPI_Send to MPI_PROC_NULL, tag 7 (8 bytes); MPI_Test x 1,234; MPI_Bcast root 3\n");
    mlt_text_free(&text);
    mlt_calls_of_proc(&text, job, &plan, 0, 1);
    expect(&text, ""); // that rank is not here
    mlt_text_free(&text);
    mlt_job_close(job);
}

// The ring holds the last 32; what repeats is told once. Two of them have times, at which a row ends.
static void test_rows(void)
{
    mlt_placement plan;
    mlt_job *job = make(1, 1, &plan);
    mlt_recorder_head *r = record(job, 0, MLT_RECORDER_ON);
    mlt_text text = {0};
    for (int i = 0; i < 1000; i++) {
        send(r, 0, 1, 7);
        mlt_recorder_put(r, RECV, 0, 1, 8, 0, 0, 0);
    }
    mlt_calls_of_host(&text, job, &plan, 0);
    static const char pair[] =
        "(MPI_Send to 1, tag 7 (8 bytes); MPI_Recv from 1, tag 8 (0 bytes)) x 8";
    char wanted[256];
    snprintf(wanted, sizeof wanted, "rank 0's last calls: %s; %s\n", pair, pair);
    expect(&text, wanted);
    CHECK(strncmp(text.text, "rank 0's last calls: [", 22) == 0);
    mlt_text_free(&text);
    mlt_job_close(job);
}

static void test_ranks(void)
{
    mlt_placement plan;
    mlt_job *job = make(2, 20, &plan);
    mlt_recorder_head *r[2] = {record(job, 0, MLT_RECORDER_ON), record(job, 1, MLT_RECORDER_ON)};
    mlt_text text = {0};
    for (int32_t i = 0; i < 10; i++) {
        send(r[0], 19 - i, i, 1);
        send(r[0], 19 - i, i, 2);
        send(r[1], 20 + i, i, 1);
        send(r[1], 20 + i, i, 2);
    }
    mlt_calls_of_host(&text, job, &plan, 0);
    CHECK(strncmp(text.text, "rank 10's last calls: ", 22) == 0);
    CHECK(strstr(text.text, "\nrank 25's last calls: ") && !strstr(text.text, "rank 26's"));
    CHECK(strstr(text.text, "\nand those of 4 more ranks; mpirun --recorder all shows them\n"));
    mlt_text_free(&text);
    mlt_calls_of_proc(&text, job, &plan, 0, -1);
    CHECK(strstr(text.text, "\nrank 13's") && strstr(text.text, "\nand those of 16 more ranks"));
    mlt_text_free(&text);
    mlt_calls_of_proc(&text, job, &plan, 0, 29);
    expect(
        &text,
        "rank 29's last calls: MPI_Send to 9, tag 1 (8 bytes); MPI_Send to 9, tag 2 (8 bytes)\n");
    mlt_text_free(&text);
    (void)record(job, 0, MLT_RECORDER_ALL);
    mlt_calls_of_host(&text, job, &plan, 0);
    CHECK(strstr(text.text, "\nrank 29's") && !strstr(text.text, "more ranks"));
    mlt_text_free(&text);
    mlt_job_close(job);
}

static void test_damage(void)
{
    mlt_placement plan;
    mlt_job *job = make(1, 2, &plan);
    mlt_recorder_head *r = record(job, 0, MLT_RECORDER_ON);
    mlt_text text = {0};
    mlt_recorder_put(r, BAD, 0, 0, 0, 0, 0, 0);     // a name that would break the line
    mlt_recorder_put(r, BAD + 1, 0, 0, 0, 0, 0, 0); // no function
    mlt_recorder_put(r, 0xffff, 0, 0, 0, 0, 0, 0);  // nor this
    mlt_recorder_put(r, SEND, 2, 0, 0, 0, 0, 0);    // a rank of another worker
    mlt_recorder_put(r, SEND, -5, 0, 0, 0, 0, 0);   // no rank
    mlt_calls_of_proc(&text, job, &plan, 0, -1);
    expect(&text, "rank 0's last calls: a?b\n");
    mlt_text_free(&text);
    r->next = UINT64_MAX - 3; // nowhere: the oldest is found by the place in the ring alone
    mlt_calls_of_proc(&text, job, &plan, 0, -1);
    expect(&text, "rank 0's last calls: a?b\n");
    mlt_text_free(&text);
    mlt_job_close(job);
}

int main(void)
{
    test_words();
    test_rows();
    test_ranks();
    test_damage();
    puts("all right");
    return 0;
}
