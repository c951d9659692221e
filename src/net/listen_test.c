// SPDX-License-Identifier: BSD-3-Clause
// A listener among strangers: wrong, slow, idle, repeated, too many, while the process has no
// descriptors, and ten thousand of them while processes of the job still get in.
#include "net/listen.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>

#include "net/refuse_test.h"
#include "net/sides_test.h"

static const mlt_net_peer no_peer = {.fd = -1};

// As often as there is something to do.
static int steps(mlt_listen *l, uint64_t now, mlt_net_peer *in)
{
    struct pollfd look = {.fd = mlt_listen_poll(l).fd, .events = POLLIN};
    int good = 0;
    do
        while (mlt_listen_step(l, now, in) == MLT_OK)
            good++;
    while (poll(&look, 1, 20) > 0);
    return good;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    CHECK(getsockopt(fd, level, name, &value, &size) == 0);
    return value;
}

static void check_tuned(int fd)
{
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) && (fcntl(fd, F_GETFL) & O_NONBLOCK));
    CHECK(option(fd, IPPROTO_TCP, TCP_NODELAY) && option(fd, SOL_SOCKET, SO_KEEPALIVE));
    CHECK(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == GONE_MS);
    int idle = option(fd, IPPROTO_TCP, TCP_KEEPIDLE), each = option(fd, IPPROTO_TCP, TCP_KEEPINTVL);
    CHECK(idle + option(fd, IPPROTO_TCP, TCP_KEEPCNT) * each == GONE_MS / 1000);
}

static void test_good(const char *address, bool encrypts)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    mlt_address to = address_of(address);
    mlt_net_peer out = no_peer, in = no_peer;
    int good = 0, before = descriptors();
    a.encrypts = b.encrypts = encrypts;
    mlt_listen *l = listen_at(&b, NULL, 0, 4);
    mlt_dial *d = dial_to(&a, &to, 1, mlt_listen_port(l));
    CHECK(mlt_listen_poll(l).deadline_ns == MLT_POLL_FOREVER);
    CHECK(meet(d, l, &out, &in, &good) == MLT_OK && good == 1);
    CHECK(out.process == LISTENER && in.process == DIALLER && out.port == mlt_listen_port(l));
    CHECK(mlt_address_same(&in.address, &to) && mlt_address_same(&out.address, &to));
    CHECK(memcmp(&in.keys.send, &out.keys.receive, sizeof in.keys.send) == 0);
    CHECK((memcmp(&in.keys.send, &in.keys.receive, sizeof in.keys.send) != 0) == encrypts);
    check_tuned(in.fd);
    check_tuned(out.fd);
    char text[4] = "";
    CHECK(send(out.fd, "abc", 3, 0) == 3 && poll(&(struct pollfd){in.fd, POLLIN, 0}, 1, 1000) == 1);
    CHECK(recv(in.fd, text, 3, 0) == 3 && strcmp(text, "abc") == 0);
    CHECK(mlt_listen_count(l)->good == 1);
    mlt_dial_free(d);
    mlt_listen_free(l);
    close(in.fd);
    close(out.fd);
    CHECK(descriptors() == before);
}

// A hello of that process, on a connection of its own.
static int hello(const mlt_greet_self *self, uint16_t port, uint32_t wanted, mlt_greet *greet)
{
    int fd = stranger_at(port);
    mlt_greet_dial(greet, self, fd, wanted, MLT_POLL_FOREVER);
    CHECK(mlt_greet_step(greet, 0) == MLT_PENDING);
    return fd;
}

