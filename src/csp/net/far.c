// SPDX-License-Identifier: BSD-3-Clause
#include "csp/net/far.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "net/iface.h"
#include "os/fd.h"
#include "os/tcp.h"

// All programs that use a server are one job to the greeting; its key tells servers apart.
#define FAR_JOB UINT64_C(0x73656d616e) // "names"

// ---- places

bool mlt_far_good(const mlt_far_place *place)
{
    size_t at = 0;
    if (place->used > MLT_FAR_BYTES || place->unused || (place->port == 0) != (place->used == 0))
        return false;
    while (at < place->used) {
        uint8_t family = place->bytes[at];
        if (family != 4 && family != 6)
            return false;
        at += family == 4 ? 5 : 17;
    }
    for (size_t i = at; i < MLT_FAR_BYTES; i++)
        if (place->bytes[i])
            return false;
    return at == place->used;
}

bool mlt_far_put(mlt_far_place *place, const mlt_address *addresses, uint32_t count)
{
    place->used = 0;
    memset(place->bytes, 0, sizeof place->bytes);
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = mlt_address_size(&addresses[i]);
        if (place->used + 1 + bytes > MLT_FAR_BYTES)
            continue;
        place->bytes[place->used] = addresses[i].family;
        memcpy(place->bytes + place->used + 1, addresses[i].bytes, bytes);
        place->used += (uint8_t)(1 + bytes);
    }
    return place->used > 0;
}

uint32_t mlt_far_addresses(const mlt_far_place *place, mlt_address out[MLT_FAR_ADDRESSES])
{
    uint32_t count = 0;
    for (size_t at = 0; at < place->used; count++) {
        out[count] = (mlt_address){.family = place->bytes[at]};
        memcpy(out[count].bytes, place->bytes + at + 1, mlt_address_size(&out[count]));
        at += 1 + mlt_address_size(&out[count]);
    }
    return count;
}

uint64_t mlt_far_here(void)
{
    static uint64_t here; // threads may all find it out, and find the same
    uint64_t known = __atomic_load_n(&here, __ATOMIC_RELAXED);
    if (known)
        return known;
    known = mlt_os_boot_number();
    __atomic_store_n(&here, known, __ATOMIC_RELAXED);
    return known;
}

// ---- connections

mlt_status mlt_far_begin(mlt_far *far, const unsigned char key[MLT_KEY_BYTES], uint32_t number,
                         char *why, size_t why_size)
{
    mlt_status status = mlt_crypt_load(why, why_size);
    if (status != MLT_OK)
        return status;
    uint32_t random = 0;
    if (!number && mlt_os_random(&random, sizeof random) != MLT_OK)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "the system gives no random bytes: %s",
                        strerror(errno));
    far->number = number ? number : random | 2;
    memcpy(far->key.bytes, key, sizeof far->key.bytes);
    far->self = (mlt_greet_self){.key = &far->key,
                                 .job = FAR_JOB,
                                 .process = far->number,
                                 .version = mlt_greet_version(),
                                 .types = mlt_greet_types_here()};
    return MLT_OK;
}

mlt_status mlt_far_dial(mlt_far *far, const mlt_far_place *place, mlt_dial **out, char *why,
                        size_t why_size)
{
    mlt_address all[MLT_FAR_ADDRESSES], own[MLT_ADDRESSES], likely[2 * MLT_ADDRESSES];
    mlt_iface_filter everything = {.count = 0};
    uint32_t own_count = 0, count = mlt_far_addresses(place, all);
    mlt_status status = mlt_iface_addresses(own, &own_count, &everything, true, why, why_size);
    if (status != MLT_OK)
        return status;
    count = mlt_address_likely(likely, 2 * MLT_ADDRESSES, own, own_count, all, count);
    return mlt_dial_new(out,
                        &(mlt_dial_plan){.self = &far->self,
                                         .wanted = place->number,
                                         .addresses = likely,
                                         .count = count,
                                         .port = place->port,
                                         .each_ms = MLT_DIAL_MS,
                                         .gone_ms = MLT_FAR_GONE_MS},
                        why, why_size);
}

void mlt_far_tell(const mlt_dial *dial, char *why, size_t why_size)
{
    mlt_text table = {0};
    mlt_dial_tell(dial, &table);
    mlt_text line = mlt_text_on(why, why_size);
    for (const char *at = mlt_text_so_far(&table); *at;) {
        size_t bytes = strcspn(at, "\n");
        size_t skip = strspn(at, " ");
        mlt_text_add(&line, "%s%.*s", line.length ? "; " : "", (int)(bytes - skip), at + skip);
        at += bytes + (at[bytes] == '\n');
    }
    mlt_text_free(&table);
}

// The ports to try, one range after the other. Returns how many ranges.
static mlt_status port_ranges(const char *ports, uint16_t first, mlt_iface_ports out[2],
                              uint32_t *count, char *why, size_t why_size)
{
    mlt_iface_ports range = {0, 0};
    *count = 0;
    mlt_status status = *ports ? mlt_iface_ports_parse(&range, ports, why, why_size) : MLT_OK;
    if (status != MLT_OK)
        return status;
    if (first && (range.first == 0 || (first >= range.first && first <= range.last)))
        out[(*count)++] = (mlt_iface_ports){first, first};
    out[(*count)++] = range;
    return MLT_OK;
}

mlt_status mlt_far_listen(mlt_far *far, const char *iface, const char *ports, uint16_t first,
                          mlt_listen **out, mlt_far_place *place, char *why, size_t why_size)
{
    mlt_iface_filter filter = {.count = 0};
    mlt_iface_ports ranges[2];
    mlt_address own[MLT_ADDRESSES];
    uint32_t own_count = 0, range_count = 0;
    mlt_status status = *iface ? mlt_iface_parse(&filter, iface, why, why_size) : MLT_OK;
    if (status == MLT_OK)
        status = port_ranges(ports, first, ranges, &range_count, why, why_size);
    if (status == MLT_OK)
        status = mlt_iface_addresses(own, &own_count, &filter, false, why, why_size);
    if (status != MLT_OK)
        return status;
    status = MLT_ERR_SYSTEM;
    for (uint32_t i = 0; i < range_count && status != MLT_OK; i++)
        status = mlt_listen_new(out,
                                &(mlt_listen_plan){.self = &far->self,
                                                   .ports = ranges[i],
                                                   .addresses = filter.count ? own : NULL,
                                                   .address_count = filter.count ? own_count : 0,
                                                   .strangers = MLT_LISTEN_STRANGERS,
                                                   .greet_ms = MLT_LISTEN_GREET_MS,
                                                   .gone_ms = MLT_FAR_GONE_MS},
                                why, why_size);
    if (status != MLT_OK)
        return status;
    *place = (mlt_far_place){
        .host = mlt_far_here(), .number = far->number, .port = mlt_listen_port(*out)};
    (void)mlt_far_put(place, own, own_count); // there is at least one, and room for any
    return MLT_OK;
}
