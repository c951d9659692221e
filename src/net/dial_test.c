// SPDX-License-Identifier: BSD-3-Clause
// Dialling a process at several addresses, of which others refuse, hang, answer wrongly or not at
// all; the first good one wins, the table tells about all, and no descriptor is left.
#include "net/dial.h"

#include <errno.h>
#include <sys/resource.h>

#include "net/refuse_test.h"
#include "net/sides_test.h"

static void check_table(const mlt_dial *d, uint16_t port, const char *wanted)
{
    mlt_text told = {0};
    char text[1000], number[8];
    size_t length = 0;
    snprintf(number, sizeof number, ":%u:", port);
    mlt_dial_tell(d, &told);
    // The port, which is another each time, becomes P.
    for (const char *at = mlt_text_so_far(&told); *at;) {
        bool is_port = strncmp(at, number, strlen(number)) == 0;
        text[length++] = *at++;
        if (is_port) {
            text[length++] = 'P';
            at += strlen(number) - 2;
        }
    }
    text[length] = 0;
    check_same_text("table", text, wanted);
    mlt_text_free(&told);
}

// A socket of the test's own that listens there.
static int server_at(const char *address, uint16_t *port, int backlog)
{
    struct sockaddr_storage name;
    mlt_address at = address_of(address), bound;
    socklen_t length = mlt_address_to_socket(&name, &at, *port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
    CHECK(bind(fd, (struct sockaddr *)&name, length) == 0 && listen(fd, backlog) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&name, &length) == 0);
    CHECK(mlt_address_of_socket(&bound, port, (struct sockaddr *)&name));
    return fd;
}

static void test_nobody(void)
{
    mlt_greet_self a = self_of(DIALLER);
    mlt_address to[] = {address_of("127.0.0.1"), address_of("127.0.0.2")};
    mlt_net_peer out, in;
    int good = 0, before = descriptors();
    uint16_t port = 0;
    close(server_at("127.0.0.1", &port, 1)); // nobody has that port now
    mlt_dial *d = dial_to(&a, to, 2, port);
    check_table(d, port, "");
    CHECK(mlt_dial_poll(d).deadline_ns == 0); // begins at once
    CHECK(meet(d, NULL, &out, &in, &good) == MLT_ERR_CLOSED);
    check_table(d, port,
                "  from 127.0.0.1 to 127.0.0.1:P: Connection refused\n"
                "  from 127.0.0.1 to 127.0.0.2:P: Connection refused\n");
    CHECK(mlt_dial_step(d, 0, &out) == MLT_ERR_CLOSED); // stays so
    CHECK(mlt_dial_poll(d).deadline_ns == MLT_POLL_FOREVER);
    mlt_dial_free(d);
    mlt_dial_free(NULL);
    d = dial_to(&a, to, 0, port);
    CHECK(mlt_dial_step(d, 0, &out) == MLT_ERR_CLOSED);
    check_table(d, port, "");
    mlt_dial_free(d);
    to[0] = address_of("255.255.255.255"); // refused before anything is sent
    d = dial_to(&a, to, 1, port);
    CHECK(mlt_dial_step(d, 0, &out) == MLT_ERR_CLOSED);
    mlt_dial_free(d);
    CHECK(descriptors() == before);
}

// Right and wrong processes, and a closed port, at the same time.
static void test_wrong_and_right(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER), c = self_of(LISTENER + 1);
    mlt_listen *wrong = listen_at(&c, "127.0.0.3", 0, 4);
    uint16_t port = mlt_listen_port(wrong);
    mlt_listen *right = listen_at(&b, "127.0.0.2", port, 4);
    mlt_address to[] = {address_of("127.0.0.1"), address_of("127.0.0.3"), address_of("127.0.0.2")};
    mlt_net_peer out, in;
    uint64_t now = mlt_os_now_ns();
    int good = 0;
    mlt_dial *d = dial_to(&a, to, 3, port);
    CHECK(mlt_dial_step(d, now, &out) == MLT_PENDING);
    for (int i = 0; i < 10; i++) { // the wrong one answers first
        struct pollfd looks[] = {{mlt_listen_poll(wrong).fd, POLLIN, 0},
                                 {mlt_dial_poll(d).fd, POLLIN, 0}};
        (void)poll(looks, 2, 20);
        CHECK(mlt_listen_step(wrong, now, &in) == MLT_PENDING);
        CHECK(mlt_dial_step(d, now, &out) == MLT_PENDING);
    }
    CHECK(meet(d, right, &out, &in, &good) == MLT_OK && good == 1 && out.process == LISTENER);
    CHECK(mlt_address_same(&out.address, &to[2]));
    check_table(d, port,
                "  from 127.0.0.1 to 127.0.0.1:P: Connection refused\n"
                "  from 127.0.0.1 to 127.0.0.3:P: process 8 of the job answered, not process 7\n"
                "  from 127.0.0.1 to 127.0.0.2:P: it answered\n");
    CHECK(mlt_listen_count(wrong)->faults[MLT_GREET_PROCESS] == 1);
    close(out.fd);
    close(in.fd);
    mlt_dial_free(d);
    mlt_listen_free(wrong);
    mlt_listen_free(right);
}

