// SPDX-License-Identifier: BSD-3-Clause
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

bool mlt_address_read(mlt_address *address, const char *text)
{
    *address = (mlt_address){.family = 4, .prefix = 32};
    if (inet_pton(AF_INET, text, address->bytes) == 1)
        return true;
    *address = (mlt_address){.family = 6, .prefix = 128};
    return inet_pton(AF_INET6, text, address->bytes) == 1;
}

const char *mlt_address_text(char text[MLT_ADDRESS_TEXT], const mlt_address *address, uint16_t port)
{
    char plain[INET6_ADDRSTRLEN] = "?", end[8] = "";
    (void)inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, plain, sizeof plain);
    bool scoped = address->scope != 0 && address->iface[0];
    bool brackets = port && address->family == 6;
    if (port)
        snprintf(end, sizeof end, ":%u", port);
    snprintf(text, MLT_ADDRESS_TEXT, "%s%s%s%s%s%s", brackets ? "[" : "", plain, scoped ? "%" : "",
             scoped ? address->iface : "", brackets ? "]" : "", end);
    return text;
}

socklen_t mlt_address_to_socket(struct sockaddr_storage *to, const mlt_address *address,
                                uint16_t port)
{
    *to = (struct sockaddr_storage){0};
    if (address->family == 4) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&four.sin_addr, address->bytes, sizeof four.sin_addr);
        memcpy(to, &four, sizeof four);
        return sizeof four;
    }
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = address->scope};
    memcpy(&six.sin6_addr, address->bytes, sizeof six.sin6_addr);
    memcpy(to, &six, sizeof six);
    return sizeof six;
}

bool mlt_address_of_socket(mlt_address *address, uint16_t *port, const struct sockaddr *from)
{
    if (from->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, from, sizeof four);
        *address = (mlt_address){.family = 4, .prefix = 32};
        memcpy(address->bytes, &four.sin_addr, sizeof four.sin_addr);
        *port = ntohs(four.sin_port);
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 six;
    memcpy(&six, from, sizeof six);
    *address = (mlt_address){.family = 6, .prefix = 128, .scope = six.sin6_scope_id};
    memcpy(address->bytes, &six.sin6_addr, sizeof six.sin6_addr);
    *port = ntohs(six.sin6_port);
    return true;
}

// ---- Kinds

bool mlt_address_within(const mlt_address *a, const mlt_address *b, uint32_t prefix)
{
    if (a->family != b->family || prefix > 8 * mlt_address_size(a))
        return false;
    uint32_t whole = prefix / 8, rest = prefix % 8;
    if (memcmp(a->bytes, b->bytes, whole) != 0)
        return false;
    return rest == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0;
}

bool mlt_address_same(const mlt_address *a, const mlt_address *b)
{
    return mlt_address_within(a, b, (uint32_t)(8 * mlt_address_size(a)));
}

typedef struct subnet {
    mlt_address address;
    uint32_t prefix;
} subnet;

static bool in_one_of(const mlt_address *address, const subnet *subnets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mlt_address_within(&subnets[i].address, address, subnets[i].prefix))
            return true;
    return false;
}

bool mlt_address_loopback(const mlt_address *address)
{
    static const subnet loopback[] = {
        {{.family = 4, .bytes = {127}}, 8},
        {{.family = 6, .bytes = {[15] = 1}}, 128},
        {{.family = 6, .bytes = {[10] = 0xff, [11] = 0xff, [12] = 127}}, 104}, // ::ffff:127.0.0.0
    };
    return in_one_of(address, loopback, sizeof loopback / sizeof *loopback);
}

bool mlt_address_link_local(const mlt_address *address)
{
    static const subnet local[] = {{{.family = 4, .bytes = {169, 254}}, 16},
                                   {{.family = 6, .bytes = {0xfe, 0x80}}, 10}};
    return in_one_of(address, local, sizeof local / sizeof *local);
}

static bool is_private(const mlt_address *address)
{
    static const subnet closed[] = {{{.family = 4, .bytes = {10}}, 8},
                                    {{.family = 4, .bytes = {172, 16}}, 12},
                                    {{.family = 4, .bytes = {192, 168}}, 16},
                                    {{.family = 4, .bytes = {100, 64}}, 10},
                                    {{.family = 6, .bytes = {0xfc}}, 7}};
    return in_one_of(address, closed, sizeof closed / sizeof *closed);
}

// ---- Order

typedef enum rank_of_address {
    SAME_SUBNET,
    SAME_KIND,
    SOME_OTHER,
    ADDRESS_LINK_LOCAL,
    OWN_ADDRESS,
    ADDRESS_LOOPBACK,
    RANKS,
} rank_of_address;

static rank_of_address rank(const mlt_address *peer, const mlt_address *own, uint32_t count)
{
    rank_of_address best = SOME_OTHER;
    if (mlt_address_loopback(peer))
        return ADDRESS_LOOPBACK;
    for (uint32_t i = 0; i < count; i++) {
        if (mlt_address_same(&own[i], peer))
            return OWN_ADDRESS;
        if (mlt_address_loopback(&own[i]) || mlt_address_link_local(&own[i]))
            continue;
        if (mlt_address_within(&own[i], peer, own[i].prefix))
            best = SAME_SUBNET;
        else if (best == SOME_OTHER && own[i].family == peer->family &&
                 is_private(&own[i]) == is_private(peer))
            best = SAME_KIND;
    }
    return mlt_address_link_local(peer) ? ADDRESS_LINK_LOCAL : best;
}

// A peer's link-local address once for each own interface that may lead to it.
static uint32_t expand(mlt_address *out, uint32_t room, const mlt_address *own, uint32_t own_count,
                       const mlt_address *peer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < own_count && count < room; i++) {
        if (own[i].family != 6 || own[i].scope == 0 || !mlt_address_link_local(&own[i]))
            continue;
        out[count] = *peer;
        out[count].scope = own[i].scope;
        memcpy(out[count].iface, own[i].iface, sizeof own[i].iface);
        count++;
    }
    return count;
}

uint32_t mlt_address_likely(mlt_address *out, uint32_t room, const mlt_address *own,
                            uint32_t own_count, const mlt_address *peers, uint32_t peers_count)
{
    uint32_t count = 0;
    for (int r = 0; r < RANKS; r++)
        for (uint32_t i = 0; i < peers_count && count < room; i++) {
            if ((int)rank(&peers[i], own, own_count) != r)
                continue;
            if (peers[i].family == 6 && mlt_address_link_local(&peers[i]))
                count += expand(out + count, room - count, own, own_count, &peers[i]);
            else
                out[count++] = peers[i];
        }
    return count;
}
