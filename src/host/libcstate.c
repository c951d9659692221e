// SPDX-License-Identifier: BSD-3-Clause
// Functions of libc with hidden state, in versions that keep it for each rank. A process that holds
// one rank gets libc's own. The sequences of numbers are libc's too: the same program gives the
// same numbers in every mode. getopt, whose state the program reads itself, is in getopt.c.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/export.h"
#include "base/memory.h"
#include "host/entry.h"
#include "host/libc.h"
#include "host/own.h"

struct mlt_libc_state {
    char *token;
    struct random_data random;
    int32_t random_words[32]; // libc's own size
    char *random_array;       // where the numbers of random come from now
    struct drand48_data drand48;
    struct tm time;
    char time_text[64], error_text[128];
};

void mlt_libc_state_free(struct mlt_libc_state *state)
{
    free(state);
}

// The calling rank's; NULL: use libc's. Other threads of a rank have libc's: what is safe for
// threads there stays so.
static struct mlt_libc_state *own_state(void)
{
    if (!mlt_entry_many() || !mlt_sched_self)
        return NULL;
    mlt_rank *me = mlt_rank_self();
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

MLT_EXPORT char *strtok(char *restrict string, const char *restrict delimiters)
{
    struct mlt_libc_state *own = own_state();
    return own ? strtok_r(string, delimiters, &own->token) : MLT_LIBC(strtok)(string, delimiters);
}

MLT_EXPORT long random(void)
{
    struct mlt_libc_state *own = own_state();
    int32_t n;
    if (!own)
        return MLT_LIBC(random)();
    random_r(&own->random, &n);
    return n;
}

MLT_EXPORT void srandom(unsigned seed)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        srandom_r(seed, &own->random);
    else
        MLT_LIBC(srandom)(seed);
}

MLT_EXPORT char *initstate(unsigned seed, char *array, size_t bytes)
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

MLT_EXPORT char *setstate(char *array)
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

MLT_EXPORT int rand(void)
{
    struct mlt_libc_state *own = own_state();
    int32_t n;
    if (!own)
        return MLT_LIBC(rand)();
    random_r(&own->random, &n);
    return n;
}

MLT_EXPORT void srand(unsigned seed)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        srandom_r(seed, &own->random);
    else
        MLT_LIBC(srand)(seed);
}

MLT_EXPORT double drand48(void)
{
    struct mlt_libc_state *own = own_state();
    double n;
    if (!own)
        return MLT_LIBC(drand48)();
    drand48_r(&own->drand48, &n);
    return n;
}

MLT_EXPORT long lrand48(void)
{
    struct mlt_libc_state *own = own_state();
    long n;
    if (!own)
        return MLT_LIBC(lrand48)();
    lrand48_r(&own->drand48, &n);
    return n;
}

MLT_EXPORT long mrand48(void)
{
    struct mlt_libc_state *own = own_state();
    long n;
    if (!own)
        return MLT_LIBC(mrand48)();
    mrand48_r(&own->drand48, &n);
    return n;
}

MLT_EXPORT void srand48(long seed)
{
    struct mlt_libc_state *own = own_state();
    if (own)
        srand48_r(seed, &own->drand48);
    else
        MLT_LIBC(srand48)(seed);
}

MLT_EXPORT unsigned short *seed48(unsigned short seed[3])
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(seed48)(seed);
    seed48_r(seed, &own->drand48);
    return own->drand48.__old_x;
}

MLT_EXPORT void lcong48(unsigned short parameters[7])
{
    struct mlt_libc_state *own = own_state();
    if (own)
        lcong48_r(parameters, &own->drand48);
    else
        MLT_LIBC(lcong48)(parameters);
}

MLT_EXPORT struct tm *localtime(const time_t *at)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(localtime)(at);
    tzset(); // localtime_r need not
    return localtime_r(at, &own->time);
}

MLT_EXPORT struct tm *gmtime(const time_t *at)
{
    struct mlt_libc_state *own = own_state();
    return own ? gmtime_r(at, &own->time) : MLT_LIBC(gmtime)(at);
}

MLT_EXPORT char *asctime(const struct tm *at)
{
    struct mlt_libc_state *own = own_state();
    return own ? asctime_r(at, own->time_text) : MLT_LIBC(asctime)(at);
}

MLT_EXPORT char *ctime(const time_t *at)
{
    struct mlt_libc_state *own = own_state();
    if (!own)
        return MLT_LIBC(ctime)(at);
    tzset();
    return ctime_r(at, own->time_text);
}

MLT_EXPORT char *strerror(int number)
{
    struct mlt_libc_state *own = own_state();
    return own ? strerror_r(number, own->error_text, sizeof own->error_text)
               : MLT_LIBC(strerror)(number);
}
