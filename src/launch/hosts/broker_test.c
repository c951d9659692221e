// SPDX-License-Identifier: BSD-3-Clause
// Brokers of several hosts in one process: their sockets are real, their addresses those of this
// machine.
#include "launch/hosts/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "boot/ctl.h"
#include "launch/loop.h"
#include "net/refuse_test.h"
#include "net/sides_test.h"
#include "os/tcp.h"

enum { HOSTS = 3, MOST_CONNECTIONS = 64 };

typedef struct made {
    uint32_t host, process;
    mlt_ctl_link link;
    int fd;
} made;

static int loop;
static made connections[MOST_CONNECTIONS]; // the first ones
static uint32_t link_count, failed_count;
static bool keeps;    // descriptors; else they are closed
static char *failure; // the last text
static uint32_t failure_of[2];
static mlt_broker *brokers[HOSTS];
static uint32_t cards_wanted;

static void on_link(void *user, uint32_t process, const mlt_ctl_link *link, int fd)
{
    uint32_t host = (uint32_t)((mlt_broker **)user - brokers);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && fcntl(fd, F_GETFL) & O_NONBLOCK);
    if (link_count < MOST_CONNECTIONS)
        connections[link_count] = (made){host, process, *link, fd};
    link_count++;
    if (!keeps)
        mlt_os_tcp_drop(fd); // or the system would keep its port for a minute
}

static void on_failed(void *user, uint32_t process, uint32_t peer, const char *text)
{
    free(failure);
    failure = strdup(text);
    failure_of[0] = process;
    failure_of[1] = peer;
    failed_count++;
}

static void on_card_wanted(void *user, uint32_t host)
{
    CHECK(host < HOSTS && &brokers[host] != user);
    cards_wanted++;
}

// `a_host` processes on each of `hosts`, which take turns.
static mlt_broker_conf conf_of(uint32_t host, uint32_t hosts, uint32_t a_host)
{
    static uint32_t host_of[4096];
    for (uint32_t i = 0; i < hosts * a_host; i++)
        host_of[i] = i % hosts;
    return (mlt_broker_conf){.host_of = host_of,
                             .procs = hosts * a_host,
                             .hosts = hosts,
                             .host = host,
                             .job = 42,
                             .key = &key,
                             .name = host == 0   ? "ape"
                                     : host == 1 ? "bee"
                                                 : "cat",
                             .gone_ms = GONE_MS,
                             .link = on_link,
                             .failed = on_failed,
                             .card_wanted = on_card_wanted,
                             .user = &brokers[host]};
}

static void open_brokers(uint32_t hosts, uint32_t a_host, bool encrypt)
{
    link_count = failed_count = 0;
    keeps = true;
    for (uint32_t i = 0; i < hosts; i++) {
        mlt_broker_conf conf = conf_of(i, hosts, a_host);
        conf.encrypt = encrypt;
        CHECK(mlt_broker_new(&brokers[i], &conf, why, sizeof why) == MLT_OK);
    }
}

static void learn(uint32_t to, uint32_t of)
{
    uint8_t card[MLT_CARD_BYTES];
    size_t size = mlt_broker_card(brokers[of], card);
    CHECK(mlt_broker_learn(brokers[to], of, card, size, why, sizeof why) == MLT_OK);
}

static void learn_all(uint32_t hosts)
{
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j)
                learn(i, j);
}

static void close_brokers(void)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        mlt_broker_free(brokers[i]);
        brokers[i] = NULL;
    }
    for (uint32_t i = 0; keeps && i < link_count && i < MOST_CONNECTIONS; i++)
        close(connections[i].fd);
}

static void want(uint32_t host, uint32_t process, uint32_t peer)
{
    CHECK(mlt_broker_want(brokers[host], process, peer) == MLT_OK);
}

static void until_connections(uint32_t count)
{
    while (link_count < count && failed_count == 0)
        mlt_loop_turn();
    CHECK(failed_count == 0);
}

