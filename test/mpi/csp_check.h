// SPDX-License-Identifier: BSD-3-Clause
// What the tests of processes and channels use. They make no MPI call, so a check that fails ends
// the process, and with it the job. Ranks may share an address space: no mutable globals.
#pragma once

#include <errno.h>
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(cond)          ((cond) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", #cond))
#define CHECK_INT(got, want) check_int(__FILE__, __LINE__, #got, (long)(got), (long)(want))

__attribute__((unused, noreturn, format(printf, 3, 4))) static void
check_fail(const char *file, int line, const char *format, ...)
{
    char text[256];
    int why = errno;
    __builtin_va_list args;
    __builtin_va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    __builtin_va_end(args);
    fflush(NULL);
    fprintf(stderr, "%s:%d: node %d, %s: %s%s%s (errno: %s)\n", file, line, csp_node(), csp_self(),
            text, csp_why()[0] ? "; " : "", csp_why(), strerror(why));
    _exit(1);
}

__attribute__((unused)) static void check_int(const char *file, int line, const char *what,
                                              long got, long want)
{
    if (got != want)
        check_fail(file, line, "%s is %ld, should be %ld", what, got, want);
}

// Lets everybody run until nobody can go on but the caller.
__attribute__((unused)) static void settle(void)
{
    for (int i = 0; i < 300; i++)
        csp_yield();
}

// All nodes meet: everybody has sent to everybody, and got all of it. *round: how often they have.
__attribute__((unused)) static void meet(int *round)
{
    char name[32];
    snprintf(name, sizeof name, "meet %d", (*round)++);
    csp_port *port = csp_port_new(name, 0);
    for (int i = 0; i < csp_nodes(); i++) {
        csp_target *target;
        CHECK(csp_target_at(i, name, &target, CSP_NEVER) == CSP_OK);
        CHECK(csp_send(target, NULL, 0) == CSP_OK);
        csp_target_free(target);
    }
    for (int i = 0; i < csp_nodes(); i++)
        CHECK(csp_receive(port, NULL, 0, NULL, NULL) == CSP_OK);
    csp_port_free(port);
}
