// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/bind.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"

typedef enum bind_unit {
    UNIT_NONE,
    UNIT_HWTHREAD,
    UNIT_CORE,
    UNIT_NUMA,
    UNIT_SOCKET,
    UNIT_ALL
} bind_unit;

// The usual words of Open MPI and MPICH.
static const struct {
    const char *word;
    bind_unit unit;
} words[] = {
    {"none", UNIT_NONE},      {"hwthread", UNIT_HWTHREAD}, {"core", UNIT_CORE},
    {"socket", UNIT_SOCKET},  {"numa", UNIT_NUMA},         {"slot", UNIT_CORE},
    {"node", UNIT_ALL},       {"board", UNIT_ALL},         {"machine", UNIT_ALL},
    {"package", UNIT_SOCKET}, {"l1cache", UNIT_CORE},      {"l2cache", UNIT_CORE},
    {"l3cache", UNIT_NUMA},   {"rr", UNIT_CORE},           {"seq", UNIT_CORE},
    {"ppr", UNIT_CORE},       {"dist", UNIT_CORE},         {"hwthreads", UNIT_HWTHREAD},
    {"cores", UNIT_CORE},     {"sockets", UNIT_SOCKET},
};

// Modifiers without a word, such as ":OVERSUBSCRIBE", mean the default unit, a core.
static bool find_word(const char *text, bind_unit *out)
{
    size_t n = strcspn(text, ":");
    *out = UNIT_CORE;
    if (n == 0 && text[0])
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == n && strncasecmp(words[i].word, text, n) == 0) {
            *out = words[i].unit;
            return true;
        }
    return false;
}

static bool bind_is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

// "PE=2", or "2" as MPICH has it. False: it is neither; *out is 0 if the number is wrong.
static bool read_each(const char *text, size_t n, uint32_t *out)
{
    enum { MOST = 1 << 16 };
    bool named = n >= 3 && strncasecmp(text, "PE=", 3) == 0;
    const char *digits = named ? text + 3 : text;
    size_t count = n - (size_t)(digits - text);
    bool number = count > 0 && strspn(digits, "0123456789") >= count;
    unsigned long each = number && count < 8 ? strtoul(digits, NULL, 10) : 0;
    *out = each <= MOST ? (uint32_t)each : 0;
    return named || number;
}