// One process that all addresses lead to gets one connection.
static void test_one_wins(bool encrypts)
{
    enum { ADDRESSES = 2 * MLT_DIAL_AT_ONCE };
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    a.encrypts = b.encrypts = encrypts;
    mlt_listen *l = listen_at(&b, NULL, 0, 16);
    mlt_address to[ADDRESSES];
    mlt_net_peer out, in;
    int before = descriptors();
    for (int i = 0; i < ADDRESSES; i++) {
        to[i] = address_of("127.0.0.1");
        to[i].bytes[3] = (uint8_t)(i + 1);
    }
    for (int round = 0; round < 50; round++) {
        int good = 0;
        mlt_dial *d = dial_to(&a, to, ADDRESSES, mlt_listen_port(l));
        CHECK(meet(d, l, &out, &in, &good) == MLT_OK && good == 1);
        CHECK(mlt_dial_poll(d).deadline_ns == MLT_POLL_FOREVER);
        CHECK(mlt_dial_step(d, 0, &out) == MLT_ERR_CLOSED); // once
        mlt_dial_free(d);
        close(out.fd);
        close(in.fd);
    }
    CHECK(descriptors() == before && mlt_listen_count(l)->good == 50);
    mlt_listen_free(l);
}

// Servers that are no Millet: one that closes, one that says something else, one that says nothing,
// and one whose queue is full, so that nobody connects.
static void test_strangers(void)
{
    mlt_greet_self a = self_of(DIALLER);
    uint16_t port = 0;
    int full = server_at("127.0.0.4", &port, 0), fillers[3], servers[3], taken[3];
    const char *names[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
    mlt_address to[4];
    mlt_net_peer out;
    for (int i = 0; i < 3; i++) {
        struct sockaddr_storage name;
        to[i] = address_of(names[i]);
        servers[i] = server_at(names[i], &port, 4);
        mlt_address at = address_of("127.0.0.4");
        socklen_t length = mlt_address_to_socket(&name, &at, port);
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&name, length);
    }
    to[3] = address_of("127.0.0.4");
    uint64_t now = mlt_os_now_ns();
    mlt_dial *d = dial_to(&a, to, 4, port);
    CHECK(mlt_dial_step(d, now, &out) == MLT_PENDING);
    for (int i = 0; i < 3; i++)
        CHECK((taken[i] = accept(servers[i], NULL, NULL)) >= 0);
    CHECK(shutdown(taken[0], SHUT_RDWR) == 0 && write(taken[1], "220 ready\r\n", 11) == 11);
    for (int i = 0; i < 10; i++) {
        struct pollfd look = {mlt_dial_poll(d).fd, POLLIN, 0};
        (void)poll(&look, 1, 20);
        CHECK(mlt_dial_step(d, now + 1, &out) == MLT_PENDING);
    }
    uint64_t limit = now + MLT_DIAL_MS * UINT64_C(1000000);
    CHECK(mlt_dial_poll(d).deadline_ns == limit && mlt_dial_poll(d).events == POLLIN);
    mlt_text told = {0};
    mlt_dial_tell(d, &told);
    CHECK(strstr(told.text, ": not answered yet\n"));
    mlt_text_free(&told);
    CHECK(mlt_dial_step(d, limit - 1, &out) == MLT_PENDING);
    CHECK(mlt_dial_step(d, limit, &out) == MLT_ERR_CLOSED);
    check_table(
        d, port,
        "  from 127.0.0.1 to 127.0.0.1:P: it closed the connection without an answer: it is no "
        "Millet, or belongs to another job\n"
        "  from 127.0.0.1 to 127.0.0.2:P: what it sent is no greeting of Millet\n"
        "  from 127.0.0.1 to 127.0.0.3:P: the time was up before a greeting came\n"
        "  from 127.0.0.1 to 127.0.0.4:P: the time was up before it connected\n");
    mlt_dial_free(d);
    // Given up in the middle.
    int before = descriptors();
    d = dial_to(&a, to, 4, port);
    CHECK(mlt_dial_step(d, now, &out) == MLT_PENDING && descriptors() == before + 5);
    mlt_dial_free(d);
    CHECK(descriptors() == before);
    for (int i = 0; i < 3; i++) {
        close(fillers[i]);
        close(servers[i]);
        close(taken[i]);
    }
    close(full);
}

