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
        own->libc = mlt_take(1, sizeof *own->libc);
        own->libc->random_array = (char *)own->libc->random_words;
        initstate_r(1, own->libc->random_array, sizeof own->libc->random_words, &own->libc->random);
    }
    return own->libc;
}

MLT_INTERPOSE char *strtok(char *restrict string, const char *restrict delimiters)
{
    struct mlt_libc_state *own = own_state();
    return own ? strtok_r(string, delimiters, &own->token) : MLT_LIBC(strtok)(string, delimiters);
}

MLT_INTERPOSE long random(void)
{
    struct mlt_libc_state *own = own_state();
    int32_t n;
    if (!own)
        return MLT_LIBC(random)();
    random_r(&own->random, &n);
    return n;
}

MLT_INTERPOSE void srandom(unsigned seed)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        srandom_r(seed, &own->random);
    else
        MLT_LIBC(srandom)(seed);
}

MLT_INTERPOSE char *initstate(unsigned seed, char *array, size_t bytes)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(initstate)(seed, array, bytes);
    char *old = own->random_array;
    if (initstate_r(seed, array, bytes, &own->random) != 0)
        return NULL;
    own->random_array = array;
    return old;
}

MLT_INTERPOSE char *setstate(char *array)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(setstate)(array);
    char *old = own->random_array;
    if (setstate_r(array, &own->random) != 0)
        return NULL;
    own->random_array = array;
    return old;
}

MLT_INTERPOSE int rand(void)
{
    struct mlt_libc_state *own = own_state();
    int32_t n;
    if (!own)
        return MLT_LIBC(rand)();
    random_r(&own->random, &n);
    return n;
}

MLT_INTERPOSE void srand(unsigned seed)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        srandom_r(seed, &own->random);
    else
        MLT_LIBC(srand)(seed);
}

// Numbers of the one sequence, and of one whose place the caller keeps.
#define NUMBERS(type, name, name_of)                                                               \
    MLT_INTERPOSE type name(void)                                                                  \
    {                                                                                              \
        struct mlt_libc_state *own = own_state();                                                  \
        type n;                                                                                    \
        if (!own)                                                                                  \
            return MLT_LIBC(name)();                                                               \
        name##_r(&own->drand48, &n);                                                               \
        return n;                                                                                  \
    }                                                                                              \
    MLT_INTERPOSE type name_of(unsigned short place[3])                                            \
    {                                                                                              \
        struct mlt_libc_state *own = own_state();                                                  \
        type n;                                                                                    \
        if (!own)                                                                                  \
            return MLT_LIBC(name_of)(place);                                                       \
        name_of##_r(place, &own->drand48, &n);                                                     \
        return n;                                                                                  \
    }
NUMBERS(double, drand48, erand48)
NUMBERS(long, lrand48, nrand48)
NUMBERS(long, mrand48, jrand48)

MLT_INTERPOSE void srand48(long seed)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        srand48_r(seed, &own->drand48);
    else
        MLT_LIBC(srand48)(seed);
}

MLT_INTERPOSE unsigned short *seed48(unsigned short seed[3])
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(seed48)(seed);
    seed48_r(seed, &own->drand48);
    return own->drand48.__old_x;
}

MLT_INTERPOSE void lcong48(unsigned short parameters[7])
{
    struct mlt_libc_state *own = own_state();
    if (own)
        lcong48_r(parameters, &own->drand48);
    else
        MLT_LIBC(lcong48)(parameters);
}

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

MLT_INTERPOSE struct tm *localtime(const time_t *at)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(localtime)(at);
    tzset(); // localtime_r need not; and the rank's variables want it
    return localtime_r(at, &own->time);
}

MLT_INTERPOSE struct tm *gmtime(const time_t *at)
{
    struct mlt_libc_state *own = own_state();
    return own ? gmtime_r(at, &own->time) : MLT_LIBC(gmtime)(at);
}

MLT_INTERPOSE char *asctime(const struct tm *at)
{
    struct mlt_libc_state *own = own_state();
    return own ? asctime_r(at, own->time_text) : MLT_LIBC(asctime)(at);
}

MLT_INTERPOSE char *ctime(const time_t *at)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(ctime)(at);
    tzset();
    return ctime_r(at, own->time_text);
}

MLT_INTERPOSE char *strerror(int number)
{
    struct mlt_libc_state *own = own_state();
    return own ? strerror_r(number, own->error_text, sizeof own->error_text)
               : MLT_LIBC(strerror)(number);
}

