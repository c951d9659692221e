// SPDX-License-Identifier: BSD-3-Clause
#include "host/environ.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/export.h"
#include "host/entry.h"
#include "host/globals.h"
#include "host/libc.h"
#include "host/own.h"
#include "host/start.h"

typedef struct mlt_environ {
    char **array; // as this file made it; the program may have another one now
    uint32_t room;
    char **place;   // in the place of `environ`, if the rank has none
    char **strings; // that setenv made
    uint32_t string_count, string_room;
} mlt_environ_own;

// ---- whose

// The calling rank, or the rank whose thread or child calls. NULL: libc's functions are right.
static mlt_rank *caller(void)
{
    mlt_rank *me = mlt_entry_many() ? mlt_thread_rank() : NULL;
    return me && me->worker && !me->ended ? me : NULL;
}

static struct mlt_environ *own_of(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->environ) {
        own->environ = mlt_take(1, sizeof *own->environ);
        own->environ->place = environ;
    }
    return own->environ;
}

// The rank's variable.
static char ***place_of(mlt_rank *me)
{
    char ***own = mlt_globals_are_own() ? mlt_globals_variable(me, &environ) : NULL;
    return own ? own : &own_of(me)->place;
}

// As place_of, for a look: a rank that has changed nothing needs nothing of its own.
static char **array_of(mlt_rank *me)
{
    char ***own = mlt_globals_are_own() ? mlt_globals_variable(me, &environ) : NULL;
    if (own)
        return *own;
    const mlt_rank_own *mine = me->own;
    return mine && mine->environ ? mine->environ->place : environ;
}

void mlt_environ_begin(void)
{
    size_t count = 0;
    while (environ && environ[count])
        count++;
    char **copy = mlt_take(count + 1, sizeof *copy);
    if (count)
        memcpy(copy, environ, count * sizeof *copy);
    environ = copy; // the first rank's, and libc's; the old array stays as it is for all others
}

char **mlt_environ(void)
{
    mlt_rank *me = caller();
    return me ? array_of(me) : environ;
}

void mlt_environ_free(mlt_environ_own *own)
{
    if (!own)
        return;
    for (uint32_t i = 0; i < own->string_count; i++)
        free(own->strings[i]);
    free(own->strings);
    free(own->array);
    free(own);
}

// ---- looking and changing

