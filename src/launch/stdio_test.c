// SPDX-License-Identifier: BSD-3-Clause
// Standard streams between mpirun and an agent of another host, both in this process. The test is
// the frames' channel, the processes at the pipes, and the reader of mpirun's output.
#include "launch/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/array.h"
#include "base/unit_test.h"
#include "launch/hosts/relay.h"
#include "launch/loop.h"
#include "os/os.h"

// Process 0 is on mpirun's host; 1, and 2 with several ranks, are on the other.
enum { HEAD, FAR, PROCS = 3, SEVERAL = 2, STEP = 64 << 10 };

typedef struct parcel {
    mlt_frame frame;
    char *body;
} parcel;

static mlt_placement_proc procs[PROCS] = {{.host = HEAD, .first_rank = 0, .ranks = 1, .workers = 1},
                                          {.host = FAR, .first_rank = 1, .ranks = 1, .workers = 1},
                                          {.host = FAR, .first_rank = 2, .ranks = 4, .workers = 1}};
static mlt_placement_host hosts[2] = {{.host = {.name = "ape"}}, {.host = {.name = "bee"}}};
static const mlt_placement plan = {
    .procs = procs, .proc_count = PROCS, .workers = 3, .ranks = 6, .hosts = hosts, .host_count = 2};

static int loop, reader = -1, stdout_kept, stdin_kept; // reader: of what mpirun writes
static mlt_options options;
static mlt_stdio *head, *agent;
static parcel *parcels; // on their way, in order
static size_t parcel_count, parcel_room, on_the_way, most_on_the_way;
static int ends[PROCS][3]; // of the processes; -1: none

static void on_send(void *user, const mlt_frame *frame, char *body)
{
    CHECK(frame->to == (user == &head ? FAR : MLT_FRAME_HEAD));
    parcel *p = MLT_ARRAY_ADD(parcels, parcel_count, parcel_room);
    *p = (parcel){.frame = *frame, .body = malloc(frame->length + 1)};
    CHECK(p->body);
    if (frame->length)
        memcpy(p->body, body, frame->length);
    on_the_way += frame->length;
    most_on_the_way = on_the_way > most_on_the_way ? on_the_way : most_on_the_way;
}

static void deliver(void)
{
    for (size_t i = 0; i < parcel_count; i++) { // what is sent meanwhile comes behind
        parcel p = parcels[i];
        on_the_way -= p.frame.length;
        mlt_stdio_take(p.frame.to == MLT_FRAME_HEAD ? head : agent, &p.frame, p.body);
        free(p.body);
    }
    parcel_count = 0;
}

static void turn(int wait_ms)
{
    struct pollfd look = {loop, POLLIN, 0};
    if (poll(&look, 1, wait_ms) > 0)
        mlt_loop_turn();
    deliver();
}

// dir: mpirun's, in which output files are; NULL: its own.
static void open_agent(const char *dir)
{
    mlt_stdio_conf conf = {.options = &options,
                           .plan = &plan,
                           .send = on_send,
                           .host = FAR,
                           .agent = true,
                           .dir = dir,
                           .user = &agent};
    agent = mlt_stdio_new(&conf);
}

// Starts the processes of the other host.
static void open_both(int input)
{
    int out[2];
    CHECK(pipe2(out, O_CLOEXEC) == 0 && dup2(out[1], STDOUT_FILENO) == STDOUT_FILENO);
    CHECK(dup2(input, STDIN_FILENO) == STDIN_FILENO);
    close(out[1]);
    reader = out[0];
    CHECK(fcntl(reader, F_SETFL, O_NONBLOCK) == 0);
    mlt_stdio_conf conf = {.options = &options, .plan = &plan, .send = on_send, .user = &head};
    head = mlt_stdio_new(&conf);
    open_agent(NULL);
    for (uint32_t p = 1; p < PROCS; p++) {
        mlt_spawn spawn;
        char why[256];
        CHECK(mlt_stdio_prepare(agent, p, &spawn, why, sizeof why));
        for (int i = 0; i < 3; i++)
            ends[p][i] = spawn.streams[i].fd >= 0 ? dup(spawn.streams[i].fd) : -1;
        CHECK(ends[p][1] >= 0 && (ends[p][2] >= 0) == !options.merge);
        mlt_stdio_started(agent, p);
    }
    mlt_stdio_run(head);
}