static void test_counts(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    mlt_key wrong = {{9}};
    mlt_listen *l = listen_at(&b, "127.0.0.1", 0, 16);
    const mlt_listen_counts *c = mlt_listen_count(l);
    uint16_t port = mlt_listen_port(l);
    uint64_t now = mlt_os_now_ns();
    mlt_net_peer in;
    mlt_greet greets[4];
    int fds[8];
    fds[0] = stranger_at(port);
    CHECK(write(fds[0], "GET / HTTP/1.1\r\n", 16) == 16);
    fds[1] = stranger_at(port);
    close(fds[1]);
    fds[1] = stranger_at(port); // says nothing
    a.key = &wrong;
    fds[2] = hello(&a, port, LISTENER, &greets[0]);
    a.key = &key;
    fds[3] = hello(&a, port, LISTENER + 1, &greets[1]);
    a.version++;
    fds[4] = hello(&a, port, LISTENER, &greets[2]);
    a.version--;
    fds[5] = hello(&a, port, LISTENER, &greets[3]); // says nothing more
    fds[6] = stranger_at(port);                     // says an old hello, and what does not fit then
    CHECK(write(fds[6], greets[3].said[0], MLT_GREET_BYTES) == MLT_GREET_BYTES);
    CHECK(write(fds[6], greets[3].said[0], MLT_GREET_BYTES) == MLT_GREET_BYTES);
    CHECK(steps(l, now, &in) == 0);
    CHECK(c->faults[MLT_GREET_GARBAGE] == 1 && c->faults[MLT_GREET_CUT] == 1);
    CHECK(c->faults[MLT_GREET_KEY] == 1 && c->faults[MLT_GREET_PROCESS] == 1);
    CHECK(c->faults[MLT_GREET_VERSION] == 1 && c->faults[MLT_GREET_REPLAY] == 1);
    CHECK(mlt_listen_poll(l).deadline_ns == now + MLT_LISTEN_GREET_MS * UINT64_C(1000000));
    // The refused ones are told why; strangers learn nothing.
    CHECK(mlt_greet_step(&greets[1], 0) < 0 && greets[1].fault == MLT_GREET_PROCESS);
    CHECK(mlt_greet_step(&greets[2], 0) < 0 && greets[2].fault == MLT_GREET_VERSION);
    CHECK(mlt_greet_step(&greets[0], 0) < 0 && greets[0].fault == MLT_GREET_CUT);
    CHECK(steps(l, now + MLT_LISTEN_GREET_MS * UINT64_C(1000000), &in) == 0);
    CHECK(c->faults[MLT_GREET_SLOW] == 2 && c->good == 0 && c->dropped_for_newer == 0);
    mlt_listen_free(l);
    for (int i = 0; i < 7; i++)
        close(fds[i]);
}

static void test_crowd(void)
{
    enum { ROOM = 4, IDLE = 11 };
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    mlt_listen *l = listen_at(&b, "127.0.0.1", 0, ROOM);
    const mlt_listen_counts *c = mlt_listen_count(l);
    uint16_t port = mlt_listen_port(l);
    uint64_t now = mlt_os_now_ns();
    mlt_greet greets[ROOM + 1];
    mlt_net_peer in;
    int fds[IDLE], more[ROOM + 1], before;
    for (int i = 0; i < IDLE; i++)
        fds[i] = stranger_at(port);
    before = descriptors();
    CHECK(steps(l, now, &in) == 0 && c->dropped_for_newer == IDLE - ROOM);
    CHECK(descriptors() == before + ROOM);
    // Those that have proven the key drive the idle ones away, but not each other ...
    for (int i = 0; i <= ROOM; i++)
        more[i] = hello(&a, port, LISTENER, &greets[i]);
    CHECK(steps(l, now, &in) == 0 && c->dropped_for_newer == IDLE &&
          descriptors() == before + 2 * ROOM + 1);
    CHECK(mlt_listen_poll(l).deadline_ns <= now + SECOND);
    // ... the fifth gets in when one of them is done ...
    CHECK(mlt_greet_step(&greets[0], 0) == MLT_OK);
    CHECK(steps(l, now + 1, &in) == 1 && in.process == DIALLER);
    close(in.fd);
    CHECK(mlt_greet_step(&greets[ROOM], 0) == MLT_OK);
    CHECK(steps(l, now + 2, &in) == 1 && c->dropped_for_newer == IDLE);
    close(in.fd);
    // ... or when it takes too long. (Three of them are left.)
    int last[2] = {stranger_at(port), stranger_at(port)};
    CHECK(steps(l, now + 3, &in) == 0 &&
          c->dropped_for_newer == IDLE + 1); // one stranger for the other
    int newest = hello(&a, port, LISTENER, &greets[0]);
    CHECK(steps(l, now + 4, &in) == 0 && c->dropped_for_newer == IDLE + 2);
    int latest = hello(&a, port, LISTENER, &greets[ROOM]);
    CHECK(steps(l, now + 5, &in) == 0 && c->dropped_for_newer == IDLE + 2);
    CHECK(steps(l, now + 2 * (uint64_t)SECOND, &in) == 0 && c->dropped_for_newer == IDLE + 3);
    char nothing;
    CHECK(recv(more[1], &nothing, 1, MSG_DONTWAIT | MSG_PEEK) == 1); // the answer, and then the end
    CHECK(mlt_greet_step(&greets[1], 0) == MLT_OK && recv(more[1], &nothing, 1, 0) <= 0);
    CHECK(mlt_greet_step(&greets[ROOM], 0) == MLT_OK);
    CHECK(steps(l, now + 2 * (uint64_t)SECOND, &in) == 1);
    close(in.fd);
    mlt_listen_free(l);
    for (int i = 0; i < IDLE; i++)
        close(fds[i]);
    for (int i = 0; i <= ROOM; i++)
        close(more[i]);
    close(last[0]);
    close(last[1]);
    close(newest);
    close(latest);
}

