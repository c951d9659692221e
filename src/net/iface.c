// SPDX-License-Identifier: BSD-3-Clause
#include "net/iface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

_Static_assert(MLT_ADDRESS_IFACE == IFNAMSIZ, "every name of an interface has room");

enum { IFACE_LONGEST = 64 }; // a choice as text; an address of IPv6 with its prefix has at most 49

// ---- What a user chose

// A number of at most `most`; false: it is none. No sign, no space, no empty text.
static bool read_number(const char *text, uint32_t most, uint32_t *out)
{
    uint32_t value = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = 10 * value + (uint32_t)(*at - '0');
        if (value > most)
            return false;
    }
    *out = value;
    return *text != 0;
}

static mlt_status parse_subnet(mlt_iface_choice *choice, char *text, char *why, size_t why_size)
{
    char *slash = strchr(text, '/');
    uint32_t prefix;
    *slash = 0;
    if (!mlt_address_read(&choice->subnet, text))
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "'%s' is no address, so '%s/%s' is no subnet", text, text, slash + 1);
    uint32_t most = (uint32_t)(8 * mlt_address_size(&choice->subnet));
    if (!read_number(slash + 1, most, &prefix))
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "'%s/%s': the number of bits must be 0 to %u", text, slash + 1, most);
    choice->subnet.prefix = (uint8_t)prefix;
    return MLT_OK;
}

static mlt_status parse_choice(mlt_iface_choice *choice, char *text, char *why, size_t why_size)
{
    size_t length = strlen(text);
    *choice = (mlt_iface_choice){0};
    if (strchr(text, '/'))
        return parse_subnet(choice, text, why, why_size);
    if (mlt_address_read(&choice->subnet, text))
        return MLT_OK;
    if (strchr(text, ':') || strspn(text, "0123456789.") == length)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "'%s' is no address", text);
    if (length >= sizeof choice->iface)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "'%s' is longer than the name of an interface can be", text);
    *choice = (mlt_iface_choice){0};
    memcpy(choice->iface, text, length + 1);
    return MLT_OK;
}

static bool all_visible(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

mlt_status mlt_iface_parse(mlt_iface_filter *filter, const char *text, char *why, size_t why_size)
{
    *filter = (mlt_iface_filter){0};
    if (!all_visible(text))
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "a list of interfaces and subnets has no spaces and only "
                        "characters that can be typed");
    filter->except = text[0] == '^';
    for (const char *at = text + filter->except;; at++) {
        char one[IFACE_LONGEST];
        size_t length = strcspn(at, ",");
        if (length == 0)
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "the name of an interface or a subnet is missing");
        if (length >= sizeof one)
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "'%.40s...' is no interface, subnet or address", at);
        if (filter->count == MLT_IFACE_CHOICES)
            return mlt_fail(MLT_ERR_INVALID, why, why_size, "more than %d interfaces and subnets",
                            MLT_IFACE_CHOICES);
        memcpy(one, at, length);
        one[length] = 0;
        mlt_status status = parse_choice(&filter->choices[filter->count++], one, why, why_size);
        at += length;
        if (status != MLT_OK || *at == 0)
            return status;
    }
}

bool mlt_iface_chosen(const mlt_iface_filter *filter, const mlt_address *address)
{
    for (uint32_t i = 0; i < filter->count; i++) {
        const mlt_iface_choice *choice = &filter->choices[i];
        if (choice->iface[0] ? strcmp(choice->iface, address->iface) == 0
                             : mlt_address_within(&choice->subnet, address, choice->subnet.prefix))
            return !filter->except;
    }
    return filter->except || filter->count == 0;
}

mlt_status mlt_iface_ports_parse(mlt_iface_ports *ports, const char *text, char *why,
                                 size_t why_size)
{
    char first[8] = "";
    const char *dash = strpbrk(text, "-:");
    size_t length = dash ? (size_t)(dash - text) : strlen(text);
    uint32_t from = 0, to = 0;
    *ports = (mlt_iface_ports){0};
    if (strcmp(text, "any") == 0)
        return MLT_OK;
    memcpy(first, text, length < sizeof first ? length : 0);
    if (!read_number(first, UINT16_MAX, &from) ||
        !read_number(dash ? dash + 1 : first, UINT16_MAX, &to) || from == 0 || to == 0)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "ports are a number from 1 to 65535, a range such as 40000-40100, or any");
    if (from > to)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "a range of ports begins with the lower one: %u-%u", to, from);
    *ports = (mlt_iface_ports){(uint16_t)from, (uint16_t)to};
    return MLT_OK;
}

// ---- Addresses of this host

static uint8_t prefix_of(const struct sockaddr *mask)
{
    mlt_address bits;
    uint16_t port;
    uint8_t prefix = 0;
    if (!mask || !mlt_address_of_socket(&bits, &port, mask))
        return 0;
    while (prefix < 8 * mlt_address_size(&bits) && bits.bytes[prefix / 8] & (0x80 >> prefix % 8))
        prefix++;
    return prefix;
}