// One modifier. False if it is not known, or its number is wrong.
static bool read_modifier(const char *text, size_t n, mlt_bind_modifiers *out)
{
    static const char *const harmless[] = {
        "oversubscribe", "span",        "inherit",      "noinherit", "hwtcpus",         "corecpus",
        "ordered",       "no-overload", "if-supported", "report",    "overload-allowed"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (bind_is_word(text, n, harmless[i]))
            return true;
    uint32_t each;
    if (read_each(text, n, &each)) {
        out->each = each;
        return each > 0;
    }
    bool *flag = bind_is_word(text, n, "nooversubscribe") ? &out->no_oversubscribe
                 : bind_is_word(text, n, "nolocal")       ? &out->no_local
                                                          : NULL;
    if (flag)
        *flag = true;
    return flag;
}

// What stands behind the word; of "ppr:N:node" behind the third.
static const char *modifiers_of(const char *text)
{
    int skipped = bind_is_word(text, strcspn(text, ":"), "ppr") ? 3 : 1;
    while (skipped-- > 0 && *text) {
        text += strcspn(text, ":");
        text += *text == ':';
    }
    return text;
}

bool mlt_bind_word_known(const char *word)
{
    bind_unit ignored;
    return find_word(word, &ignored);
}

bool mlt_bind_word_read(const char *word, mlt_bind_modifiers *out, char *why, size_t why_size)
{
    *out = (mlt_bind_modifiers){.each = 0};
    if (bind_is_word(word, strcspn(word, ":"), "user") || strcasestr(word, "PE-LIST="))
        return mlt_deny(why, why_size,
                        "'%s': --cpu-set 0-3,8 says which processors the ranks may use", word);
    if (!mlt_bind_word_known(word))
        return mlt_deny(why, why_size, "'%s' should be core, hwthread, socket, numa or none", word);
    for (const char *at = modifiers_of(word); *at; at += *at != '\0') {
        size_t n = strcspn(at, ":,");
        if (!read_modifier(at, n, out))
            return mlt_deny(why, why_size,
                            "'%s' ends with '%.*s', but should with PE=N (cores of each worker), "
                            "OVERSUBSCRIBE, NOOVERSUBSCRIBE or NOLOCAL",
                            word, (int)n, at);
        at += n;
    }
    return true;
}

// ---- sets of processors

static bool cpus_have(const mlt_cpus *set, size_t cpu)
{
    return set->words[cpu / 64] >> cpu % 64 & 1;
}

static void cpus_add(mlt_cpus *set, size_t cpu)
{
    set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static mlt_cpus cpus_common(const mlt_cpus *a, const mlt_cpus *b)
{
    mlt_cpus both;
    for (size_t i = 0; i < MLT_CPUS / 64; i++)
        both.words[i] = a->words[i] & b->words[i];
    return both;
}

static void cpus_join(mlt_cpus *to, const mlt_cpus *more)
{
    for (size_t i = 0; i < MLT_CPUS / 64; i++)
        to->words[i] |= more->words[i];
}

static size_t cpus_count(const mlt_cpus *set)
{
    size_t count = 0;
    for (size_t i = 0; i < MLT_CPUS / 64; i++)
        count += (size_t)__builtin_popcountll(set->words[i]);
    return count;
}

static bool cpus_meet(const mlt_cpus *a, const mlt_cpus *b)
{
    mlt_cpus both = cpus_common(a, b);
    return cpus_count(&both) > 0;
}

// Processors that mpirun may use. False if the system does not say.
static bool allowed_set(mlt_cpus *set)
{
    *set = (mlt_cpus){{0}};
    return sched_getaffinity(0, sizeof *set, (cpu_set_t *)set) == 0;
}

// Reads a list such as "0-3,8" into set, as far as it is one; returns where it ends.
static const char *parse_list(const char *text, mlt_cpus *set)
{
    char *at = (char *)(uintptr_t)text;
    *set = (mlt_cpus){{0}};
    while (isdigit((unsigned char)*at)) {
        unsigned long first = strtoul(at, &at, 10), last = first;
        if (*at == '-' && isdigit((unsigned char)at[1]))
            last = strtoul(at + 1, &at, 10);
        for (; first <= last && first < MLT_CPUS; first++)
            cpus_add(set, first);
        if (*at != ',' || !isdigit((unsigned char)at[1]))
            break;
        at++;
    }
    return at;
}

// The same of a file; false if there is no such file.
static bool bind_read_list(const char *path, mlt_cpus *set)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    (void)parse_list(text, set);
    return true;
}

// Sets `set` to the processors of cpu's unit (itself, if the system does not say).
static void unit_of(bind_unit u, size_t cpu, mlt_cpus *set)
{
    static const char *const files[][2] = {
        [UNIT_CORE] = {"topology/core_cpus_list", "topology/thread_siblings_list"},
        [UNIT_SOCKET] = {"topology/package_cpus_list", "topology/core_siblings_list"},
    };
    char path[128];
    if (u == UNIT_CORE || u == UNIT_SOCKET) {
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/%s", cpu, files[u][i]);
            if (bind_read_list(path, set) && cpus_have(set, cpu))
                return;
        }
    } else if (u == UNIT_NUMA) {
        for (int node = 0; node < 1024; node++) {
            snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
            if (!bind_read_list(path, set)) {
                if (node > 0)
                    continue;
                break;
            }
            if (cpus_have(set, cpu))
                return;
        }
    } else if (u == UNIT_ALL) {
        memset(set, 0xff, sizeof *set);
        return;
    }
    *set = (mlt_cpus){{0}};
    cpus_add(set, cpu);
}

// All units of that kind within `allowed`, in the order of their first processor.
static size_t list_units(bind_unit u, const mlt_cpus *allowed, mlt_cpus **out)
{
    mlt_cpus *list = NULL, seen = {{0}};
    size_t count = 0, room = 0;
    for (size_t cpu = 0; cpu < MLT_CPUS; cpu++) {
        if (!cpus_have(allowed, cpu) || cpus_have(&seen, cpu))
            continue;
        mlt_cpus set;
        unit_of(u, cpu, &set);
        MLT_ARRAY_WANT(list, count + 1, room);
        list[count] = cpus_common(&set, allowed);
        cpus_join(&seen, &list[count++]);
    }
    *out = list;
    return count;
}