// This side has slept for a while, in which all that is missing has come: nobody is driven away.
static void test_late_look(void)
{
    enum { ROOM = 4 };
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    mlt_listen *l = listen_at(&b, "127.0.0.1", 0, ROOM);
    uint16_t port = mlt_listen_port(l);
    uint64_t now = mlt_os_now_ns(), late = now + SECOND + SECOND / 2;
    mlt_greet greets[ROOM + 1];
    mlt_net_peer in;
    int fds[ROOM + 1];
    for (int i = 0; i < ROOM; i++)
        fds[i] = hello(&a, port, LISTENER, &greets[i]);
    CHECK(steps(l, now, &in) == 0);
    fds[ROOM] = hello(&a, port, LISTENER, &greets[ROOM]);
    for (int i = 0; i < ROOM; i++)
        CHECK(mlt_greet_step(&greets[i], 0) == MLT_OK);
    int good = 0;
    while (mlt_listen_step(l, late, &in) == MLT_OK) {
        close(in.fd);
        good++;
    }
    CHECK(good == ROOM && mlt_listen_count(l)->dropped_for_newer == 0);
    CHECK(steps(l, late + 1, &in) == 0 && mlt_greet_step(&greets[ROOM], 0) == MLT_OK);
    CHECK(steps(l, late + 1, &in) == 1);
    close(in.fd);
    mlt_listen_free(l);
    for (int i = 0; i <= ROOM; i++)
        close(fds[i]);
}

// ---- No descriptors

static struct rlimit normal_limit;

static void no_more_descriptors(void)
{
    int next = dup(0);
    CHECK(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &normal_limit) == 0);
    struct rlimit small = normal_limit;
    small.rlim_cur = (rlim_t)next; // all below are used
    CHECK(setrlimit(RLIMIT_NOFILE, &small) == 0);
}

static void enough_descriptors(void)
{
    CHECK(setrlimit(RLIMIT_NOFILE, &normal_limit) == 0);
}

static void test_no_descriptors(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    mlt_listen *l = listen_at(&b, "127.0.0.1", 0, 4);
    const mlt_listen_counts *c = mlt_listen_count(l);
    mlt_address to = address_of("127.0.0.1");
    mlt_net_peer in = no_peer, out = no_peer;
    uint16_t port = mlt_listen_port(l);
    uint64_t now = mlt_os_now_ns();
    int fds[3], good = 0;
    for (int i = 0; i < 3; i++)
        fds[i] = stranger_at(port);
    no_more_descriptors();
    CHECK(steps(l, now, &in) == 0 && c->no_descriptor == 3); // by the spare one
    enough_descriptors();
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    // A stranger has one: it goes for the newcomer.
    fds[0] = stranger_at(port);
    CHECK(steps(l, now, &in) == 0);
    mlt_greet greet;
    fds[1] = hello(&a, port, LISTENER, &greet);
    no_more_descriptors();
    CHECK(steps(l, now, &in) == 0 && c->no_descriptor == 4);
    CHECK(mlt_greet_step(&greet, 0) == MLT_OK && steps(l, now, &in) == 1 && in.process == DIALLER);
    enough_descriptors();
    close(in.fd);
    close(fds[0]);
    close(fds[1]);
    mlt_dial *d = dial_to(&a, &to, 1, port);
    CHECK(meet(d, l, &out, &in, &good) == MLT_OK && good == 1); // and all is well again
    close(in.fd);
    close(out.fd);
    mlt_dial_free(d);
    mlt_listen_free(l);
    // Not even to begin with.
    mlt_listen_plan plan = {.self = &b, .strangers = 4};
    no_more_descriptors();
    CHECK(mlt_listen_new(&l, &plan, why, sizeof why) == MLT_ERR_SYSTEM && !l);
    enough_descriptors();
    check_same_text("full", why, "no file descriptor for the listener (Too many open files)");
}

