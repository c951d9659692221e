// SPDX-License-Identifier: BSD-3-Clause
// A plug-in with globals, thread-local variables, constructors and destructors, that uses functions
// and variables of the program and of a library that it needs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

extern int of_program;
int program_add(int x);
int deeper_count(int by);

static int counter = 100;
int *where = &counter; // not in what only the loader writes
__thread int own_thread = 7;
__thread int *thread_where = &counter;
static int constructed;
static int (*const table[])(int) = {program_add, deeper_count};

static void at_end(void)
{
    program_add(1000);
}

__attribute__((constructor)) static void begin(void)
{
    constructed++;
    program_add(10);
    atexit(at_end);
}

__attribute__((destructor)) static void end(void)
{
    program_add(10000);
}

int plugin_step(int x)
{
    counter += x;
    own_thread += x;
    of_program++;
    return table[0](x) + table[1](x) + *where * 10 + *thread_where;
}

void plugin_state(char *text, size_t size)
{
    snprintf(text, size, "%d %d %d %d %d", counter, own_thread, constructed, where == &counter,
             thread_where == &counter);
}

void *plugin_self(void)
{
    return dlsym(RTLD_DEFAULT, "plugin_step");
}