// False: it is no address.
static bool read_any_entry(mlt_address *address, const struct ifaddrs *entry)
{
    uint16_t port;
    if (!entry->ifa_addr || !mlt_address_of_socket(address, &port, entry->ifa_addr))
        return false;
    address->prefix = prefix_of(entry->ifa_netmask);
    if (!mlt_address_link_local(address))
        address->scope = 0;
    size_t length = strnlen(entry->ifa_name, MLT_ADDRESS_IFACE - 1);
    memcpy(address->iface, entry->ifa_name, length);
    return true;
}

// False: it is no address, or nobody can use it.
static bool read_entry(mlt_address *address, const struct ifaddrs *entry)
{
    return entry->ifa_flags & IFF_UP && read_any_entry(address, entry);
}

enum { GLOBAL, IFACE_LINK_LOCAL, IFACE_LOOPBACK };

static int kind_of(const mlt_address *address)
{
    return mlt_address_loopback(address)     ? IFACE_LOOPBACK
           : mlt_address_link_local(address) ? IFACE_LINK_LOCAL
                                             : GLOBAL;
}

// A list that contains all addresses does not mean loopback.
static bool names_loopback(const mlt_iface_filter *filter)
{
    enum { LOOPBACK_BITS = 8 };
    for (uint32_t i = 0; i < filter->count && !filter->except; i++) {
        const mlt_address *subnet = &filter->choices[i].subnet;
        if (filter->choices[i].iface[0] ||
            (mlt_address_loopback(subnet) && subnet->prefix >= LOOPBACK_BITS))
            return true;
    }
    return false;
}

static uint32_t select_kind(mlt_address *out, uint32_t count, const struct ifaddrs *list,
                            const mlt_iface_filter *filter, int kind)
{
    mlt_address address;
    for (; list && count < MLT_ADDRESSES; list = list->ifa_next)
        if (read_entry(&address, list) && kind_of(&address) == kind &&
            mlt_iface_chosen(filter, &address))
            out[count++] = address;
    return count;
}

static void tell_all(const struct ifaddrs *list, char *why, size_t why_size)
{
    mlt_text text = mlt_text_on(why, why_size);
    mlt_address address;
    char one[MLT_ADDRESS_TEXT];
    mlt_text_add(&text, "no address of this host is chosen; it has");
    const char *between = " ";
    for (; list; list = list->ifa_next) {
        if (!read_entry(&address, list))
            continue;
        address.scope = 0; // its interface stands before it
        mlt_text_add(&text, "%s%s %s/%u", between, address.iface,
                     mlt_address_text(one, &address, 0), address.prefix);
        between = ", ";
    }
    if (between[0] == ' ')
        mlt_text_add(&text, " none at all");
}

mlt_status mlt_iface_select(mlt_address out[MLT_ADDRESSES], uint32_t *count,
                            const struct ifaddrs *list, const mlt_iface_filter *filter,
                            bool loopback, char *why, size_t why_size)
{
    *count = select_kind(out, 0, list, filter, GLOBAL);
    *count = select_kind(out, *count, list, filter, IFACE_LINK_LOCAL);
    if (*count == 0 || loopback || names_loopback(filter))
        *count = select_kind(out, *count, list, filter, IFACE_LOOPBACK);
    if (*count > 0)
        return MLT_OK;
    tell_all(list, why, why_size);
    return MLT_ERR_NOT_FOUND;
}

static bool is_among(const mlt_address *list, uint32_t count, const mlt_address *address)
{
    for (uint32_t i = 0; i < count; i++)
        if (mlt_address_same(&list[i], address) && strcmp(list[i].iface, address->iface) == 0)
            return true;
    return false;
}

static const char *why_left_out(const mlt_address *address, unsigned flags,
                                const mlt_iface_filter *filter)
{
    if (!(flags & IFF_UP))
        return "its interface is down";
    if (!mlt_iface_chosen(filter, address))
        return "--iface does not choose it";
    if (kind_of(address) == IFACE_LOOPBACK)
        return "loopback leads to this host only";
    return "there are too many";
}

uint32_t mlt_iface_fates(mlt_iface_fate out[MLT_IFACE_FATES], const struct ifaddrs *list,
                         const mlt_iface_filter *filter)
{
    mlt_address chosen[MLT_ADDRESSES];
    uint32_t chosen_count, count = 0;
    char why[8];
    (void)!mlt_iface_select(chosen, &chosen_count, list, filter, false, why, sizeof why);
    for (; list && count < MLT_IFACE_FATES; list = list->ifa_next) {
        mlt_address address;
        if (!read_any_entry(&address, list))
            continue;
        bool used = list->ifa_flags & IFF_UP && is_among(chosen, chosen_count, &address);
        out[count++] = (mlt_iface_fate){
            address, used ? NULL : why_left_out(&address, list->ifa_flags, filter)};
    }
    return count;
}

mlt_status mlt_iface_addresses(mlt_address out[MLT_ADDRESSES], uint32_t *count,
                               const mlt_iface_filter *filter, bool loopback, char *why,
                               size_t why_size)
{
    struct ifaddrs *list;
    *count = 0;
    if (getifaddrs(&list) != 0)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                        "the addresses of this host cannot be listed (%s)", strerror(errno));
    mlt_status status = mlt_iface_select(out, count, list, filter, loopback, why, why_size);
    freeifaddrs(list);
    return status;
}
