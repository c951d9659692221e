// SPDX-License-Identifier: BSD-3-Clause
//
// A sign that one rank gives to another without a call of MPI: a file in the folder of the run. So a test
// can say "this happens while that rank makes no call", whatever time either of them takes.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

// A number for a sign that no other run uses meanwhile; there is room for some more behind it.
static inline int sign_new(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)(((unsigned)now.tv_nsec ^ (unsigned)getpid() * 7919u) & 0x3fffffffu);
}

static inline void sign_name(int sign, char name[32])
{
    snprintf(name, 32, "sign.%d", sign);
}

static inline void sign_give(int sign)
{
    char name[32];
    sign_name(sign, name);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
}

// Waits for it, and removes it.
static inline void sign_await(int sign)
{
    const struct timespec moment = {0, 5000000};
    char name[32];
    sign_name(sign, name);
    while (access(name, F_OK) != 0)
        nanosleep(&moment, NULL);
    unlink(name);
}