static void close_ends(uint32_t proc)
{
    for (int i = 0; i < 3; i++)
        if (ends[proc][i] >= 0)
            close(ends[proc][i]);
    memset(ends[proc], -1, sizeof ends[proc]);
}

static void close_both(void)
{
    for (uint32_t p = 1; p < PROCS; p++)
        close_ends(p);
    mlt_stdio_drain(agent);
    while (!mlt_stdio_drained(agent))
        turn(100);
    deliver();
    mlt_stdio_host_ended(head, FAR);
    CHECK(mlt_stdio_finish(agent, false));
    CHECK(mlt_stdio_finish(head, false));
    head = agent = NULL;
    CHECK(dup2(stdout_kept, STDOUT_FILENO) >= 0 && dup2(stdin_kept, STDIN_FILENO) >= 0);
    options = (mlt_options){.gdb = -1, .stdin_rank = MLT_STDIN_NONE};
}

// All that mpirun has written so far, as a text.
static size_t hear(char *text, size_t room)
{
    size_t at = 0;
    for (int idle = 0; idle < 20 && at < room;) {
        turn(1);
        ssize_t n = read(reader, text + at, room - at);
        at += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        if (n == 0)
            break;
    }
    return at;
}

static void expect_heard(const char *wanted)
{
    char text[4096];
    size_t n = hear(text, sizeof text - 1);
    text[n] = 0;
    check_same_text("heard", text, wanted);
}

static void put(uint32_t proc, int stream, const char *text)
{
    CHECK(write(ends[proc][stream], text, strlen(text)) == (ssize_t)strlen(text));
}

static void test_plain(void)
{
    open_both(stdin_kept);
    CHECK(ends[1][0] >= 0);        // /dev/null
    put(1, 1, "Enter a number: "); // no end of a line, and there at once
    expect_heard("Enter a number: ");
    put(1, 1, "one\n");
    put(2, 1, "two\n");
    char text[64];
    size_t n = hear(text, sizeof text);
    CHECK(n == 8 && memmem(text, n, "one\n", 4) && memmem(text, n, "two\n", 4));
    close_both();
    CHECK(read(reader, text, sizeof text) == 0);
    close(reader);
}

static void test_labels(void)
{
    options.label = true;
    open_both(stdin_kept);
    put(1, 1, "one\ntw");
    put(2, 1, "[3] labelled by ");
    expect_heard("[1] one\n");
    put(2, 1, "itself\n");
    expect_heard("[3] labelled by itself\n");
    put(1, 1, "o");
    close_ends(1);
    expect_heard("[1] two\n");
    put(2, 1, "[4] cut");
    close_both();
    expect_heard("[4] cut");
    close(reader);
}