// The spare descriptor is lost for a while: another thread may take its number.
static void test_spare_is_lost(void)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen *l = listen_at(&b, "127.0.0.1", 0, 4);
    const mlt_listen_counts *c = mlt_listen_count(l);
    uint16_t port = mlt_listen_port(l);
    uint64_t now = mlt_os_now_ns();
    mlt_net_peer in;
    struct rlimit normal, none;
    int fds[2] = {stranger_at(port), stranger_at(port)};
    CHECK(getrlimit(RLIMIT_NOFILE, &normal) == 0);
    none = normal;
    none.rlim_cur = 1; // what is closed does not come back
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK(mlt_listen_step(l, now, &in) == MLT_PENDING);
    mlt_poll poll = mlt_listen_poll(l);
    CHECK(poll.deadline_ns > now && poll.deadline_ns < now + SECOND && c->no_descriptor == 0);
    CHECK(mlt_listen_step(l, poll.deadline_ns, &in) == MLT_PENDING && c->no_descriptor == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &normal) == 0);
    poll = mlt_listen_poll(l);
    CHECK(mlt_listen_step(l, poll.deadline_ns, &in) == MLT_PENDING);
    CHECK(mlt_listen_poll(l).deadline_ns > now + SECOND); // greetings have begun
    mlt_listen_free(l);
    close(fds[0]);
    close(fds[1]);
}

// ---- The system refuses

static bool has_six(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool works = fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof name) == 0;
    if (fd >= 0)
        close(fd);
    return works;
}

static mlt_listen *with_stranger(const mlt_greet_self *self)
{
    mlt_listen *l = listen_at(self, "127.0.0.1", 0, 4);
    (void)stranger_at(mlt_listen_port(l)); // ends with the process
    return l;
}

static void no_memory(void)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen *l = with_stranger(&b);
    mlt_net_peer in;
    uint64_t now = mlt_os_now_ns();
    if (!refuse_call(SYS_accept4, ENOMEM))
        return;
    for (int i = 0; i < 3; i++) { // it looks again after a while, not at once
        CHECK(mlt_listen_step(l, now, &in) == MLT_PENDING);
        mlt_poll look = mlt_listen_poll(l);
        CHECK(look.deadline_ns > now && look.deadline_ns < now + SECOND);
        CHECK(poll(&(struct pollfd){look.fd, POLLIN, 0}, 1, 0) == 0);
        now = look.deadline_ns;
    }
    mlt_listen_free(l);
}

static void aborted(void)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen *l = with_stranger(&b);
    mlt_net_peer in;
    if (!refuse_call(SYS_accept4, ECONNABORTED))
        return;
    CHECK(mlt_listen_step(l, mlt_os_now_ns(), &in) == MLT_PENDING);
    CHECK(mlt_listen_poll(l).deadline_ns == MLT_POLL_FOREVER); // no reason to pause
    mlt_listen_free(l);
}

static void refuse_welcome(int call)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen *l = with_stranger(&b);
    mlt_net_peer in;
    int before = descriptors();
    if (!refuse_call(call, ENOSPC))
        return;
    CHECK(mlt_listen_step(l, mlt_os_now_ns(), &in) == MLT_PENDING);
    CHECK(mlt_listen_count(l)->faults[MLT_GREET_SYSTEM] == 1 && descriptors() == before);
    mlt_listen_free(l);
}

static void no_watching(void)
{
    refuse_welcome(SYS_epoll_ctl);
}

static void no_tuning(void)
{
    refuse_welcome(SYS_setsockopt);
}