static void turn_if_ready(int wait_ms)
{
    struct pollfd look = {loop, POLLIN, 0};
    if (poll(&look, 1, wait_ms) > 0)
        mlt_loop_turn();
}

// Whatever happens in so much time.
static void quiet_for(int ms)
{
    uint64_t end = mlt_os_now_ns() + (uint64_t)ms * 1000000;
    for (uint64_t now; (now = mlt_os_now_ns()) < end;)
        turn_if_ready((int)((end - now) / 1000000) + 1);
}

static const made *link_to(uint32_t host, uint32_t process, uint32_t peer)
{
    for (uint32_t i = 0; i < link_count; i++)
        if (connections[i].host == host && connections[i].process == process &&
            connections[i].link.proc == peer)
            return &connections[i];
    CHECK(!"a link");
    return NULL;
}

// What one end says the other hears.
static void check_joined(const made *a, const made *b)
{
    char text[8] = "";
    CHECK(write(a->fd, "hello", 5) == 5);
    struct pollfd look = {b->fd, POLLIN, 0};
    CHECK(poll(&look, 1, 5000) == 1 && read(b->fd, text, sizeof text) == 5);
    CHECK(strcmp(text, "hello") == 0);
}

static void test_pairs(bool encrypt)
{
    static const mlt_key none;
    mlt_greet_types types = mlt_greet_types_here();
    int before = descriptors();
    open_brokers(3, 2, encrypt); // processes 0 and 3 are on host 0, 1 and 4 on 1, 2 and 5 on 2
    learn_all(3);
    want(0, 0, 4);
    want(0, 3, 5);
    want(0, 3, 5); // twice
    want(2, 5, 1);
    until_connections(6);
    quiet_for(50);
    CHECK(link_count == 6);
    check_joined(link_to(0, 0, 4), link_to(1, 4, 0));
    check_joined(link_to(2, 5, 3), link_to(0, 3, 5));
    check_joined(link_to(1, 1, 5), link_to(2, 5, 1));
    const made *a = link_to(0, 0, 4), *b = link_to(1, 4, 0);
    CHECK(memcmp(a->link.send_key, b->link.receive_key, MLT_KEY_BYTES) == 0);
    CHECK((memcmp(a->link.send_key, &none, MLT_KEY_BYTES) != 0) == encrypt);
    CHECK(a->link.encrypts == encrypt && memcmp(a->link.types, &types, MLT_GREET_TYPES) == 0);
    want(1, 4, 0); // it has one
    quiet_for(50);
    CHECK(link_count == 6);
    close_brokers();
    CHECK(descriptors() == before);
}

// Both want each other: each side gets one or two connections, and as many as the other.
static void test_crossing(void)
{
    uint32_t twice = 0;
    for (int round = 0; round < 60; round++) {
        open_brokers(2, 1, false);
        learn_all(2);
        want(0, 0, 1);
        for (int i = 0; i < round % 6; i++) // the first has a start
            turn_if_ready(1);
        want(1, 1, 0);
        until_connections(2);
        quiet_for(5);
        uint32_t of[2] = {0, 0};
        for (uint32_t i = 0; i < link_count; i++)
            of[connections[i].host]++;
        CHECK(of[0] == of[1] && of[0] >= 1 && of[0] <= 2);
        twice += of[0] == 2;
        check_joined(&connections[0], &connections[1]);
        close_brokers();
    }
    printf("crossing dials: both were complete in %u of 60\n", twice);
}