static void replace_places(mlt_bind *bind, mlt_cpus *places, size_t count)
{
    free(bind->places);
    bind->places = places;
    bind->count = count;
}

// Reorders places so that neighbours lie in different groups: the first of each group, then the
// second of each...
static void deal_out(mlt_bind *bind, const mlt_cpus *groups, size_t group_count)
{
    mlt_cpus *dealt = mlt_xcalloc(bind->count, sizeof *dealt);
    bool *taken = mlt_xcalloc(bind->count, sizeof *taken);
    size_t n = 0, before;
    do {
        before = n;
        for (size_t g = 0; g < group_count; g++) {
            size_t i = 0;
            while (i < bind->count && (taken[i] || !cpus_meet(&bind->places[i], &groups[g])))
                i++;
            if (i == bind->count)
                continue;
            taken[i] = true;
            dealt[n++] = bind->places[i];
        }
    } while (n > before);
    free(taken);
    replace_places(bind, dealt, n);
}

// Merges every `each` successive places of a group into one. A group's remainder is dropped.
static void join_places(mlt_bind *bind, size_t each, const mlt_cpus *groups, size_t group_count)
{
    mlt_cpus *joined = mlt_xcalloc(bind->count, sizeof *joined);
    size_t count = 0;
    for (size_t g = 0; g < group_count; g++) {
        size_t held = 0; // by the place that is being joined
        for (size_t i = 0; i < bind->count; i++) {
            if (!cpus_meet(&bind->places[i], &groups[g]))
                continue;
            if (held == 0)
                joined[count] = (mlt_cpus){{0}};
            cpus_join(&joined[count], &bind->places[i]);
            held = (held + 1) % each;
            count += held == 0;
        }
    }
    replace_places(bind, joined, count);
}

// Gives each place `each` cores of one group, and deals the places out over the groups if `deal`.
// A group is a unit that --map-by names.
static void group_places(mlt_bind *bind, bind_unit by, bool deal, size_t each,
                         const mlt_cpus *allowed)
{
    mlt_cpus *groups;
    size_t n = list_units(by, allowed, &groups);
    if (each > 1)
        join_places(bind, each, groups, n);
    if (deal)
        deal_out(bind, groups, n);
    free(groups);
}

// ---- cores for a job alone

// Claims the core until mpirun ends, by binding an abstract socket name, which Linux gives to one
// process only. Returns its descriptor; -1: another job has it, or the system refuses.
static int claim(size_t cpu)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "millet-core-%zu", cpu);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&name, length) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static size_t first_of(const mlt_bind *bind, size_t place)
{
    size_t cpu = 0;
    while (!cpus_have(&bind->places[place], cpu))
        cpu++;
    return cpu;
}

// Claims places in their order. wanted > 0: keeps only the first `wanted` places that no other job
// has; false if there are fewer. wanted == 0: keeps all places, and claims those that are free.
static bool claim_places(mlt_bind *bind, size_t wanted)
{
    size_t kept = 0;
    bind->claims = mlt_xcalloc(bind->count, sizeof *bind->claims);
    for (size_t i = 0; i < bind->count; i++) {
        int fd = wanted && kept == wanted ? -1 : claim(first_of(bind, i));
        if (fd >= 0)
            bind->claims[bind->claim_count++] = fd;
        if (!wanted || fd >= 0)
            bind->places[kept++] = bind->places[i];
    }
    bind->count = kept;
    return kept >= wanted;
}

bool mlt_bind_by_default(uint32_t workers, size_t cores, uint32_t running)
{
    return workers > 1 && workers <= cores && (workers > cores / 2 || running <= 1);
}

uint32_t mlt_bind_parse_loadavg(const char *loadavg)
{
    unsigned running;
    return sscanf(loadavg, "%*f %*f %*f %u/", &running) == 1 ? running : UINT32_MAX;
}

// Processes and threads of the whole machine that run now, this one included.
static uint32_t running_now(void)
{
    char text[128];
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return mlt_bind_parse_loadavg(text);
}

void mlt_bind_fini(mlt_bind *bind)
{
    for (size_t i = 0; i < bind->claim_count; i++)
        close(bind->claims[i]);
    free(bind->claims);
    free(bind->places);
    *bind = (mlt_bind){.count = 0};
}