// ---- characters of several bytes: where a rank stands in a text

MLT_INTERPOSE int mblen(const char *text, size_t most)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(mblen)(text, most);
    if (!text)
        memset(&own->length_state, 0, sizeof own->length_state);
    int n = text ? (int)mbrlen(text, most, &own->length_state) : 0;
    return n < 0 ? -1 : n;
}

MLT_INTERPOSE int mbtowc(wchar_t *restrict to, const char *restrict text, size_t most)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(mbtowc)(to, text, most);
    if (!text)
        memset(&own->to_wide_state, 0, sizeof own->to_wide_state);
    int n = text ? (int)mbrtowc(to, text, most, &own->to_wide_state) : 0;
    return n < 0 ? -1 : n;
}

MLT_INTERPOSE int wctomb(char *text, wchar_t c)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(wctomb)(text, c);
    if (!text)
        memset(&own->from_wide_state, 0, sizeof own->from_wide_state);
    return text ? (int)wcrtomb(text, c, &own->from_wide_state) : 0;
}

// ---- the one hash table

MLT_INTERPOSE int hcreate(size_t entries)
{
    struct mlt_libc_state *own = own_state();
    return own ? hcreate_r(entries, &own->table) : MLT_LIBC(hcreate)(entries);
}

MLT_INTERPOSE ENTRY *hsearch(ENTRY item, ACTION action)
{
    struct mlt_libc_state *own = own_state();
    ENTRY *found = NULL;
    if (!own)
        return MLT_LIBC(hsearch)(item, action);
    return hsearch_r(item, action, &found, &own->table) ? found : NULL;
}

MLT_INTERPOSE void hdestroy(void)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        hdestroy_r(&own->table);
    else
        MLT_LIBC(hdestroy)();
}

// ---- answers that stand in libc's memory

static struct answers *own_answers(void)
{
    struct mlt_libc_state *own = own_state();
    if (own && !own->answers)
        own->answers = mlt_take(1, sizeof *own->answers);
    return own ? own->answers : NULL;
}

MLT_INTERPOSE char *inet_ntoa(struct in_addr address)
{
    struct answers *own = own_answers();
    if (!own)
        return MLT_LIBC(inet_ntoa)(address);
    (void)inet_ntop(AF_INET, &address, own->address, sizeof own->address); // there is room
    return own->address;
}

MLT_INTERPOSE char *ttyname(int fd)
{
    struct answers *own = own_answers();
    if (!own)
        return MLT_LIBC(ttyname)(fd);
    int error = ttyname_r(fd, own->terminal, sizeof own->terminal);
    errno = error ? error : errno;
    return error ? NULL : own->terminal;
}

MLT_INTERPOSE char *getlogin(void)
{
    struct answers *own = own_answers();
    if (!own)
        return MLT_LIBC(getlogin)();
    int error = getlogin_r(own->login, sizeof own->login);
    errno = error ? error : errno;
    return error ? NULL : own->login;
}

// Questions to the databases of users and groups; errno stays if the answer is "nobody".
#define DATABASE(kind, field, name, type)                                                          \
    MLT_INTERPOSE struct kind *name(type what)                                                     \
    {                                                                                              \
        struct answers *own = own_answers();                                                       \
        struct kind *found = NULL;                                                                 \
        if (!own)                                                                                  \
            return MLT_LIBC(name)(what);                                                           \
        int error = name##_r(what, &own->field, own->field##_text, ANSWER, &found);                \
        errno = error ? error : errno;                                                             \
        return found;                                                                              \
    }
DATABASE(passwd, user, getpwnam, const char *)
DATABASE(passwd, user, getpwuid, uid_t)
DATABASE(group, group, getgrnam, const char *)
DATABASE(group, group, getgrgid, gid_t)

MLT_INTERPOSE struct hostent *gethostbyname(const char *name)
{
    struct answers *own = own_answers();
    struct hostent *found = NULL;
    if (!own)
        return MLT_LIBC(gethostbyname)(name);
    int error = ERANGE;
    for (size_t room = ANSWER; error == ERANGE && room <= HOST_MOST; room *= 2) {
        if (room > own->host_room)
            own->host_text = mlt_take_more(own->host_text, own->host_room = room, 1);
        error = gethostbyname_r(name, &own->host, own->host_text, own->host_room, &found, &h_errno);
    }
    return error ? NULL : found;
}
