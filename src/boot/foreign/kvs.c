// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/kvs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "boot/job.h"

static const char head[] = "M1:";

static bool may_be_in_name(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

static void add_hex(mlt_text *text, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mlt_text_add(text, "%02x", bytes[i]);
}

void mlt_kvs_write(char text[MLT_LAUNCHER_VALUE], const mlt_kvs *n)
{
    mlt_text out = mlt_text_on(text, MLT_LAUNCHER_VALUE);
    mlt_text_add(&out, "%s%u:%u:%u:%u:", head, n->leader, n->workers, n->ranks, n->app);
    for (const char *c = n->host; *c; c++)
        mlt_text_add(&out, "%c", may_be_in_name(*c) ? *c : '-');
    if (!n->first)
        return;
    mlt_text_add(&out, ":%016llx:", (unsigned long long)n->identity);
    add_hex(&out, n->key, sizeof n->key);
    mlt_text_add(&out, ":");
    add_hex(&out, n->where, n->where_size);
}

// A number and the sign behind it.
static bool kvs_take_number(const char **at, uint32_t *out, uint32_t least, uint32_t most)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    unsigned long n = strtoul(*at, &end, 10);
    if (errno || n < least || n > most || *end != ':')
        return false;
    *at = end + 1;
    *out = (uint32_t)n;
    return true;
}

static int digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Up to the next colon or the end; -1: it is not in hex, or too long.
static int64_t take_hex(const char **at, uint8_t *out, size_t room)
{
    size_t count = 0;
    while (**at && **at != ':') {
        int high = digit((*at)[0]), low = high < 0 ? -1 : digit((*at)[1]);
        if (low < 0 || count == room)
            return -1;
        out[count++] = (uint8_t)(high << 4 | low);
        *at += 2;
    }
    return (int64_t)count;
}

static bool take_name(const char **at, char *out)
{
    size_t n = strcspn(*at, ":");
    if (n == 0 || n >= MLT_KVS_NAME)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!may_be_in_name((*at)[i]))
            return false;
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n;
    return true;
}

static bool take_secret(const char *at, mlt_kvs *n)
{
    uint8_t identity[8];
    n->first = true;
    if (*at++ != ':' || take_hex(&at, identity, sizeof identity) != sizeof identity ||
        *at++ != ':' || take_hex(&at, n->key, sizeof n->key) != sizeof n->key || *at++ != ':')
        return false;
    for (size_t i = 0; i < sizeof identity; i++)
        n->identity = n->identity << 8 | identity[i];
    int64_t size = take_hex(&at, n->where, sizeof n->where);
    n->where_size = (uint32_t)size;
    return size >= 0 && *at == '\0';
}

bool mlt_kvs_read(mlt_kvs *n, const char *text)
{
    *n = (mlt_kvs){.leader = 0};
    if (strncmp(text, head, sizeof head - 1) != 0)
        return false;
    text += sizeof head - 1;
    if (!kvs_take_number(&text, &n->leader, 0, INT32_MAX) ||
        !kvs_take_number(&text, &n->workers, 1, MLT_JOB_MAX_WORKERS) ||
        !kvs_take_number(&text, &n->ranks, 1, MLT_KVS_MOST_RANKS) ||
        !kvs_take_number(&text, &n->app, 0, INT32_MAX) || !take_name(&text, n->host))
        return false;
    return *text == '\0' || take_secret(text, n);
}