// More addresses than are tried at once: the others follow those that have failed.
static void test_many(void)
{
    enum { ADDRESSES = 3 * MLT_DIAL_AT_ONCE };
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    char last[32];
    mlt_address to[ADDRESSES];
    mlt_net_peer out, in;
    int good = 0;
    for (int i = 0; i < ADDRESSES; i++) {
        to[i] = address_of("127.0.0.1");
        to[i].bytes[3] = (uint8_t)(i + 1);
    }
    snprintf(last, sizeof last, "127.0.0.%d", ADDRESSES);
    mlt_listen *l = listen_at(&b, last, 0, 4);
    mlt_dial *d = dial_to(&a, to, ADDRESSES, mlt_listen_port(l));
    int before = descriptors();
    CHECK(mlt_dial_step(d, mlt_os_now_ns(), &out) == MLT_PENDING);
    CHECK(descriptors() <= before + MLT_DIAL_AT_ONCE);
    CHECK(meet(d, l, &out, &in, &good) == MLT_OK && good == 1);
    close(out.fd);
    close(in.fd);
    mlt_dial_free(d);
    mlt_listen_free(l);
}

static void test_no_descriptors(void)
{
    mlt_greet_self a = self_of(DIALLER);
    mlt_address to = address_of("127.0.0.1");
    mlt_net_peer out;
    mlt_dial *d = dial_to(&a, &to, 1, 9), *e;
    struct rlimit normal, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &normal) == 0);
    none = normal;
    none.rlim_cur = 1;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK(mlt_dial_step(d, 0, &out) == MLT_ERR_CLOSED);
    mlt_dial_plan plan = {.self = &a, .addresses = &to, .count = 1, .port = 9};
    CHECK(mlt_dial_new(&e, &plan, why, sizeof why) == MLT_ERR_SYSTEM && !e);
    CHECK(setrlimit(RLIMIT_NOFILE, &normal) == 0);
    check_same_text("full", why, "no descriptor to dial with (Too many open files)");
    check_table(d, 9, "  to 127.0.0.1:P: Too many open files\n");
    CHECK(mlt_dial_why(d) == MLT_DIAL_NO_DESCRIPTOR);
    mlt_dial_free(d);
}

// ---- The system refuses

static void dial_in_vain(int call, const char *table)
{
    mlt_greet_self a = self_of(DIALLER);
    mlt_address to = address_of("127.0.0.1");
    uint16_t port = 0;
    mlt_net_peer out;
    close(server_at("127.0.0.1", &port, 1));
    mlt_dial *d = dial_to(&a, &to, 1, port);
    if (!refuse_call(call, EACCES))
        return;
    mlt_status status;
    while ((status = mlt_dial_step(d, mlt_os_now_ns(), &out)) == MLT_PENDING)
        ;
    CHECK(status == MLT_ERR_CLOSED);
    check_table(d, port, table);
    mlt_dial_free(d);
}

static void no_tuning(void)
{
    dial_in_vain(SYS_setsockopt, "  to 127.0.0.1:P: Permission denied\n");
}

static void no_watching(void)
{
    dial_in_vain(SYS_epoll_ctl, "  to 127.0.0.1:P: Permission denied\n");
}

static void no_connecting(void)
{
    dial_in_vain(SYS_connect, "  to 127.0.0.1:P: Permission denied\n");
}

static void no_source(void)
{
    dial_in_vain(SYS_getsockname, "  to 127.0.0.1:P: Connection refused\n");
}

int main(void)
{
    need_crypt();
    test_nobody();
    test_wrong_and_right();
    test_one_wins(false);
    test_one_wins(true);
    test_strangers();
    test_many();
    test_no_descriptors();
    in_child(no_tuning);
    in_child(no_watching);
    in_child(no_connecting);
    in_child(no_source);
    puts("all right");
    return 0;
}
