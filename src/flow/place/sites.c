// SPDX-License-Identifier: BSD-3-Clause
// The machine: hosts from a hostfile, workers on them, places of workers.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flow/place/place.h"

typedef struct reader {
    mlt_flow_sites *sites;
    int line;
    char *why;
    size_t why_size;
} reader;

static bool sites_refuse(const reader *r, const char *what, int length, const char *word)
{
    return mlt_deny(r->why, r->why_size, "hostfile, line %d: %s: \"%.*s\"", r->line, what, length,
                    word);
}

// A whole number from 1 to 65536; 0: it is none.
static uint32_t number_of(const char *text, size_t length)
{
    uint32_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || n > 65536)
            return 0;
        n = 10 * n + (uint32_t)(text[i] - '0');
    }
    return n <= 65536 ? n : 0;
}

// A host that is named again gets these slots beside those that it has.
static void add_host(mlt_flow_sites *s, const char *name, size_t length, uint32_t slots)
{
    for (uint32_t h = 0; h < s->host_count; h++)
        if (strlen(s->hosts[h].name) == length && !memcmp(s->hosts[h].name, name, length)) {
            s->hosts[h].slots += slots;
            return;
        }
    s->hosts = mlt_xrealloc(s->hosts, s->host_count + 1ull, sizeof *s->hosts);
    mlt_flow_host *host = &s->hosts[s->host_count++];
    *host = (mlt_flow_host){.slots = slots};
    memcpy(host->name, name, length);
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && !isspace((unsigned char)*at))
        at++;
    return at;
}

static const char *space_end(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

// "name", "name:2", "name slots=2"; nothing is nothing.
static bool read_line(const reader *r, const char *at, const char *end)
{
    const char *comment = memchr(at, '#', (size_t)(end - at));
    end = comment ? comment : end;
    at = space_end(at, end);
    if (at == end)
        return true;
    const char *stop = word_end(at, end), *colon = memchr(at, ':', (size_t)(stop - at));
    const char *name_end = colon ? colon : stop;
    size_t length = (size_t)(name_end - at);
    if (!length || length >= sizeof r->sites->hosts->name)
        return sites_refuse(r, "a host's name has 1 to 63 characters", (int)(stop - at), at);
    uint32_t slots = 1;
    if (colon && !(slots = number_of(colon + 1, (size_t)(stop - colon - 1))))
        return sites_refuse(r, "after the colon stands the number of workers, 1 to 65536",
                            (int)(stop - at), at);
    const char *more = space_end(stop, end), *more_end = word_end(more, end);
    if (more < end) {
        size_t size = (size_t)(more_end - more);
        if (colon || size < 7 || memcmp(more, "slots=", 6) ||
            !(slots = number_of(more + 6, size - 6)) || space_end(more_end, end) < end)
            return sites_refuse(
                r,
                "a line is \"name\", \"name:2\" or \"name slots=2\", with 1 to 65536 "
                "slots",
                (int)(end - at), at);
    }
    add_host(r->sites, at, length, slots);
    return true;
}

static bool read_hosts(reader *r, const char *text)
{
    while (*text) {
        const char *end = strchr(text, '\n');
        end = end ? end : text + strlen(text);
        r->line++;
        if (!read_line(r, text, end))
            return false;
        text = *end ? end + 1 : end;
    }
    if (!r->sites->host_count)
        return mlt_deny(r->why, r->why_size, "the hostfile names no host");
    return true;
}

// Hosts get workers in their order, each as many as it has slots; and again, if there are more.
// Workers of a host have numbers that follow each other all the same.
static void fill(mlt_flow_sites *s)
{
    uint64_t slots = 0;
    for (uint32_t h = 0; h < s->host_count; h++)
        slots += s->hosts[h].slots;
    uint64_t rounds = s->workers / slots, rest = s->workers % slots;
    uint32_t next = 0;
    for (uint32_t h = 0; h < s->host_count; h++) {
        uint64_t more = s->hosts[h].slots < rest ? s->hosts[h].slots : rest;
        rest -= more;
        for (uint64_t i = rounds * s->hosts[h].slots + more; i > 0; i--)
            s->host_of[next++] = h;
    }
}

mlt_flow_sites *mlt_flow_sites_new(uint32_t workers, uint32_t a_worker, const char *hosts,
                                   char *why, size_t why_size)
{
    if (!workers || !a_worker || (uint64_t)workers * a_worker >= UINT32_MAX) {
        snprintf(why, why_size, "%u workers with %u places each are no job", workers, a_worker);
        return NULL;
    }
    mlt_flow_sites *s = mlt_xcalloc(1, sizeof *s);
    s->workers = workers;
    s->places = workers * a_worker;
    s->worker_of = mlt_xcalloc(s->places, sizeof *s->worker_of);
    s->host_of = mlt_xcalloc(workers, sizeof *s->host_of);
    for (uint32_t p = 0; p < s->places; p++)
        s->worker_of[p] = p / a_worker;
    reader r = {.sites = s, .why = why, .why_size = why_size};
    if (!hosts) {
        add_host(s, "localhost", strlen("localhost"), workers);
    } else if (!read_hosts(&r, hosts)) {
        mlt_flow_sites_free(s);
        return NULL;
    }
    fill(s);
    return s;
}

void mlt_flow_sites_set(mlt_flow_sites *s, const uint32_t *host_of, const mlt_flow_host *hosts,
                        uint32_t count)
{
    for (uint32_t w = 1; w < s->workers; w++)
        s->mixed |= host_of[w] < host_of[w - 1];
    s->host_count = s->mixed ? 1 : count;
    s->hosts = mlt_xrealloc(s->hosts, s->host_count, sizeof *s->hosts);
    for (uint32_t h = 0; h < s->host_count; h++) {
        s->hosts[h] = hosts[h];
        s->hosts[h].slots = 0;
    }
    for (uint32_t w = 0; w < s->workers; w++) {
        s->host_of[w] = s->mixed ? 0 : host_of[w];
        s->hosts[s->host_of[w]].slots++;
    }
}

void mlt_flow_sites_free(mlt_flow_sites *sites)
{
    if (!sites)
        return;
    free(sites->worker_of);
    free(sites->host_of);
    free(sites->hosts);
    free(sites);
}