// A reader that does not read stops the process; nothing is lost, and memory is bounded.
static void test_flood(bool label)
{
    enum { BYTES = 20 << 20 };
    static char all[BYTES], heard[BYTES];
    size_t sent = 0, got = 0;
    options.label = label;
    options.merge = true;
    open_both(stdin_kept);
    most_on_the_way = 0;
    for (size_t i = 0; i < BYTES; i++)
        all[i] = label && i % 80 != 79 ? 'x' : label ? '\n' : (char)random64();
    CHECK(fcntl(ends[1][1], F_SETFL, O_NONBLOCK) == 0);
    for (int idle = 0; idle < 30;) {
        ssize_t n = write(ends[1][1], all + sent, BYTES - sent < STEP ? BYTES - sent : STEP);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        turn(1);
    }
    printf("%zu bytes were taken before the reader read, at most %zu in frames\n", sent,
           most_on_the_way);
    CHECK(sent < 3 << 20 && most_on_the_way <= mlt_relay_window(PROCS));
    put(2, 1, ""); // the other one is not held up by that
    uint64_t start = mlt_os_now_ns();
    while (sent < BYTES || got < sent) {
        if (sent < BYTES) {
            ssize_t n = write(ends[1][1], all + sent, BYTES - sent < STEP ? BYTES - sent : STEP);
            sent += n > 0 ? (size_t)n : 0;
        }
        turn(0);
        char piece[STEP];
        ssize_t n = read(reader, piece, sizeof piece);
        for (ssize_t i = 0; i < n; i++) { // without labels
            if (label && (got % 80 == 0 && piece[i] != 'x'))
                continue;
            heard[got++] = piece[i];
        }
    }
    printf("%d MB/s\n", (int)(BYTES * UINT64_C(1000) / (mlt_os_now_ns() - start)));
    CHECK(got == BYTES && memcmp(all, heard, BYTES) == 0);
    close_both();
    close(reader);
}

// While mpirun makes no room, more comes from another process, and finds that all has been read.
static void test_resumed(void)
{
    static char piece[STEP];
    open_both(stdin_kept);
    CHECK(fcntl(ends[1][1], F_SETFL, O_NONBLOCK) == 0);
    for (int idle = 0; idle < 30; turn(1))
        idle = write(ends[1][1], piece, sizeof piece) > 0 ? 0 : idle + 1;
    put(2, 1, "late");
    mlt_loop_turn(); // reads the pipe
    CHECK(parcel_count == 1);
    // What mpirun holds is 1 MiB and more: it writes, as the reader reads, when the frame comes.
    for (int i = 0; i < 1000; i++) {
        (void)!read(reader, piece, sizeof piece);
        deliver();
        if (i < 100)
            on_send(&agent,
                    &(mlt_frame){.type = MLT_FRAME_OUTPUT,
                                 .to = MLT_FRAME_HEAD,
                                 .about = 2,
                                 .value = 1,
                                 .length = 1},
                    "x");
    }
    size_t n = 0;
    for (int idle = 0; idle < 30; turn(1)) {
        ssize_t more = write(ends[1][1], piece, sizeof piece);
        n += more > 0 ? (size_t)more : 0;
        idle = more > 0 ? 0 : idle + 1;
        (void)!read(reader, piece, sizeof piece);
        if (n > 4 << 20)
            break;
    }
    CHECK(n > 4 << 20);
    mlt_stdio_hurry(head);
    close_both();
    close(reader);
}

// At the end: what is in the pipes comes, though something keeps them open, and however slowly the
// reader reads.
static void test_last_words(void)
{
    enum { BYTES = 60000 };
    static char all[BYTES], heard[BYTES + 1];
    open_both(stdin_kept);
    memset(all, 'y', BYTES);
    CHECK(write(ends[1][1], all, BYTES) == BYTES);
    put(2, 2, "");          // nothing
    mlt_stdio_drain(agent); // the ends stay open
    size_t got = 0;
    while (!mlt_stdio_drained(agent) || got < BYTES) {
        turn(1);
        ssize_t n = read(reader, heard, 100 < BYTES - got ? 100 : BYTES - got);
        got += n > 0 ? (size_t)n : 0;
    }
    close_both();
    close(reader);
}

// The reader goes: the process sees a broken pipe, as it would without mpirun.
static void test_broken(void)
{
    open_both(stdin_kept);
    close(reader);
    put(1, 1, "to nobody\n");
    for (int i = 0; i < 20; i++)
        turn(1);
    CHECK(write(ends[1][1], "x", 1) == -1 && errno == EPIPE);
    put(2, 1, "to nobody, either\n");
    close_both();
}

