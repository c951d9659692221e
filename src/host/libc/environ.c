// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/environ.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/export.h"
#include "base/memory.h"
#include "base/text.h"
#include "gpu/stream.h"
#include "host/entry.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/start.h"
#include "host/stdio/input.h"

typedef struct mlt_environ {
    char **array; // as this file made it; the program may have another one now
    uint32_t room;
    char **place;  // in the place of `environ`, if the rank has none
    void **memory; // strings and arrays, which stay as long as the rank
    uint32_t memory_count, memory_room;
} mlt_environ_own;

enum { MOST_DEALT = 64 }; // GPUs of a host
static const char deal_name[] = "MILLET_GPU_DEAL", device_name[] = "MILLET_GPU_DEVICE";

// What ranks begin with; nobody changes it. Where mpirun has dealt GPUs there are several, which
// differ in MILLET_GPU_DEVICE: rank i of the process begins with number i % begin_count.
static char ***begins, **begin_only;
static uint32_t begin_count = 1;
// Threads of a rank may all change its environment, and threads that outlive their ranks share the
// process's: libc frees an array that has become too small while others read it.
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

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

// ---- whose

static char **begin_of(const mlt_rank *me)
{
    return begin_count > 1 ? begins[mlt_globals_index(me) % begin_count] : begin_only;
}

static struct mlt_environ *environ_own_of(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->environ) {
        own->environ = mlt_xcalloc(1, sizeof *own->environ);
        own->environ->place = begin_of(me);
    }
    return own->environ;
}

// The rank's variable.
static char ***environ_place_of(mlt_rank *me)
{
    char ***own = mlt_globals_are_own() ? mlt_globals_variable(me, &environ) : NULL;
    return own ? own : &environ_own_of(me)->place;
}

// As place_of, for a look: a rank that has changed nothing needs nothing of its own.
static char **array_of(mlt_rank *me)
{
    char ***own = mlt_globals_are_own() ? mlt_globals_variable(me, &environ) : NULL;
    if (own)
        return *own;
    const mlt_rank_own *mine = me->own;
    return mine && mine->environ ? mine->environ->place : begin_of(me);
}