// The same with a process each, so that the two are really at work at the same time. Both count
// their connections.
static void test_crossing_processes(void)
{
    enum { EACH = 100 };
    int there[2], back[2];
    uint8_t cards[2][MLT_CARD_BYTES];
    uint32_t counts[2];
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    fflush(stdout);
    pid_t child = fork();
    uint32_t me = child == 0, other = 1 - me;
    int in = me ? there[0] : back[0], out = me ? back[1] : there[1];
    loop = mlt_loop_new();
    link_count = failed_count = 0;
    keeps = false;
    mlt_broker_conf conf = conf_of(me, 2, EACH);
    CHECK(mlt_broker_new(&brokers[me], &conf, why, sizeof why) == MLT_OK);
    (void)mlt_broker_card(brokers[me], cards[me]);
    CHECK(write(out, cards[me], MLT_CARD_BYTES) == MLT_CARD_BYTES);
    CHECK(read(in, cards[other], MLT_CARD_BYTES) == MLT_CARD_BYTES);
    size_t size = mlt_broker_card(brokers[me], cards[me]); // both cards have the same length
    CHECK(mlt_broker_learn(brokers[me], other, cards[other], size, why, sizeof why) == MLT_OK);
    for (uint32_t i = 0; i < EACH; i++)
        want(me, 2 * i + me, 2 * i + other);
    until_connections(EACH);
    quiet_for(300); // second ones, and the other side
    CHECK(write(out, &link_count, sizeof link_count) == sizeof link_count);
    counts[me] = link_count;
    CHECK(read(in, &counts[other], sizeof counts[other]) == sizeof counts[other]);
    CHECK(failed_count == 0 && counts[0] == counts[1] && counts[0] <= 2 * EACH);
    mlt_broker_free(brokers[me]);
    brokers[me] = NULL;
    if (child == 0)
        _exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < 2; i++) {
        close(there[i]);
        close(back[i]);
    }
    printf("crossing dials of two processes: %u connections for %d pairs\n", counts[0], EACH);
}

// Wants wait for the card.
static void test_late_card(void)
{
    open_brokers(2, 2, false);
    cards_wanted = 0;
    want(0, 0, 1);
    want(0, 2, 1);
    quiet_for(100);
    CHECK(link_count == 0 && failed_count == 0 && cards_wanted == 1);
    learn(0, 1); // and the other one never learns
    until_connections(4);
    check_joined(link_to(0, 0, 1), link_to(1, 1, 0));
    close_brokers();
}

