// SPDX-License-Identifier: BSD-3-Clause
// Functions of libc with hidden state, in versions that keep it for each rank. A process that holds
// one rank gets libc's own. The sequences of numbers are libc's too: the same program gives the
// same numbers in every mode. getopt, whose state the program reads itself, is in getopt.c.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "base/export.h"
#include "base/memory.h"
#include "host/entry.h"
#include "host/fork.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/own.h"

enum { ANSWER = 4096, HOST_MOST = 64 * 1024 };

struct mlt_libc_state {
    char *token;
    struct random_data random;
    int32_t random_words[32]; // libc's own size
    char *random_array;       // where the numbers of random come from now
    struct drand48_data drand48;
    struct tm time;
    char time_text[64], error_text[128];
    mbstate_t length_state, to_wide_state, from_wide_state;
    struct hsearch_data table;
    struct answers *answers; // NULL: none yet
};

// What functions return pointers to that few programs call.
struct answers {
    char address[INET_ADDRSTRLEN], terminal[64], login[64];
    struct passwd user;
    struct group group;
    struct hostent host;
    char user_text[ANSWER], group_text[ANSWER], *host_text;
    size_t host_room;
};

void mlt_libc_state_free(struct mlt_libc_state *state)
{
    if (!state)
        return;
    hdestroy_r(&state->table);
    if (state->answers)
        free(state->answers->host_text);
    free(state->answers);
    free(state);
}

// The calling rank's, or that of the rank whose child calls; NULL: use libc's. Other threads of a
// rank have libc's: what is safe for threads there stays so.
static struct mlt_libc_state *own_state(void)
{
    if (!mlt_entry_many() || !mlt_sched_self)
        return NULL;
    mlt_rank *me = mlt_fork_is_child() ? mlt_fork_rank() : mlt_rank_self();
    if (!me || !me->mpi || me->ended)
        return NULL;
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->libc) {
        own->libc = mlt_xcalloc(1, sizeof *own->libc);
        own->libc->random_array = (char *)own->libc->random_words;
        initstate_r(1, own->libc->random_array, sizeof own->libc->random_words, &own->libc->random);
    }
    return own->libc;
}

// A function of which each rank has its own: `own` is the state of the rank that calls, and the last
// argument is what it gets. Everybody else gets libc's.
#define KEPT(type, name, parameters, arguments, result)                                            \
    MLT_INTERPOSE type name parameters                                                             \
    {                                                                                              \
        struct mlt_libc_state *own = own_state();                                                  \
        return own ? (result) : MLT_LIBC(name) arguments;                                          \
    }

// The same of one that returns nothing.
#define KEPT_VOID(name, parameters, arguments, act)                                                \
    MLT_INTERPOSE void name parameters                                                             \
    {                                                                                              \
        struct mlt_libc_state *own = own_state();                                                  \
        own ? (void)(act) : MLT_LIBC(name) arguments;                                              \
    }

KEPT(char *, strtok, (char *restrict string, const char *restrict delimiters), (string, delimiters),
     strtok_r(string, delimiters, &own->token))

// ---- random numbers

static int32_t next_random(struct mlt_libc_state *own)
{
    int32_t n;
    random_r(&own->random, &n);
    return n;
}

// The array before this one, unless that was refused.
static char *take_array(struct mlt_libc_state *own, char *array, int refused)
{
    char *old = own->random_array;
    own->random_array = refused ? old : array;
    return refused ? NULL : old;
}

KEPT(long, random, (void), (), next_random(own))
KEPT(int, rand, (void), (), next_random(own))
KEPT_VOID(srandom, (unsigned seed), (seed), srandom_r(seed, &own->random))
KEPT_VOID(srand, (unsigned seed), (seed), srandom_r(seed, &own->random))
KEPT(char *, initstate, (unsigned seed, char *array, size_t bytes), (seed, array, bytes),
     take_array(own, array, initstate_r(seed, array, bytes, &own->random)))
KEPT(char *, setstate, (char *array), (array),
     take_array(own, array, setstate_r(array, &own->random)))
KEPT_VOID(srand48, (long seed), (seed), srand48_r(seed, &own->drand48))
KEPT_VOID(lcong48, (unsigned short parameters[7]), (parameters),
          lcong48_r(parameters, &own->drand48))
KEPT(unsigned short *, seed48, (unsigned short seed[3]), (seed),
     (seed48_r(seed, &own->drand48), own->drand48.__old_x))