static void refuse_listening(int call)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen_plan plan = {.self = &b, .strangers = 4};
    mlt_listen *l;
    int before = descriptors();
    if (!refuse_call(call, EDOM))
        return;
    CHECK(mlt_listen_new(&l, &plan, why, sizeof why) == MLT_ERR_SYSTEM && !l);
    check_same_text("refused", why,
                    "cannot listen on any TCP port (Numerical argument out of domain)");
    CHECK(descriptors() == before);
}

static void no_name(void)
{
    refuse_listening(SYS_getsockname);
}

static void no_option(void)
{
    refuse_listening(SYS_setsockopt);
}

// A host without one of the families has the other; one without both cannot listen.
static void no_six(void)
{
    mlt_greet_self b = self_of(LISTENER);
    if (!refuse_family(AF_INET6, EAFNOSUPPORT))
        return;
    mlt_listen *l = listen_at(&b, NULL, 0, 4);
    CHECK(close(stranger_at(mlt_listen_port(l))) == 0);
    mlt_listen_free(l);
    mlt_listen_plan plan = {.self = &b, .strangers = 4};
    CHECK(refuse_family(AF_INET, EAFNOSUPPORT));
    CHECK(mlt_listen_new(&l, &plan, why, sizeof why) == MLT_ERR_SYSTEM);
    check_same_text("no family", why,
                    "cannot listen on any TCP port (Address family not supported by protocol)");
}

static void no_four(void)
{
    mlt_greet_self b = self_of(LISTENER);
    if (!has_six() || !refuse_family(AF_INET, EAFNOSUPPORT))
        return;
    mlt_listen_free(listen_at(&b, NULL, 0, 4));
}

// A sanitizer's allocator ends the process instead.
void __sanitizer_set_death_callback(void (*call)(void)) __attribute__((weak));

static void test_refusals(void)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen_plan plan = {.self = &b, .strangers = UINT32_MAX};
    mlt_listen *l;
    in_child(no_memory);
    in_child(aborted);
    in_child(no_watching);
    in_child(no_tuning);
    in_child(no_name);
    in_child(no_option);
    in_child(no_six);
    in_child(no_four);
    if (__sanitizer_set_death_callback)
        return;
    CHECK(mlt_listen_new(&l, &plan, why, sizeof why) == MLT_ERR_NO_MEMORY && !l);
    check_same_text("memory", why,
                    "memory is exhausted: no room for 4294967295 incoming connections");
}

// ---- Ports

static void test_ports(void)
{
    mlt_greet_self b = self_of(LISTENER);
    mlt_listen *l = listen_at(&b, NULL, 0, 4), *m;
    uint16_t port = mlt_listen_port(l);
    mlt_listen_plan plan = {.self = &b, .ports = {port, port}, .strangers = 4};
    char wanted[200];
    CHECK(mlt_listen_new(&m, &plan, why, sizeof why) == MLT_ERR_SYSTEM && !m);
    snprintf(wanted, sizeof wanted, "cannot listen on any port of %u-%u (Address already in use)",
             port, port);
    check_same_text("taken", why, wanted);
    plan.ports.first = port < 65000 ? port : (uint16_t)(port - 100);
    plan.ports.last = (uint16_t)(plan.ports.first + 100);
    for (int i = 0; i < 5; i++) {
        CHECK(mlt_listen_new(&m, &plan, why, sizeof why) == MLT_OK && mlt_listen_port(m) != port);
        CHECK(mlt_listen_port(m) >= plan.ports.first && mlt_listen_port(m) <= plan.ports.last);
        mlt_listen_free(m);
    }
    mlt_listen_free(l);
    mlt_address foreign = address_of("203.0.113.77");
    plan = (mlt_listen_plan){.self = &b, .strangers = 4, .addresses = &foreign, .address_count = 1};
    CHECK(mlt_listen_new(&m, &plan, why, sizeof why) == MLT_ERR_SYSTEM);
    check_same_text("foreign", why,
                    "cannot listen on any TCP port (Cannot assign requested address)");
    // Several addresses have the same port; others are not listened at. One that is not there is
    // left out.
    mlt_address some[] = {foreign, address_of("127.0.0.1"), foreign, address_of("127.0.0.2")};
    plan.addresses = some;
    plan.address_count = 4;
    CHECK(mlt_listen_new(&m, &plan, why, sizeof why) == MLT_OK);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(mlt_listen_port(m))};
    for (int last = 1; last <= 3; last++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (unsigned)last);
        CHECK((connect(fd, (struct sockaddr *)&name, sizeof name) == 0) == (last < 3));
        close(fd);
    }
    mlt_listen_free(m);
    mlt_listen_free(NULL);
}