static void test_bad_numbers(void)
{
    uint8_t card[MLT_CARD_BYTES];
    open_brokers(2, 2, false); // 0 and 2 are on host 0
    static const uint32_t bad[][2] = {{1, 0}, {0, 2}, {0, 0}, {0, 4}, {4, 1}, {UINT32_MAX, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(mlt_broker_want(brokers[0], bad[i][0], bad[i][1]) == MLT_ERR_INVALID);
    size_t size = mlt_broker_card(brokers[1], card);
    CHECK(mlt_broker_learn(brokers[0], 2, card, size, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("host", why, "there is no host 2");
    CHECK(mlt_broker_learn(brokers[0], 1, card, size - 1, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strstr(why, "card cannot be read"));
    mlt_broker_ended(brokers[0], 1);
    mlt_broker_ended(brokers[0], UINT32_MAX);
    close_brokers();
}

// 200 processes on each of two hosts, all with all, both sides at the same time.
static void test_many(void)
{
    enum { EACH = 200, PAIRS = EACH * EACH };
    uint64_t start = mlt_os_now_ns();
    int before = descriptors(), most = 0;
    open_brokers(2, EACH, false);
    keeps = false;
    for (uint32_t i = 0; i < EACH; i++)
        for (uint32_t j = 0; j < EACH; j++) {
            want(0, 2 * i, 2 * j + 1);
            want(1, 2 * j + 1, 2 * i);
        }
    learn_all(2);
    while (link_count < 2 * PAIRS && failed_count == 0) {
        int now = link_count % 1000 < 8 ? descriptors() : 0;
        most = now > most ? now : most;
        mlt_loop_turn();
    }
    CHECK(failed_count == 0 && most - before < 300);
    printf("%d pairs: %u connections in %.1f s, at most %d descriptors for both brokers\n", PAIRS,
           link_count / 2, (double)(mlt_os_now_ns() - start) / 1e9, most - before);
    quiet_for(20);
    close_brokers();
    CHECK(descriptors() == before);
}

// ---- Failures

static mlt_card card_of(uint16_t port)
{
    mlt_card card = {.port = port, .count = 1, .name = "bee"};
    card.addresses[0] = address_of("127.0.0.1");
    return card;
}

static void learn_card(const mlt_card *card)
{
    uint8_t bytes[MLT_CARD_BYTES];
    size_t size = mlt_card_write(bytes, card);
    CHECK(mlt_broker_learn(brokers[0], 1, bytes, size, why, sizeof why) == MLT_OK);
}

static void until_failure(void)
{
    while (failed_count == 0)
        mlt_loop_turn();
}

static uint16_t closed_port(void)
{
    mlt_greet_self self = self_of(LISTENER);
    mlt_listen *l = listen_at(&self, "127.0.0.1", 0, 1);
    uint16_t port = mlt_listen_port(l);
    mlt_listen_free(l);
    return port;
}

static void test_nobody(void)
{
    char text[600];
    uint16_t port = closed_port();
    mlt_card card = card_of(port);
    open_brokers(2, 2, false);
    learn_card(&card);
    want(0, 0, 1);
    uint64_t start = mlt_os_now_ns();
    until_failure();
    CHECK(mlt_os_now_ns() - start > 250000000u); // it has tried three times
    snprintf(text, sizeof text,
             "host ape cannot connect to host bee: nothing answers as it should, after several "
             "tries; is there a firewall (--port-range), or an interface that leads nowhere "
             "(--iface)?\n"
             "  from 127.0.0.1 to 127.0.0.1:%u: Connection refused",
             port);
    check_same_text("nobody", failure, text);
    CHECK(failure_of[0] == 0 && failure_of[1] == 1);
    CHECK(mlt_broker_failed(brokers[0], 0, 1) && !mlt_broker_failed(brokers[0], 0, 0));
    want(0, 0, 1); // said once
    quiet_for(50);
    CHECK(failed_count == 1 && link_count == 0);
    want(0, 2, 3); // another one is not tried for long
    quiet_for(50);
    CHECK(failed_count == 2 && failure_of[0] == 2 && failure_of[1] == 3 && link_count == 0);
    // The other side dials back.
    learn(1, 0);
    want(1, 1, 0);
    failed_count = 0;
    until_connections(2);
    CHECK(!mlt_broker_failed(brokers[0], 0, 1));
    check_joined(link_to(0, 0, 1), link_to(1, 1, 0));
    close_brokers();
}

// One whose queue is full for the first try; then it listens.
static void test_stopped(void)
{
    mlt_greet_self self = self_of(1);
    mlt_listen *l = listen_at(&self, "127.0.0.1", 0, 8);
    mlt_card card = card_of(mlt_listen_port(l));
    mlt_net_peer peer = {.fd = -1};
    int good = 0;
    open_brokers(2, 1, false);
    learn_card(&card);
    want(0, 0, 1);
    quiet_for(MLT_DIAL_MS + 150); // connected, but nobody answers
    CHECK(failed_count == 0 && link_count == 0);
    for (uint64_t end = mlt_os_now_ns() + UINT64_C(60) * SECOND;
         (!good || !link_count) && mlt_os_now_ns() < end;) {
        while (mlt_listen_step(l, mlt_os_now_ns(), &peer) == MLT_OK)
            good++;
        quiet_for(5);
    }
    CHECK(good == 1 && link_count == 1 && failed_count == 0);
    close(peer.fd);
    mlt_listen_free(l);
    close_brokers();
}

// Dropped at the door twice, as by a crowd; the third time it gets in.
static void test_dropped(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int one = 1, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
    CHECK(bind(door, (struct sockaddr *)&name, length) == 0 && listen(door, 8) == 0);
    CHECK(getsockname(door, (struct sockaddr *)&name, &length) == 0);
    mlt_card card = card_of(ntohs(name.sin_port));
    open_brokers(2, 1, false);
    learn_card(&card);
    want(0, 0, 1);
    for (int drops = 0; drops < 2;) {
        int fd = accept(door, NULL, NULL);
        if (fd >= 0) {
            close(fd);
            drops++;
        }
        quiet_for(2);
    }
    close(door);
    mlt_broker_conf conf = conf_of(1, 2, 1);
    conf.ports = (mlt_iface_ports){card.port, card.port};
    mlt_broker_free(brokers[1]);
    CHECK(mlt_broker_new(&brokers[1], &conf, why, sizeof why) == MLT_OK);
    until_connections(2);
    close_brokers();
}

// The other host has another version, or does not have that process.
static void test_refused(void)
{
    mlt_greet_self self = self_of(1);
    self.version = 0x10203;
    mlt_listen *l = listen_at(&self, "127.0.0.1", 0, 8);
    mlt_card card = card_of(mlt_listen_port(l));
    mlt_net_peer peer;
    open_brokers(2, 1, false);
    learn_card(&card);
    want(0, 0, 1);
    while (failed_count == 0) {
        CHECK(mlt_listen_step(l, mlt_os_now_ns(), &peer) == MLT_PENDING);
        quiet_for(2);
    }
    CHECK(strstr(failure, "host ape cannot connect to host bee: the two cannot talk\n"));
    CHECK(strstr(failure, ": it is Millet 1.2.3, and this is " MLT_VERSION
                          ": all hosts need the same version"));
    CHECK(mlt_listen_count(l)->faults[MLT_GREET_VERSION] == 1); // it was not tried again
    mlt_listen_free(l);
    close_brokers();
    open_brokers(2, 1, false);
    uint8_t bytes[MLT_CARD_BYTES]; // a broker's own card, as if it were another host's
    size_t size = mlt_broker_card(brokers[0], bytes);
    CHECK(mlt_broker_learn(brokers[0], 1, bytes, size, why, sizeof why) == MLT_OK);
    want(0, 0, 1);
    until_failure();
    CHECK(strstr(failure, "it belongs to the job, but has no process 1"));
    close_brokers();
}

// Processes that have ended get nothing, and those that want them are cut off.
static void test_ended(void)
{
    open_brokers(2, 2, false); // 0 and 2; 1 and 3
    want(0, 0, 1);
    want(0, 2, 1);
    mlt_broker_ended(brokers[0], 0);
    learn_all(2);
    until_connections(2);
    quiet_for(50);
    CHECK(link_count == 2 && connections[0].process != 0 && connections[1].process != 0);
    mlt_broker_ended(brokers[1], 3);
    want(0, 2, 3);
    until_connections(3);
    struct pollfd look = {connections[2].fd, POLLIN, 0};
    unsigned char mark[MLT_CTL_END_MARK], got[MLT_CTL_END_MARK + 1];
    mlt_ctl_end_mark(mark);
    while (poll(&look, 1, 0) == 0)
        mlt_loop_turn();
    CHECK(connections[2].host == 0 && read(connections[2].fd, got, sizeof got) == sizeof mark);
    CHECK(memcmp(got, mark, sizeof mark) == 0 && read(connections[2].fd, got, 1) == 0);
    want(0, 2, 3);
    mlt_broker_ended(brokers[0], 2); // in the middle of nothing
    close_brokers();
}

// A crowd of strangers at both doors, all the time.
static void test_crowd(void)
{
    enum { CROWD = 150, EACH = 20 };
    static const char junk[] = "GET / HTTP/1.0\r\n\r\n";
    int crowd[CROWD], before = descriptors();
    uint8_t bytes[MLT_CARD_BYTES];
    uint16_t ports[2];
    open_brokers(2, EACH, false);
    keeps = false;
    for (uint32_t i = 0; i < 2; i++) {
        mlt_card card;
        size_t size = mlt_broker_card(brokers[i], bytes);
        CHECK(mlt_card_read(&card, bytes, size, why, sizeof why) == MLT_OK);
        ports[i] = card.port;
    }
    learn_all(2);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = stranger_at(ports[i % 2]);
    for (uint32_t i = 0; i < EACH * EACH; i++)
        want(0, 2 * (i / EACH), 2 * (i % EACH) + 1);
    for (uint32_t i = 0; link_count < 2 * EACH * EACH && failed_count == 0; i++) {
        mlt_loop_turn();
        int *one = &crowd[i % CROWD];
        if (i % 3 == 0)
            (void)!send(*one, junk, sizeof junk, MSG_NOSIGNAL);
        close(*one);
        *one = stranger_at(ports[i % 2]);
    }
    CHECK(failed_count == 0);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    close_brokers();
    CHECK(descriptors() == before);
}

static void limit_descriptors(rlim_t count)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = count ? count : limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

// A shortage that passes is waited for; one that stays is told.
static void test_no_descriptors(void)
{
    open_brokers(2, 2, false);
    learn_all(2);
    want(0, 0, 1);
    limit_descriptors(3);
    quiet_for(300);
    CHECK(failed_count == 0 && link_count == 0);
    limit_descriptors(0);
    until_connections(2);
    want(0, 2, 3);
    limit_descriptors(3);
    until_failure();
    limit_descriptors(0);
    check_same_text("short", failure,
                    "host ape cannot connect to host bee: its agent has no descriptors left; see "
                    "`ulimit -n`");
    CHECK(link_count == 2);
    close_brokers();
}

static void test_cannot_begin(void)
{
    mlt_broker_conf conf = conf_of(0, 2, 1);
    mlt_broker *b;
    int before = descriptors();
    CHECK(mlt_iface_parse(&conf.iface, "203.0.113.0/24", why, sizeof why) == MLT_OK);
    CHECK(mlt_broker_new(&b, &conf, why, sizeof why) == MLT_ERR_NOT_FOUND && !b);
    conf.iface.count = 0;
    mlt_greet_self self = self_of(1);
    mlt_listen *l = listen_at(&self, NULL, 0, 1);
    uint16_t port = mlt_listen_port(l);
    conf.ports = (mlt_iface_ports){port, port};
    CHECK(mlt_broker_new(&b, &conf, why, sizeof why) == MLT_ERR_SYSTEM && !b);
    CHECK(strstr(why, "cannot listen on any port of ") && strstr(why, "Address already in use"));
    mlt_listen_free(l);
    conf.ports = (mlt_iface_ports){0, 0};
    limit_descriptors(3);
    CHECK(mlt_broker_new(&b, &conf, why, sizeof why) == MLT_ERR_SYSTEM && !b);
    limit_descriptors(0);
    CHECK(strstr(why, "Too many open files"));
    mlt_broker_free(NULL);
    CHECK(descriptors() == before);
}

// --iface: the card has these addresses only, and nobody listens at others.
static void test_iface(void)
{
    uint8_t bytes[MLT_CARD_BYTES];
    mlt_card card;
    open_brokers(2, 1, false);
    mlt_broker_conf conf = conf_of(1, 2, 1);
    mlt_broker_free(brokers[1]);
    CHECK(mlt_iface_parse(&conf.iface, "127.0.0.0/8", why, sizeof why) == MLT_OK);
    CHECK(mlt_broker_new(&brokers[1], &conf, why, sizeof why) == MLT_OK);
    size_t size = mlt_broker_card(brokers[1], bytes);
    CHECK(mlt_card_read(&card, bytes, size, why, sizeof why) == MLT_OK);
    check_same_text("name", card.name, "bee");
    CHECK(card.count == 1 && mlt_address_loopback(&card.addresses[0]));
    learn(0, 1);
    want(0, 0, 1);
    until_connections(2);
    close_brokers();
}

static void tell_why(void)
{
    fprintf(stderr, "  %s\n  %s\n", why, failure ? failure : "");
}

int main(void)
{
    need_crypt();
    tell_more = tell_why;
    test_crossing_processes();
    loop = mlt_loop_new();
    test_pairs(false);
    test_pairs(true);
    test_crossing();
    test_late_card();
    test_bad_numbers();
    test_nobody();
    test_stopped();
    test_dropped();
    test_refused();
    test_ended();
    test_crowd();
    test_iface();
    test_cannot_begin();
    in_child(test_no_descriptors);
    test_many();
    free(failure);
    puts("all right");
    return 0;
}
