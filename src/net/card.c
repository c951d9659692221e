// SPDX-License-Identifier: BSD-3-Clause
#include "net/card.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum { FORM = 1, HEAD = 6, CARD_LONGEST = MLT_CARD_NAME - 1 };
_Static_assert(HEAD + CARD_LONGEST + MLT_ADDRESSES * (2 + MLT_ADDRESS_BYTES) <= MLT_CARD_BYTES,
               "every card has room");

static bool in_names(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

size_t mlt_card_write(uint8_t out[MLT_CARD_BYTES], const mlt_card *card)
{
    const char *name = card->name[0] ? card->name : "host";
    size_t length = strnlen(name, CARD_LONGEST), at = HEAD + length;
    mlt_assert(card->count <= MLT_ADDRESSES && card->port);
    const uint8_t head[HEAD] = {FORM, (uint8_t)card->count, (uint8_t)length,
                                0,    card->port & 255,     card->port >> 8};
    memcpy(out, head, HEAD);
    for (size_t i = 0; i < length; i++)
        out[HEAD + i] = (uint8_t)(in_names(name[i]) ? name[i] : '-');
    for (uint32_t i = 0; i < card->count; i++) {
        const mlt_address *address = &card->addresses[i];
        out[at++] = address->family;
        out[at++] = address->prefix;
        memcpy(out + at, address->bytes, mlt_address_size(address));
        at += mlt_address_size(address);
    }
    return at;
}

// A fault of the bytes; NULL: none.
static const char *read_head(mlt_card *card, const uint8_t *bytes, size_t size)
{
    if (size < HEAD || size > MLT_CARD_BYTES)
        return "it has not the length of a card";
    if (bytes[0] != FORM)
        return "it is of another version of Millet";
    card->count = bytes[1];
    card->port = (uint16_t)(bytes[4] | bytes[5] << 8);
    if (card->count > MLT_ADDRESSES)
        return "it has more addresses than a host can have";
    if (bytes[3] || card->port == 0)
        return "its port is none";
    return bytes[2] == 0 || size - HEAD < bytes[2] ? "its name is cut" : NULL;
}

static const char *read_name(mlt_card *card, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!in_names((char)bytes[i]))
            return "its name has a character that no name of a host has";
    memcpy(card->name, bytes, length);
    return NULL;
}

// Nobody can connect to everybody or to nobody.
static bool names_one_host(const mlt_address *address)
{
    static const uint8_t none[MLT_ADDRESS_BYTES];
    uint8_t first = address->bytes[0];
    return memcmp(address->bytes, none, mlt_address_size(address)) != 0 &&
           (address->family == 4 ? first > 0 && first < 224 : first != 0xff);
}

static const char *read_address(mlt_address *address, const uint8_t **at, const uint8_t *end)
{
    if (end - *at < 2)
        return "an address is cut";
    *address = (mlt_address){.family = (*at)[0], .prefix = (*at)[1]};
    *at += 2;
    if (address->family != 4 && address->family != 6)
        return "an address is neither of IPv4 nor of IPv6";
    size_t size = mlt_address_size(address);
    if ((size_t)(end - *at) < size)
        return "an address is cut";
    if (address->prefix > 8 * size)
        return "the subnet of an address has too many bits";
    memcpy(address->bytes, *at, size);
    *at += size;
    return names_one_host(address) ? NULL : "an address names no host";
}

static const char *read_all(mlt_card *card, const uint8_t *bytes, size_t size)
{
    const char *fault = read_head(card, bytes, size);
    if (!fault)
        fault = read_name(card, bytes + HEAD, bytes[2]);
    if (fault)
        return fault;
    const uint8_t *at = bytes + HEAD + bytes[2], *end = bytes + size;
    for (uint32_t i = 0; i < card->count && !fault; i++)
        fault = read_address(&card->addresses[i], &at, end);
    return fault ? fault : at == end ? NULL : "there is something behind its last address";
}

mlt_status mlt_card_read(mlt_card *card, const void *bytes, size_t size, char *why, size_t why_size)
{
    *card = (mlt_card){0};
    const char *fault = read_all(card, bytes, size);
    if (!fault)
        return MLT_OK;
    *card = (mlt_card){0};
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "a process's card cannot be read: %s", fault);
}
