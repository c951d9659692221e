// SPDX-License-Identifier: BSD-3-Clause
// What the tests of listening and dialling share: two processes of a job, in one.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "net/dial.h"
#include "net/listen.h"
#include "os/os.h"

enum { DIALLER = 3, LISTENER = 7, GONE_MS = 10000, SECOND = 1000000000 };

static mlt_key key;
static char why[400];

static inline void need_crypt(void)
{
    if (mlt_crypt_load(why, sizeof why) != MLT_OK) {
        fprintf(stderr, "skipped: %s\n", why);
        exit(77);
    }
    CHECK(mlt_key_new(&key, why, sizeof why) == MLT_OK);
}

static inline mlt_greet_self self_of(uint32_t process)
{
    return (mlt_greet_self){.key = &key,
                            .job = 42,
                            .process = process,
                            .version = mlt_greet_version(),
                            .types = mlt_greet_types_here()};
}

static inline mlt_address address_of(const char *text)
{
    mlt_address address;
    CHECK(mlt_address_read(&address, text));
    return address;
}

static inline mlt_listen *listen_at(const mlt_greet_self *self, const char *only, uint16_t port,
                                    uint32_t strangers)
{
    mlt_address address = address_of(only ? only : "127.0.0.1");
    mlt_listen_plan plan = {.self = self,
                            .ports = {port, port},
                            .addresses = only ? &address : NULL,
                            .address_count = only ? 1 : 0,
                            .strangers = strangers,
                            .greet_ms = MLT_LISTEN_GREET_MS,
                            .gone_ms = GONE_MS};
    mlt_listen *out;
    CHECK(mlt_listen_new(&out, &plan, why, sizeof why) == MLT_OK && mlt_listen_port(out) != 0);
    return out;
}

static inline mlt_dial *dial_within(const mlt_greet_self *self, const mlt_address *addresses,
                                    uint32_t count, uint16_t port, uint32_t each_ms)
{
    mlt_dial_plan plan = {.self = self,
                          .wanted = LISTENER,
                          .addresses = addresses,
                          .count = count,
                          .port = port,
                          .each_ms = each_ms,
                          .gone_ms = GONE_MS};
    mlt_dial *out;
    CHECK(mlt_dial_new(&out, &plan, why, sizeof why) == MLT_OK);
    return out;
}

static inline mlt_dial *dial_to(const mlt_greet_self *self, const mlt_address *addresses,
                                uint32_t count, uint16_t port)
{
    return dial_within(self, addresses, count, port, MLT_DIAL_MS);
}

static inline int wait_ms(mlt_poll poll, uint64_t now)
{
    if (poll.deadline_ns <= now)
        return 0;
    uint64_t ms = (poll.deadline_ns - now) / 1000000 + 1;
    return ms < 1000 ? (int)ms : 1000;
}

// Until the dial has ended, and the listener, if it was reached, has the peer. Returns what the
// dial did; *good counts the peers of the listener, of which the last is in *in.
static inline mlt_status meet(mlt_dial *dial, mlt_listen *listen, mlt_net_peer *out,
                              mlt_net_peer *in, int *good)
{
    mlt_status status = MLT_PENDING;
    uint64_t limit = mlt_os_now_ns() + UINT64_C(100) * SECOND; // only a hang takes so long
    for (;;) {
        uint64_t now = mlt_os_now_ns();
        CHECK(now < limit);
        if (status == MLT_PENDING)
            status = mlt_dial_step(dial, now, out);
        while (listen && mlt_listen_step(listen, now, in) == MLT_OK)
            ++*good;
        if (status < 0 || (status == MLT_OK && *good > 0))
            return status;
        struct pollfd look[] = {{mlt_dial_poll(dial).fd, POLLIN, 0},
                                {listen ? mlt_listen_poll(listen).fd : -1, POLLIN, 0}};
        (void)poll(look, 2, wait_ms(mlt_dial_poll(dial), now));
    }
}

static inline int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    CHECK(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

// A stranger, connected to loopback.
static inline int stranger_at(uint16_t port)
{
    struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) == 0);
    return fd;
}