// An interrupted mpirun does not wait for a reader that does not read.
static void test_hurry(void)
{
    open_both(stdin_kept);
    CHECK(fcntl(ends[1][1], F_SETFL, O_NONBLOCK) == 0);
    static const char piece[STEP];
    for (int idle = 0; idle < 30; turn(1))
        idle = write(ends[1][1], piece, sizeof piece) > 0 ? 0 : idle + 1;
    mlt_stdio_hurry(head);
    deliver(); // or it hangs
    close_both();
    close(reader);
}

// A host is lost in the middle of a line.
static void test_lost_host(void)
{
    options.label = true;
    open_both(stdin_kept);
    put(1, 1, "the last wor");
    expect_heard("");
    mlt_stdio_host_ended(head, FAR);
    expect_heard("[1] the last wor\n");
    close_both();
    close(reader);
}

static void test_files(void)
{
    char folder[] = "/tmp/millet-io-XXXXXX", name[200], text[100];
    CHECK(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/%%h.%%r", folder);
    options.outfile = name;
    open_agent(NULL);
    mlt_spawn spawn;
    char why[256];
    CHECK(mlt_stdio_prepare(agent, 1, &spawn, why, sizeof why));
    snprintf(text, sizeof text, "%s/bee.1", folder);
    check_same_text("file", spawn.streams[1].file, text);
    CHECK(spawn.streams[2].fd >= 0 && !spawn.streams[2].file); // standard error travels
    mlt_stdio_started(agent, 1);
    CHECK(mlt_stdio_finish(agent, false));
    // Seen from mpirun's directory, wherever the agent is.
    char relative[] = "out.%r";
    options.outfile = relative;
    open_agent(folder);
    CHECK(mlt_stdio_prepare(agent, 1, &spawn, why, sizeof why));
    snprintf(text, sizeof text, "%s/out.1", folder);
    check_same_text("file", spawn.streams[1].file, text);
    mlt_stdio_started(agent, 1);
    CHECK(mlt_stdio_finish(agent, false));
    // A directory of Open MPI's layout has the ranks of this host only.
    char directory[] = "logs";
    options.outfile = NULL;
    options.output_directory = directory;
    open_agent(folder);
    for (int rank = 0; rank < 6; rank++) {
        snprintf(text, sizeof text, "%s/logs/1/rank.%d", folder, rank);
        CHECK((access(text, F_OK) == 0) == (rank > 0));
        (void)rmdir(text);
    }
    CHECK(mlt_stdio_finish(agent, false));
    snprintf(text, sizeof text, "%s/logs/1", folder);
    CHECK(rmdir(text) == 0);
    snprintf(text, sizeof text, "%s/logs", folder);
    CHECK(rmdir(text) == 0 && rmdir(folder) == 0);
    options = (mlt_options){.gdb = -1, .stdin_rank = MLT_STDIN_NONE};
}

// ---- Input

static void test_input(int64_t rank, size_t bytes)
{
    int in[2];
    char *all = malloc(bytes + 1), *got = malloc(bytes + 1);
    size_t sent = 0, came = 0;
    CHECK(all && got && pipe2(in, O_CLOEXEC) == 0 && fcntl(in[1], F_SETFL, O_NONBLOCK) == 0);
    for (size_t i = 0; i < bytes; i++)
        all[i] = (char)random64();
    options.stdin_rank = rank;
    open_both(in[0]);
    close(in[0]);
    uint32_t proc = rank == 1 || rank == MLT_STDIN_ALL ? 1 : 2;
    int from = ends[proc][0];
    CHECK(fcntl(from, F_SETFL, O_NONBLOCK) == 0);
    most_on_the_way = 0;
    for (int idle = 0; idle < 30; turn(1)) { // nobody reads
        ssize_t n = write(in[1], all + sent, bytes - sent < STEP ? bytes - sent : STEP);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
    }
    CHECK(sent < 3 << 20 && most_on_the_way <= 2 * mlt_relay_window(PROCS));
    for (ssize_t n = 1; n != 0;) {
        if (sent < bytes) {
            n = write(in[1], all + sent, bytes - sent < STEP ? bytes - sent : STEP);
            sent += n > 0 ? (size_t)n : 0;
        } else if (in[1] >= 0) {
            close(in[1]);
            in[1] = -1;
        }
        turn(1);
        n = read(from, got + came, bytes + 1 - came);
        CHECK(n >= 0 || errno == EAGAIN);
        came += n > 0 ? (size_t)n : 0;
        n = n < 0 ? 1 : n;
    }
    CHECK(came == bytes && memcmp(all, got, bytes) == 0);
    free(all);
    free(got);
    close_both();
    close(reader);
}

// Input that comes before the process is started.
static void test_input_early(void)
{
    options.stdin_rank = 1;
    open_agent(NULL);
    mlt_frame frame = {.type = MLT_FRAME_INPUT, .about = 1, .length = 5};
    mlt_stdio_take(agent, &frame, "early");
    frame.length = 0;
    mlt_stdio_take(agent, &frame, NULL);
    mlt_spawn spawn;
    char why[256], text[16] = "";
    CHECK(mlt_stdio_prepare(agent, 1, &spawn, why, sizeof why));
    int from = dup(spawn.streams[0].fd);
    mlt_stdio_started(agent, 1);
    CHECK(read(from, text, sizeof text) == 5 && strcmp(text, "early") == 0);
    CHECK(read(from, text, sizeof text) == 0);
    close(from);
    for (size_t i = 0; i < parcel_count; i++)
        free(parcels[i].body);
    parcel_count = on_the_way = 0;
    CHECK(mlt_stdio_finish(agent, false));
    options = (mlt_options){.gdb = -1, .stdin_rank = MLT_STDIN_NONE};
}

// The process does not want any input: mpirun stops reading.
static void test_input_unwanted(void)
{
    int in[2];
    static const char piece[STEP];
    CHECK(pipe2(in, O_CLOEXEC) == 0 && fcntl(in[1], F_SETFL, O_NONBLOCK) == 0);
    options.stdin_rank = 1;
    open_both(in[0]);
    close(in[0]);
    close(ends[1][0]);
    ends[1][0] = -1;
    size_t sent = 0;
    for (int idle = 0; idle < 30; turn(1)) {
        ssize_t n = write(in[1], piece, sizeof piece);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
    }
    CHECK(sent < 3 << 20);
    close_both();
    close(reader);
    close(in[1]);
}

// Frames that no agent of ours sends.
static void test_odd_frames(void)
{
    open_both(stdin_kept);
    static const char body[8] = "abcdefg";
    static const uint32_t types[] = {MLT_FRAME_OUTPUT, MLT_FRAME_INPUT, MLT_FRAME_ROOM};
    for (int i = 0; i < 3000; i++) {
        mlt_frame frame = {.type = types[below(3)],
                           .about = below(4) ? below(PROCS + 1) : UINT32_MAX,
                           .value = (int64_t)below(3) - 1, // 2 would be on the terminal
                           .length = below(2) ? 8 : below(8)};
        mlt_stdio_take(below(2) ? head : agent, &frame, body);
        if (i % 100 == 0)
            (void)hear((char[STEP]){0}, STEP);
    }
    close_both();
    close(reader);
}

int main(void)
{
    options = (mlt_options){.gdb = -1, .stdin_rank = MLT_STDIN_NONE};
    signal(SIGPIPE, SIG_IGN);
    stdout_kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    stdin_kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setvbuf(stdout, NULL, _IOFBF, STEP); // nothing of the test's own goes where mpirun writes
    loop = mlt_loop_new();
    memset(ends, -1, sizeof ends);
    test_plain();
    test_labels();
    test_flood(false);
    test_flood(true);
    test_resumed();
    test_last_words();
    test_broken();
    test_hurry();
    test_lost_host();
    test_files();
    test_input(1, 5 << 20);
    test_input(3, 100);
    test_input(2, 0);
    test_input(MLT_STDIN_ALL, 1000);
    test_input_early();
    test_input_unwanted();
    test_odd_frames();
    free(parcels);
    puts("all right");
    return 0;
}