// Numbers of the one sequence, and of one whose place the caller keeps.
#define NUMBERS(type, name, name_of)                                                               \
    static type own_##name(struct drand48_data *own)                                               \
    {                                                                                              \
        type n;                                                                                    \
        name##_r(own, &n);                                                                         \
        return n;                                                                                  \
    }                                                                                              \
    static type own_##name_of(struct drand48_data *own, unsigned short place[3])                   \
    {                                                                                              \
        type n;                                                                                    \
        name_of##_r(place, own, &n);                                                               \
        return n;                                                                                  \
    }                                                                                              \
    KEPT(type, name, (void), (), own_##name(&own->drand48))                                        \
    KEPT(type, name_of, (unsigned short place[3]), (place), own_##name_of(&own->drand48, place))
NUMBERS(double, drand48, erand48)
NUMBERS(long, lrand48, nrand48)
NUMBERS(long, mrand48, jrand48)

// ---- variables that libc sets: the rank has its own

static void hand_over(void *variable, size_t bytes)
{
    mlt_rank *me = mlt_rank_self();
    void *own = me ? mlt_globals_variable(me, variable) : NULL;
    if (own && own != variable)
        memcpy(own, variable, bytes);
}

// The zone is the process's: TZ of a rank's own environment does not change it.
static void hand_zone_over(void)
{
    hand_over(tzname, sizeof tzname);
    hand_over(&timezone, sizeof timezone);
    hand_over(&daylight, sizeof daylight);
}

MLT_INTERPOSE void tzset(void)
{
    MLT_LIBC(tzset)();
    if (own_state())
        hand_zone_over();
}

// lgamma leaves a sign in a variable. The library is not linked with libm; who calls these is.
#define LGAMMA(type, name)                                                                         \
    MLT_INTERPOSE type name(type x)                                                                \
    {                                                                                              \
        mlt_rank *me = own_state() ? mlt_rank_self() : NULL;                                       \
        int *libms = me ? dlsym(RTLD_DEFAULT, "signgam") : NULL, other;                            \
        int *own = libms ? mlt_globals_variable(me, libms) : NULL;                                 \
        return me ? MLT_LIBC(name##_r)(x, own ? own : &other) : MLT_LIBC(name)(x);                 \
    }
LGAMMA(double, lgamma)
LGAMMA(float, lgammaf)
LGAMMA(long double, lgammal)

// localtime_r need not set the zone; and the rank's variables want it.
KEPT(struct tm *, localtime, (const time_t *at), (at), (tzset(), localtime_r(at, &own->time)))
KEPT(struct tm *, gmtime, (const time_t *at), (at), gmtime_r(at, &own->time))
KEPT(char *, asctime, (const struct tm *at), (at), asctime_r(at, own->time_text))
KEPT(char *, ctime, (const time_t *at), (at), (tzset(), ctime_r(at, own->time_text)))
KEPT(char *, strerror, (int number), (number),
     strerror_r(number, own->error_text, sizeof own->error_text))

// ---- characters of several bytes: where a rank stands in a text

static int next_wide(mbstate_t *state, wchar_t *to, const char *text, size_t most)
{
    if (!text)
        memset(state, 0, sizeof *state);
    int n = text ? (int)mbrtowc(to, text, most, state) : 0;
    return n < 0 ? -1 : n;
}

static int narrow(mbstate_t *state, char *text, wchar_t c)
{
    if (!text)
        memset(state, 0, sizeof *state);
    return text ? (int)wcrtomb(text, c, state) : 0;
}

KEPT(int, mblen, (const char *text, size_t most), (text, most),
     next_wide(&own->length_state, NULL, text, most))
KEPT(int, mbtowc, (wchar_t *restrict to, const char *restrict text, size_t most), (to, text, most),
     next_wide(&own->to_wide_state, to, text, most))
KEPT(int, wctomb, (char *text, wchar_t c), (text, c), narrow(&own->from_wide_state, text, c))

// ---- the one hash table

static ENTRY *look_up(struct hsearch_data *table, ENTRY item, ACTION action)
{
    ENTRY *found = NULL;
    return hsearch_r(item, action, &found, table) ? found : NULL;
}

KEPT(int, hcreate, (size_t entries), (entries), hcreate_r(entries, &own->table))
KEPT(ENTRY *, hsearch, (ENTRY item, ACTION action), (item, action),
     look_up(&own->table, item, action))
KEPT_VOID(hdestroy, (void), (), hdestroy_r(&own->table))

// ---- answers that stand in libc's memory

static struct answers *answers_of(struct mlt_libc_state *own)
{
    if (!own->answers)
        own->answers = mlt_xcalloc(1, sizeof *own->answers);
    return own->answers;
}

static char *text_or_error(char *text, int error)
{
    errno = error ? error : errno;
    return error ? NULL : text;
}

static char *terminal_of(struct answers *own, int fd)
{
    return text_or_error(own->terminal, ttyname_r(fd, own->terminal, sizeof own->terminal));
}

static char *login(struct answers *own)
{
    return text_or_error(own->login, getlogin_r(own->login, sizeof own->login));
}

static char *text_of(struct answers *own, struct in_addr address)
{
    (void)inet_ntop(AF_INET, &address, own->address, sizeof own->address); // there is room
    return own->address;
}

KEPT(char *, inet_ntoa, (struct in_addr address), (address), text_of(answers_of(own), address))
KEPT(char *, ttyname, (int fd), (fd), terminal_of(answers_of(own), fd))
KEPT(char *, getlogin, (void), (), login(answers_of(own)))

// Questions to the databases of users and groups; errno stays if the answer is "nobody".
#define DATABASE(kind, field, name, type)                                                          \
    static struct kind *own_##name(struct answers *own, type what)                                 \
    {                                                                                              \
        struct kind *found = NULL;                                                                 \
        int error = name##_r(what, &own->field, own->field##_text, ANSWER, &found);                \
        errno = error ? error : errno;                                                             \
        return found;                                                                              \
    }                                                                                              \
    KEPT(struct kind *, name, (type what), (what), own_##name(answers_of(own), what))
DATABASE(passwd, user, getpwnam, const char *)
DATABASE(passwd, user, getpwuid, uid_t)
DATABASE(group, group, getgrnam, const char *)
DATABASE(group, group, getgrgid, gid_t)

static struct hostent *own_host(struct answers *own, const char *name)
{
    struct hostent *found = NULL;
    int error = ERANGE;
    for (size_t room = ANSWER; error == ERANGE && room <= HOST_MOST; room *= 2) {
        if (room > own->host_room)
            own->host_text = mlt_xrealloc(own->host_text, own->host_room = room, 1);
        error = gethostbyname_r(name, &own->host, own->host_text, own->host_room, &found, &h_errno);
    }
    return error ? NULL : found;
}

KEPT(struct hostent *, gethostbyname, (const char *name), (name), own_host(answers_of(own), name))
