// SPDX-License-Identifier: BSD-3-Clause
// Any bytes from a process of another host: the connection is lost with a sentence, or what came are
// messages. The first byte says how many workers the receiving process has; the second, in how many
// parts the bytes arrive. A receive is posted, one is asked for (name 0x200000001), and a send waits
// for its answer (name 0x200000000).
#include <arpa/inet.h>
#include <fuzz/fuzz.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/upcalls.h"
#include "boot/ctl.h"
#include "os/tcp.h"
#include "p2p/p2p_int.h"
#include "p2p/settings.h"

static void note(mlt_worker *worker, uint32_t from, uint64_t what, uint64_t value)
{
    (void)worker, (void)from, (void)what, (void)value;
}

static void packet(mlt_worker *w, uint32_t from, const mlt_packet *p, const void *data,
                   uint64_t bytes)
{
    uint64_t sum = from + p->kind;
    for (uint64_t i = 0; i < bytes; i++)
        sum += ((const unsigned char *)data)[i];
    w->counts.eager += sum & 1; // so that it is read
}

const mlt_upcall_table mlt_upcalls = {.packet = packet, .note = note};

enum { OTHERS = 2, BYTES = 20000, MOST = 60000 };

static mlt_job *jobs[2];
static int listener;

static mlt_job *new_job(uint32_t workers)
{
    uint32_t of[] = {workers, OTHERS}, ranks[] = {1, 1}, apps[] = {0, 0}, hosts[] = {0, 1};
    mlt_job_plan plan = {.procs = 2,
                         .workers_of_proc = of,
                         .ranks_a_worker = ranks,
                         .app_of_proc = apps,
                         .host_of_proc = hosts,
                         .hosts = 2,
                         .identity = 1,
                         .cores = 2,
                         .launched = true};
    mlt_job *job;
    int fd;
    char why[256];
    FUZZ_CHECK(mlt_job_new(&plan, &job, &fd, why, sizeof why) == MLT_OK);
    close(fd);
    return job;
}

static void begin(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char why[256];
    if (jobs[0])
        return;
    FUZZ_CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) ==
               MLT_OK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    FUZZ_CHECK(bind(listener, (struct sockaddr *)&here, sizeof here) == 0 &&
               listen(listener, 16) == 0);
    jobs[0] = new_job(1);
    jobs[1] = new_job(2);
}

// A connection; one end goes into the control channel.
static int give_link(mlt_job *job, int ctl)
{
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    int one = socket(AF_INET, SOCK_STREAM, 0);
    FUZZ_CHECK(getsockname(listener, (struct sockaddr *)&to, &size) == 0);
    FUZZ_CHECK(connect(one, (struct sockaddr *)&to, sizeof to) == 0);
    int two = accept(listener, NULL, NULL);
    mlt_ctl_link link = {.proc = 1};
    FUZZ_CHECK(mlt_ctl_give_link(ctl, &link, two) == MLT_OK);
    mlt_job_link_came(job, 0);
    close(two);
    return one;
}

typedef struct requests {
    mlt_req send, posted, asked;
    unsigned char out[BYTES], in[3][BYTES];
} requests;

// What waits for the other process when the bytes come.
static void start(mlt_worker *w, requests *r)
{
    mlt_rank *me = &w->ranks[0];
    int32_t other = (int32_t)w->boot->job->ranks - 1;
    mlt_req_init(&r->send, me, MLT_REQ_SEND);
    mlt_req_message(&r->send, r->out, BYTES, MLT_TYPE_BYTE, 0, 0, other, 1);
    mlt_p2p_send(&r->send);
    mlt_req_init(&r->asked, me, MLT_REQ_RECV);
    mlt_req_message(&r->asked, r->in[0], BYTES, MLT_TYPE_BYTE, 0, 0, MLT_ANY_SOURCE, 2);
    mlt_p2p_recv(&r->asked);
    mlt_req_init(&r->posted, me, MLT_REQ_RECV);
    mlt_req_message(&r->posted, r->in[1], 100, MLT_TYPE_BYTE, 0, 0, MLT_ANY_SOURCE, MLT_ANY_TAG);
    slot_names names = {.sender = 1};
    mlt_wire_frame rts = {.in_slot = sizeof names,
                          .kind = MLT_WIRE_FRAME_MESSAGE,
                          .slot = {.kind = SLOT_RTS, .tag = 2, .src = other, .bytes = BYTES}};
    memcpy(rts.slot.payload, &names, sizeof names);
    const char *fault = NULL;
    mlt_p2p_arrived_far(w, mlt_wire_peer(w->wire, (uint32_t)other), &rts, &fault);
    FUZZ_CHECK(!fault && r->asked.stage == STAGE_MOVING);
    mlt_p2p_recv(&r->posted);
}

// What the process has told: perhaps that the connection is lost, once.
static void check_told(int ctl)
{
    struct {
        mlt_ctl head;
        char body[1000];
    } said;
    int lost = 0;
    while (recv(ctl, &said, sizeof said, MSG_DONTWAIT) > 0) {
        if (said.head.type != MLT_CTL_LOST)
            continue;
        said.body[said.head.length] = 0;
        fuzz_check_sentence(said.body, sizeof said.body);
        lost++;
    }
    FUZZ_CHECK(lost <= 1);
}

static void feed(mlt_worker *w, int fd, const uint8_t *data, size_t size, uint32_t parts)
{
    for (uint32_t i = 0; i < parts; i++) {
        size_t from = size * i / parts, to = size * (i + 1) / parts;
        if (to > from)
            (void)!send(fd, data + from, to - from, MSG_DONTWAIT | MSG_NOSIGNAL);
        for (int n = 0; n < 4; n++)
            (void)mlt_worker_step(w);
    }
    shutdown(fd, SHUT_WR);
    for (int n = 0; n < 40; n++)
        (void)mlt_worker_step(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t how[2];
    int ctl[2];
    char why[256];
    begin();
    fuzz_take(&data, &size, how, sizeof how);
    mlt_job *job = jobs[how[0] % 2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ctl) == 0);
    mlt_boot boot = {.job = job, .ctl = ctl[0]};
    mlt_worker *w;
    FUZZ_CHECK(mlt_worker_new(&boot, 0, 1, &w, why, sizeof why) == MLT_OK);
    mlt_sched_adopt(w->sched, &w->ranks[0]);
    requests *r = calloc(1, sizeof *r);
    start(w, r);
    int fd = give_link(job, ctl[1]);
    feed(w, fd, data, size < MOST ? size : MOST, 1 + how[1] % 8);
    check_told(ctl[1]);
    mlt_os_tcp_drop(fd);
    for (mlt_list_node *l; (l = w->ranks[0].unexpected.all.next) != &w->ranks[0].unexpected.all;) {
        mlt_msg *msg = mlt_container_of(l, mlt_msg, all);
        mlt_match_unhold(&w->ranks[0], msg);
        mlt_p2p_drop(w, msg);
    }
    mlt_worker_free(w);
    free(r);
    close(ctl[0]);
    close(ctl[1]);
    return 0;
}