// PE=N of either; --bind-to says it as MPICH does.
static uint32_t each_of(const char *bind_to, const char *map_by)
{
    mlt_bind_modifiers to = {.each = 0}, by = {.each = 0};
    char ignored[256];
    if (bind_to)
        (void)mlt_bind_word_read(bind_to, &to, ignored, sizeof ignored);
    if (map_by)
        (void)mlt_bind_word_read(map_by, &by, ignored, sizeof ignored);
    return to.each ? to.each : by.each ? by.each : 1;
}

void mlt_bind_plan(mlt_bind *bind, const char *bind_to, const char *map_by, uint32_t workers)
{
    *bind = (mlt_bind){.count = 0};
    bind_unit to = UNIT_CORE, by = UNIT_CORE;
    uint32_t each = each_of(bind_to, map_by);
    if (bind_to)
        (void)find_word(bind_to, &to);
    if (map_by)
        (void)find_word(map_by, &by);
    if (to == UNIT_NONE || to == UNIT_ALL)
        return;
    mlt_cpus allowed;
    if (!allowed_set(&allowed))
        return;
    bool told = bind_to || each > 1, groups = (by == UNIT_SOCKET || by == UNIT_NUMA) && to < by;
    if (told || (workers > 1 && workers <= cpus_count(&allowed)))
        bind->count = list_units(to, &allowed, &bind->places);
    bool due = bind->count && !told && mlt_bind_by_default(workers, bind->count, running_now());
    if (bind->count && told)
        (void)claim_places(bind, 0);
    if (bind->count && (groups || each > 1))
        group_places(bind, groups ? by : UNIT_ALL, groups, each, &allowed);
    bind->lacks = each > 1 && bind->count == 0 ? each : 0;
    if (bind->count && !told && (!due || !claim_places(bind, workers)))
        mlt_bind_fini(bind);
}

bool mlt_bind_list_known(const char *list, char *why, size_t why_size)
{
    mlt_cpus ignored;
    const char *end = parse_list(list, &ignored);
    if (end > list && !*end)
        return true;
    return mlt_deny(why, why_size, "'%s' should be a list of processors such as 0-3,8", list);
}

bool mlt_bind_restrict(const char *list, char *why, size_t why_size)
{
    mlt_cpus allowed, wanted;
    char text[256] = "none";
    if (!mlt_bind_list_known(list, why, why_size))
        return false;
    (void)parse_list(list, &wanted);
    bool known = allowed_set(&allowed);
    mlt_cpus both = cpus_common(&wanted, &allowed);
    if (known && cpus_count(&wanted) > 0 && memcmp(&both, &wanted, sizeof both) == 0 &&
        sched_setaffinity(0, sizeof wanted, (const cpu_set_t *)&wanted) == 0)
        return true;
    if (known)
        mlt_cpus_text(&allowed, text, sizeof text);
    return mlt_deny(why, why_size,
                    "'%s' names a processor that ranks may not use here; they may use %s", list,
                    text);
}

bool mlt_bind_workers_cpus(const mlt_bind *bind, uint32_t first_worker, uint32_t workers,
                           mlt_cpus *set)
{
    *set = (mlt_cpus){{0}};
    for (uint32_t w = 0; w < workers && w < bind->count; w++)
        cpus_join(set, &bind->places[(first_worker + w) % bind->count]);
    return bind->count > 0;
}

bool mlt_bind_worker_bitmap(const mlt_bind *bind, uint32_t worker, uint64_t *map, size_t bits)
{
    if (bind->count == 0)
        return false;
    const mlt_cpus *place = &bind->places[worker % bind->count];
    memcpy(map, place->words, bits / 8);
    for (size_t cpu = bits; cpu < MLT_CPUS; cpu++)
        if (cpus_have(place, cpu))
            return false;
    return true;
}

void mlt_cpus_text(const mlt_cpus *set, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t cpu = 0; cpu < MLT_CPUS && n < size; cpu++) {
        size_t last = cpu;
        if (!cpus_have(set, cpu))
            continue;
        while (last + 1 < MLT_CPUS && cpus_have(set, last + 1))
            last++;
        n += (size_t)snprintf(text + n, size - n, last > cpu ? "%s%zu-%zu" : "%s%zu", n ? "," : "",
                              cpu, last);
        cpu = last;
    }
}
