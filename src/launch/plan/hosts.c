// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/hosts.h"

#include <ctype.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "launch/say.h"
#include "net/address.h"

enum { HOST_BYTES = 256 };

// ---- This host

const char *mlt_hosts_own(void)
{
    static char name[HOST_BYTES];
    if (!name[0] && (gethostname(name, sizeof name - 1) != 0 || !name[0]))
        strcpy(name, "localhost");
    return name;
}

static bool is_own_name(const char *name)
{
    static const char *const loops[] = {"localhost", "localhost.localdomain", "127.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (strcasecmp(name, loops[i]) == 0)
            return true;
    // "node7" and "node7.example.org" are the same host.
    const char *own = mlt_hosts_own();
    size_t n = strcspn(name, "."), m = strcspn(own, ".");
    return strcasecmp(name, own) == 0 ||
           (n == m && strncasecmp(name, own, n) == 0 && (!name[n] || !own[m]));
}

static bool is_address_of(const struct ifaddrs *own, const mlt_address *address, const char *zone)
{
    mlt_address one;
    uint16_t port;
    return own->ifa_addr && mlt_address_of_socket(&one, &port, own->ifa_addr) &&
           mlt_address_same(&one, address) && (!*zone || strcmp(own->ifa_name, zone) == 0);
}

// The text of an address, perhaps with a zone, against those of the interfaces.
static bool is_own_address(const char *text)
{
    static struct ifaddrs *interfaces; // asked for once, and kept
    static bool asked;
    char plain[HOST_BYTES];
    mlt_address address;
    size_t n = strcspn(text, "%");
    snprintf(plain, sizeof plain, "%.*s", (int)(n < sizeof plain ? n : sizeof plain - 1), text);
    if (!mlt_address_read(&address, plain))
        return false;
    if (!asked && getifaddrs(&interfaces) != 0) // which costs a socket
        interfaces = NULL;
    asked = true;
    for (const struct ifaddrs *i = interfaces; i; i = i->ifa_next)
        if (is_address_of(i, &address, text[n] ? text + n + 1 : ""))
            return true;
    return false;
}

bool mlt_hosts_is_here(const char *name)
{
    return is_own_name(name) || is_own_address(name);
}

// ---- The list

// Case makes no difference in names.
static uint32_t hosts_hash_of(const char *name)
{
    char small[HOST_BYTES];
    size_t n = 0;
    for (; name[n] && n < sizeof small; n++)
        small[n] = (char)tolower((unsigned char)name[n]);
    return mlt_hash_bytes(small, n);
}

int64_t mlt_hosts_find(const mlt_hosts *hosts, const char *name)
{
    mlt_table_look look = mlt_table_look_for(&hosts->index, hosts_hash_of(name));
    while (mlt_table_next(&look))
        if (strcasecmp(hosts->hosts[look.word].name, name) == 0)
            return (int64_t)look.word;
    return -1;
}

const char *mlt_hosts_where(const mlt_hosts_entry *host, char text[MLT_HOST_WHERE_BYTES])
{
    if (host->line)
        snprintf(text, MLT_HOST_WHERE_BYTES, "%s:%u", host->source, host->line);
    else
        snprintf(text, MLT_HOST_WHERE_BYTES, "%s", host->source);
    return text;
}

// Most hosts come from the same source as the one before.
static const char *keep_source(const mlt_hosts *hosts, const char *source)
{
    const char *last = hosts->count ? hosts->hosts[hosts->count - 1].source : NULL;
    return last && strcmp(last, source) == 0 ? last : mlt_text_of("%s", source);
}

static uint32_t add_new(mlt_hosts *hosts, const mlt_hosts_entry *mention)
{
    char where[MLT_HOST_WHERE_BYTES];
    if (hosts->count == MLT_HOSTS_MOST)
        mlt_quit(MLT_EXIT_USAGE, "%s: '%s' is one host too many; a job has at most %d",
                 mlt_hosts_where(mention, where), mention->name, MLT_HOSTS_MOST);
    MLT_ARRAY_WANT(hosts->hosts, hosts->count + 1ull, hosts->room);
    mlt_hosts_entry *host = &hosts->hosts[hosts->count];
    *host = *mention;
    host->name = mlt_text_of("%s", mention->name);
    host->user = mention->user ? mlt_text_of("%s", mention->user) : NULL;
    host->source = keep_source(hosts, mention->source);
    mlt_table_add(&hosts->index, hosts_hash_of(host->name), hosts->count);
    return hosts->count++;
}

static void add_again(mlt_hosts *hosts, mlt_hosts_entry *host, const mlt_hosts_entry *mention)
{
    char here[MLT_HOST_WHERE_BYTES], before[MLT_HOST_WHERE_BYTES];
    mlt_hosts_where(mention, here);
    if (mention->slots > MLT_HOSTS_MOST_SLOTS - host->slots)
        mlt_quit(MLT_EXIT_USAGE, "%s: host '%s' has more than %d slots in all", here, mention->name,
                 MLT_HOSTS_MOST_SLOTS);
    if (mention->user && host->user && strcmp(mention->user, host->user) != 0)
        mlt_quit(MLT_EXIT_USAGE,
                 "%s: the user on host '%s' is '%s', but %s says '%s'; a job has one user a host",
                 here, mention->name, mention->user, mlt_hosts_where(host, before), host->user);
    host->slots += mention->slots;
    if (mention->user && !host->user)
        host->user = mlt_text_of("%s", mention->user);
}

uint32_t mlt_hosts_add(mlt_hosts *hosts, const mlt_hosts_entry *mention)
{
    mlt_hosts_entry one = *mention;
    char where[MLT_HOST_WHERE_BYTES];
    if (hosts->mentions++ == MLT_HOSTS_MENTIONS)
        mlt_quit(MLT_EXIT_USAGE, "%s: hosts are named more than %d times",
                 mlt_hosts_where(mention, where), MLT_HOSTS_MENTIONS);
    int64_t known = mlt_hosts_find(hosts, one.name);
    if (known < 0 && (one.here = mlt_hosts_is_here(one.name))) {
        one.name = mlt_hosts_own();
        known = mlt_hosts_find(hosts, one.name);
    }
    if (known < 0)
        return add_new(hosts, &one);
    add_again(hosts, &hosts->hosts[known], &one);
    return (uint32_t)known;
}

void mlt_hosts_choose(mlt_hosts *chosen, const mlt_hosts *file, const mlt_hosts *list)
{
    char where[MLT_HOST_WHERE_BYTES];
    for (uint32_t i = 0; i < list->count; i++) {
        mlt_hosts_entry one = list->hosts[i];
        int64_t at = mlt_hosts_find(file, one.name);
        if (at < 0)
            mlt_quit(MLT_EXIT_USAGE, "%s: host '%s' is not in the host file '%s'",
                     mlt_hosts_where(&one, where), one.name, file->hosts[0].source);
        if (!one.user)
            one.user = file->hosts[at].user;
        (void)mlt_hosts_add(chosen, &one);
    }
}

void mlt_hosts_trim(mlt_hosts *hosts, bool no_local)
{
    char where[MLT_HOST_WHERE_BYTES];
    uint32_t kept = 0, others = 0;
    for (uint32_t i = 0; i < hosts->count; i++)
        others += !hosts->hosts[i].here && hosts->hosts[i].slots;
    mlt_table_free(&hosts->index);
    for (uint32_t i = 0; i < hosts->count; i++) {
        mlt_hosts_entry host = hosts->hosts[i];
        if (!host.slots || (no_local && host.here && others))
            continue;
        mlt_table_add(&hosts->index, hosts_hash_of(host.name), kept);
        hosts->hosts[kept++] = host;
    }
    if (!kept)
        mlt_quit(MLT_EXIT_USAGE, "%s: host '%s' has no slots, and no other host has any",
                 mlt_hosts_where(&hosts->hosts[0], where), hosts->hosts[0].name);
    hosts->count = kept;
}

void mlt_hosts_free(mlt_hosts *hosts)
{
    const char *source = NULL; // neighbours share it
    for (uint32_t i = 0; i < hosts->count; i++) {
        const mlt_hosts_entry *host = &hosts->hosts[i];
        free((char *)(uintptr_t)host->name);
        free((char *)(uintptr_t)host->user);
        if (host->source != source)
            free((char *)(uintptr_t)host->source);
        source = host->source;
    }
    mlt_table_free(&hosts->index);
    free(hosts->hosts);
    *hosts = (mlt_hosts){.count = 0};
}