// The entry of that name; NULL: none.
static char **find(char **array, const char *name, size_t length)
{
    for (char **entry = array; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return entry;
    return NULL;
}

static bool is_name(const char *name)
{
    if (name && *name && !strchr(name, '='))
        return true;
    errno = EINVAL;
    return false;
}

// Makes the rank's array its own, with room for one entry more, and returns the number of entries.
static uint32_t own_array(mlt_rank *me)
{
    mlt_environ_own *own = own_of(me);
    char ***place = place_of(me), **now = *place;
    uint32_t count = 0;
    while (now && now[count])
        count++;
    bool other = now != own->array; // the common one, or one that the program has set
    MLT_ARRAY_WANT(own->array, count + 2, own->room);
    if (other && count)
        memcpy(own->array, now, count * sizeof *now);
    own->array[count] = NULL;
    *place = own->array;
    return count;
}

// Sets an entry of the form name=value.
static void put(mlt_rank *me, char *entry, size_t length)
{
    uint32_t count = own_array(me);
    char **array = own_of(me)->array, **old = find(array, entry, length);
    if (old) {
        *old = entry;
        return;
    }
    array[count] = entry;
    array[count + 1] = NULL;
}

static void take_away(mlt_rank *me, const char *name)
{
    size_t length = strlen(name);
    if (!find(array_of(me), name, length))
        return;
    (void)own_array(me);
    char **entry;
    while ((entry = find(own_of(me)->array, name, length)))
        for (; *entry; entry++)
            entry[0] = entry[1];
}

// ---- what programs call

MLT_EXPORT char *getenv(const char *name)
{
    mlt_rank *me = caller();
    if (!me)
        return MLT_LIBC(getenv)(name);
    size_t length = strlen(name);
    char **entry = length ? find(array_of(me), name, length) : NULL;
    return entry ? *entry + length + 1 : NULL;
}

MLT_EXPORT char *secure_getenv(const char *name)
{
    return getauxval(AT_SECURE) ? NULL : getenv(name);
}

MLT_EXPORT int setenv(const char *name, const char *value, int replace)
{
    mlt_rank *me = caller();
    if (!me)
        return MLT_LIBC(setenv)(name, value, replace);
    if (!is_name(name))
        return -1;
    size_t length = strlen(name);
    if (!replace && find(array_of(me), name, length))
        return 0;
    mlt_environ_own *own = own_of(me);
    char *entry = mlt_take_more(NULL, 1, length + strlen(value) + 2);
    stpcpy(stpcpy(stpcpy(entry, name), "="), value);
    MLT_ARRAY_WANT(own->strings, own->string_count + 1, own->string_room);
    own->strings[own->string_count++] = entry;
    put(me, entry, length);
    return 0;
}

MLT_EXPORT int unsetenv(const char *name)
{
    mlt_rank *me = caller();
    if (!me)
        return MLT_LIBC(unsetenv)(name);
    if (!is_name(name))
        return -1;
    take_away(me, name);
    return 0;
}

// The string itself becomes part of the environment; without '=' it takes a name away.
MLT_EXPORT int putenv(char *entry)
{
    mlt_rank *me = caller();
    if (!me)
        return MLT_LIBC(putenv)(entry);
    const char *equals = strchr(entry, '=');
    if (equals)
        put(me, entry, (size_t)(equals - entry));
    else
        take_away(me, entry);
    return 0;
}

MLT_EXPORT int clearenv(void)
{
    mlt_rank *me = caller();
    if (!me)
        return MLT_LIBC(clearenv)();
    *place_of(me) = NULL;
    return 0;
}

// ---- programs that a rank starts

// libc hands its own environment on, which is the first rank's: a shell with another one is started
// here. Its standard stream `which` is fd, unless fd is negative. *pid; an errno otherwise.
static int start_shell(const char *command, char **with, int fd, int which, pid_t *pid)
{
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command,
                    NULL};
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    int error = fd < 0 ? 0 : posix_spawn_file_actions_adddup2(&actions, fd, which);
    if (!error)
        error = posix_spawn(pid, "/bin/sh", &actions, NULL, argv, with);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

// Signals from the terminal are not ignored meanwhile, as by libc's: that would be for all ranks of
// the process.
MLT_EXPORT int system(const char *command)
{
    char **own = mlt_environ();
    if (!command || own == environ)
        return MLT_LIBC(system)(command);
    pid_t pid;
    errno = start_shell(command, own, -1, 0, &pid);
    return errno ? -1 : wait_for(pid);
}

// Streams of popen, under `lock`.
typedef struct piped {
    struct piped *next;
    FILE *stream;
    pid_t pid;
} piped;

static struct {
    pthread_mutex_t lock;
    piped *first;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The shell at the other end of a pipe, of which the stream is this end. False: errno tells.
static bool pipe_shell(const char *command, char **with, bool reads, bool stays_open, piped *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int own = ends[!reads], other = ends[reads];
    out->stream = fdopen(own, reads ? "r" : "w");
    int error = out->stream ? start_shell(command, with, other, reads, &out->pid) : errno;
    close(other);
    if (error && out->stream)
        fclose(out->stream);
    else if (error)
        close(own);
    else if (stays_open)
        (void)fcntl(own, F_SETFD, 0);
    errno = error;
    return !error;
}

MLT_EXPORT FILE *popen(const char *command, const char *mode)
{
    char **own = mlt_environ();
    bool known = (mode[0] == 'r' || mode[0] == 'w') && (!mode[1] || strcmp(mode + 1, "e") == 0);
    if (own == environ || !known)
        return MLT_LIBC(popen)(command, mode);
    piped *new = mlt_take(1, sizeof *new);
    if (!pipe_shell(command, own, mode[0] == 'r', !mode[1], new)) {
        free(new);
        return NULL;
    }
    pthread_mutex_lock(&streams.lock);
    new->next = streams.first;
    streams.first = new;
    pthread_mutex_unlock(&streams.lock);
    return new->stream;
}

static piped *take_piped(const FILE *stream)
{
    pthread_mutex_lock(&streams.lock);
    piped **at = &streams.first;
    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    piped *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&streams.lock);
    return found;
}

MLT_EXPORT int pclose(FILE *stream)
{
    piped *own = take_piped(stream);
    if (!own)
        return MLT_LIBC(pclose)(stream);
    pid_t pid = own->pid;
    free(own);
    fclose(stream);
    return wait_for(pid);
}