// The entry of that name; NULL: none.
static char **environ_find(char **array, const char *name, size_t length)
{
    for (char **entry = array; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return entry;
    return NULL;
}

// With one more entry; NULL: with none.
static char **copy_of(char **array, char *more)
{
    size_t count = 0;
    while (array && array[count])
        count++;
    char **copy = mlt_xcalloc(count + 2, sizeof *copy);
    if (count)
        memcpy(copy, array, count * sizeof *copy);
    copy[count] = more;
    return copy;
}

// "each" numbers from `first` on, separated by commas.
static char *device_entry(uint32_t first, uint32_t each)
{
    mlt_text text = {0};
    mlt_text_add(&text, "%s=%u", device_name, first);
    for (uint32_t k = 1; k < each; k++)
        mlt_text_add(&text, ",%u", first + k);
    return text.text;
}

// What mpirun says in MILLET_GPU_DEAL (launch/plan/deal.h). The arrays stay as long as the process.
static void begin_dealt(void)
{
    char **deal = environ_find(begin_only, deal_name, sizeof deal_name - 1),
         **at = environ_find(begin_only, device_name, sizeof device_name - 1);
    unsigned kinds = 0, each = 0;
    if (!deal || !at || sscanf(*deal + sizeof deal_name, "%u,%u", &kinds, &each) != 2 ||
        kinds < 2 || kinds > MOST_DEALT || each < 1 || each > MOST_DEALT)
        return;
    begins = mlt_xcalloc(kinds, sizeof *begins);
    begins[0] = begin_only;
    for (uint32_t i = 1; i < kinds; i++) {
        begins[i] = copy_of(begin_only, NULL);
        begins[i][at - begin_only] = device_entry(i * each, each);
    }
    begin_count = kinds;
}

// Streams of the ranks' that wait for messages share the queues of the GPU's driver, of which there are few
// unless it is told otherwise (gpu/stream.h). Not by libc's setenv: what that has allocated it may free.
static char **with_queues(char **array)
{
    static const char name[] = MLT_GPU_QUEUES_NAME;
    static char entry[sizeof name + 12];
    if (environ_find(array, name, sizeof name - 1))
        return array;
    snprintf(entry, sizeof entry, "%s=%d", name, MLT_GPU_QUEUES_MOST);
    return copy_of(array, entry);
}

void mlt_environ_begin(void)
{
    begin_only = with_queues(environ);
    environ = copy_of(begin_only, NULL); // the first rank's, and libc's
    begin_dealt();
}

void mlt_environ_rank(mlt_rank *me)
{
    bool other = begin_count > 1 && mlt_globals_are_own() && mlt_globals_index(me) > 0;
    char ***own = other ? mlt_globals_variable(me, &environ) : NULL;
    if (own)
        *own = begin_of(me);
}

char **mlt_environ_given(const mlt_rank *me, char **envp)
{
    return begin_count > 1 ? begin_of(me) : envp;
}

char **mlt_environ(void)
{
    mlt_rank *me = mlt_thread_sharer();
    return me ? array_of(me) : environ;
}

void mlt_environ_forked(mlt_rank *me)
{
    if (!mlt_entry_many())
        return;
    pthread_mutex_init(&changing, NULL); // another rank may have had them
    pthread_mutex_init(&streams.lock, NULL);
    environ = array_of(me);
}

// The first rank's array is the process's, and libc may look at it for another rank right now: its
// memory stays. Strings that the rank has put into it do not.
void mlt_environ_free(mlt_environ_own *own)
{
    if (!own)
        return;
    bool process = own->array && environ == own->array;
    if (process)
        environ = begin_only;
    for (uint32_t i = 0; i < own->memory_count && !process; i++)
        free(own->memory[i]);
    free(own->memory);
    free(own);
}

// ---- looking and changing

static bool is_name(const char *name)
{
    if (name && *name && !strchr(name, '='))
        return true;
    errno = EINVAL;
    return false;
}

static void *take(mlt_environ_own *own, size_t count, size_t bytes)
{
    MLT_ARRAY_WANT(own->memory, own->memory_count + 1, own->memory_room);
    return own->memory[own->memory_count++] = mlt_xcalloc(count, bytes);
}

// Makes the rank's array its own, with room for one entry more, and returns the number of entries.
// libc may look at the first rank's at any time, for any rank: what it sees stays as memory.
static uint32_t own_array(mlt_rank *me)
{
    mlt_environ_own *own = environ_own_of(me);
    char ***place = environ_place_of(me), **now = *place;
    uint32_t count = 0;
    while (now && now[count])
        count++;
    if (count + 2 > own->room) {
        own->room = 2 * (count + 2);
        own->array = take(own, own->room, sizeof *now);
    }
    if (now != own->array) { // the common one, a smaller one, or one that the program has set
        memmove(own->array, now ? now : own->array, count * sizeof *now);
        own->array[count] = NULL;
    }
    atomic_thread_fence(memory_order_release);
    *place = own->array;
    return count;
}

// Sets an entry of the form name=value.
static void environ_put(mlt_rank *me, char *entry, size_t length)
{
    uint32_t count = own_array(me);
    char **array = environ_own_of(me)->array, **old = environ_find(array, entry, length);
    if (!old)
        array[count + 1] = NULL;
    atomic_thread_fence(memory_order_release); // libc may look
    *(old ? old : &array[count]) = entry;
}

static void take_away(mlt_rank *me, const char *name)
{
    size_t length = strlen(name);
    if (!environ_find(array_of(me), name, length))
        return;
    (void)own_array(me);
    char **entry;
    while ((entry = environ_find(environ_own_of(me)->array, name, length)))
        for (; *entry; entry++)
            entry[0] = entry[1];
}

// ---- what programs call

// Around libc's own functions, for a thread without a rank: see `changing`.
static void libc_begins(void)
{
    if (mlt_entry_many())
        pthread_mutex_lock(&changing);
}

static void libc_ends(void)
{
    if (mlt_entry_many())
        pthread_mutex_unlock(&changing);
}

MLT_INTERPOSE char *getenv(const char *name)
{
    mlt_rank *me = mlt_thread_sharer();
    if (!me) {
        libc_begins();
        char *value = MLT_LIBC(getenv)(name);
        libc_ends();
        return value;
    }
    size_t length = strlen(name);
    char **entry = length ? environ_find(array_of(me), name, length) : NULL;
    return entry ? *entry + length + 1 : NULL;
}

MLT_INTERPOSE char *secure_getenv(const char *name)
{
    return getauxval(AT_SECURE) ? NULL : getenv(name);
}

MLT_INTERPOSE int setenv(const char *name, const char *value, int replace)
{
    mlt_rank *me = mlt_thread_sharer();
    if (!me) {
        libc_begins();
        int result = MLT_LIBC(setenv)(name, value, replace);
        libc_ends();
        return result;
    }
    if (!is_name(name))
        return -1;
    size_t length = strlen(name);
    pthread_mutex_lock(&changing);
    if (replace || !environ_find(array_of(me), name, length)) {
        char *entry = take(environ_own_of(me), 1, length + strlen(value) + 2);
        stpcpy(stpcpy(stpcpy(entry, name), "="), value);
        environ_put(me, entry, length);
    }
    pthread_mutex_unlock(&changing);
    return 0;
}

MLT_INTERPOSE int unsetenv(const char *name)
{
    mlt_rank *me = mlt_thread_sharer();
    if (!me) {
        libc_begins();
        int result = MLT_LIBC(unsetenv)(name);
        libc_ends();
        return result;
    }
    if (!is_name(name))
        return -1;
    pthread_mutex_lock(&changing);
    take_away(me, name);
    pthread_mutex_unlock(&changing);
    return 0;
}

// The string itself becomes part of the environment; without '=' it takes a name away.
MLT_INTERPOSE int putenv(char *entry)
{
    mlt_rank *me = mlt_thread_sharer();
    if (!me) {
        libc_begins();
        int result = MLT_LIBC(putenv)(entry);
        libc_ends();
        return result;
    }
    const char *equals = strchr(entry, '=');
    pthread_mutex_lock(&changing);
    if (equals)
        environ_put(me, entry, (size_t)(equals - entry));
    else
        take_away(me, entry);
    pthread_mutex_unlock(&changing);
    return 0;
}

MLT_INTERPOSE int clearenv(void)
{
    mlt_rank *me = mlt_thread_sharer();
    if (!me)
        return MLT_LIBC(clearenv)();
    *environ_place_of(me) = NULL;
    return 0;
}

// ---- programs that a rank starts

// libc hands its own environment and input on, which are the first rank's: a rank's shells are
// started here. The standard stream `which` is fd, unless fd is negative. *pid; an errno otherwise.
static int start_shell(mlt_rank *me, const char *command, int fd, int which, pid_t *pid)
{
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command,
                    NULL};
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    int error = posix_spawn_file_actions_adddup2(&actions, mlt_input_of_child(me), STDIN_FILENO);
    if (!error && fd >= 0)
        error = posix_spawn_file_actions_adddup2(&actions, fd, which);
    if (!error)
        error = posix_spawn(pid, "/bin/sh", &actions, NULL, argv, array_of(me));
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
MLT_INTERPOSE int system(const char *command)
{
    mlt_rank *me = mlt_thread_sharer();
    if (!command || !me)
        return MLT_LIBC(system)(command);
    pid_t pid;
    int error = start_shell(me, command, -1, 0, &pid);
    errno = error ? error : errno;
    return error ? -1 : wait_for(pid);
}

// The shell at the other end of a pipe, of which the stream is this end. False: errno tells. No
// other program gets the end: those of other ranks would keep the pipe open.
static bool pipe_shell(mlt_rank *me, const char *command, bool reads, piped *out)
{
    int ends[2], saved = errno;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int own = ends[!reads], other = ends[reads];
    out->stream = fdopen(own, reads ? "r" : "w");
    int error = out->stream ? start_shell(me, command, other, reads, &out->pid) : errno;
    close(other);
    if (error && out->stream)
        fclose(out->stream);
    else if (error)
        close(own);
    errno = error ? error : saved;
    return !error;
}

MLT_INTERPOSE FILE *popen(const char *command, const char *mode)
{
    mlt_rank *me = mlt_thread_sharer();
    bool known = (mode[0] == 'r' || mode[0] == 'w') && (!mode[1] || strcmp(mode + 1, "e") == 0);
    if (!me || !known)
        return MLT_LIBC(popen)(command, mode);
    piped *new = mlt_xcalloc(1, sizeof *new);
    if (!pipe_shell(me, command, mode[0] == 'r', new)) {
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

MLT_INTERPOSE int pclose(FILE *stream)
{
    piped *own = take_piped(stream);
    if (!own)
        return MLT_LIBC(pclose)(stream);
    pid_t pid = own->pid;
    free(own);
    int lost = fclose(stream), status = wait_for(pid);
    return status ? status : lost;
}