// ---- Ten thousand

enum { CHILDREN = 4, EACH = 2500, OPEN = 100 };

// Connects EACH times; most say something wrong, and some nothing. They stay for a while.
static void swarm(uint16_t port, const uint8_t *old_hello)
{
    int fds[OPEN];
    memset(fds, -1, sizeof fds);
    struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < EACH; i++) {
        struct linger at_once = {.l_onoff = 1};
        int fd = socket(AF_INET, SOCK_STREAM, 0), place = i % OPEN;
        if (fds[place] >= 0)
            close(fds[place]);
        fds[place] = fd;
        CHECK(fd >= 0);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        if (connect(fd, (struct sockaddr *)&name, sizeof name) != 0)
            continue;
        uint8_t noise[200];
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (uint8_t)random64();
        memcpy(noise, old_hello, i % 5 == 1 ? MLT_GREET_BYTES - 1 : i % 5 == 2 ? 8 : 0);
        if (i % 5 != 0 && i % 5 != 4)
            (void)!send(fd, i % 50 == 3 ? old_hello : noise, MLT_GREET_BYTES, MSG_NOSIGNAL);
    }
    _exit(0);
}

static void test_ten_thousand(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(LISTENER);
    int left = CHILDREN, rounds = 0, most = 0, before = descriptors();
    mlt_listen *l = listen_at(&b, "127.0.0.1", 0, MLT_LISTEN_STRANGERS);
    const mlt_listen_counts *c = mlt_listen_count(l);
    mlt_address to = address_of("127.0.0.1");
    mlt_greet old;
    mlt_net_peer in = no_peer, out = no_peer;
    close(hello(&a, mlt_listen_port(l), LISTENER, &old));
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        random_state += (uint64_t)i;
        if (child == 0)
            swarm(mlt_listen_port(l), old.said[0]);
    }
    for (; left > 0; rounds++) {
        int good = 0, status;
        // On a busy machine the crowd keeps it waiting for longer than a job would.
        mlt_dial *d = dial_within(&a, &to, 1, mlt_listen_port(l), 30 * MLT_DIAL_MS);
        mlt_status met = meet(d, l, &out, &in, &good);
        mlt_text told = {0};
        mlt_dial_tell(d, &told);
        snprintf(now_testing, sizeof now_testing, "round %d: %s", rounds, mlt_text_so_far(&told));
        CHECK(met == MLT_OK && good == 1 && in.process == DIALLER);
        mlt_text_free(&told);
        most = descriptors() > most ? descriptors() : most;
        close(in.fd);
        close(out.fd);
        mlt_dial_free(d);
        while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
            CHECK(status == 0);
            left--;
        }
    }
    now_testing[0] = 0;
    uint64_t dropped = c->dropped_for_newer + c->no_descriptor;
    for (int i = 0; i < MLT_GREET_FAULTS; i++)
        dropped += c->faults[i];
    printf("%d good ones among strangers; %llu dropped\n", rounds, (unsigned long long)dropped);
    // Three of the listener, and the two ends of a good connection and the dial.
    CHECK(most <= before + MLT_LISTEN_STRANGERS + 6 && (int)c->good == rounds);
    CHECK(dropped > CHILDREN * EACH / 2); // the system's own queue may have dropped some
    mlt_listen_free(l);
    CHECK(descriptors() == before);
}

int main(void)
{
    need_crypt();
    test_good("127.0.0.1", false);
    test_good("127.0.0.1", true);
    if (has_six())
        test_good("::1", false);
    test_counts();
    test_crowd();
    test_late_look();
    test_no_descriptors();
    test_spare_is_lost();
    test_refusals();
    test_ports();
    test_ten_thousand();
    puts("all right");
    return 0;
}
