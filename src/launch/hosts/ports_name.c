// SPDX-License-Identifier: BSD-3-Clause
// Names of ports: "millet-port-1;NUMBER;KEY;PORT;ADDRESS;ADDRESS...", in hexadecimal but for the
// addresses.
#include <stdio.h>
#include <string.h>

#include "launch/hosts/ports.h"

static const char ports_name_magic[] = "millet-port-1;";
enum { NUMBER_DIGITS = 16, PORT_DIGITS = 4, MOST_ADDRESSES = 8 };

void mlt_port_name_write(char out[MLT_PORT_NAME_MOST], const mlt_port_name *name)
{
    size_t n = (size_t)snprintf(out, MLT_PORT_NAME_MOST, "%s%016llx;", ports_name_magic,
                                (unsigned long long)name->number);
    for (int i = 0; i < MLT_KEY_BYTES; i++)
        n += (size_t)snprintf(out + n, MLT_PORT_NAME_MOST - n, "%02x", name->key.bytes[i]);
    n += (size_t)snprintf(out + n, MLT_PORT_NAME_MOST - n, ";%04x", name->port);
    for (uint32_t i = 0, told = 0; i < name->count && told < MOST_ADDRESSES; i++) {
        char text[MLT_ADDRESS_TEXT];
        if (mlt_address_link_local(&name->addresses[i]))
            continue; // means nothing on another host
        mlt_address plain = name->addresses[i];
        plain.scope = 0;
        plain.iface[0] = '\0';
        n += (size_t)snprintf(out + n, MLT_PORT_NAME_MOST - n, ";%s",
                              mlt_address_text(text, &plain, 0));
        told++;
    }
}

// So many hexadecimal digits, and a semicolon or the end behind them. False: they are none.
static bool read_hex(const char **at, int digits, uint64_t *value, bool last)
{
    *value = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        char c = **at;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint64_t)digit;
    }
    if (last)
        return true;
    return *(*at)++ == ';';
}

static bool read_address(const char **at, mlt_address *address)
{
    char text[MLT_ADDRESS_TEXT];
    size_t length = strcspn(*at, ";");
    if (length >= sizeof text)
        return false;
    memcpy(text, *at, length);
    text[length] = '\0';
    *at += length;
    return mlt_address_read(address, text);
}

bool mlt_port_name_read(mlt_port_name *name, const char *text)
{
    uint64_t value;
    memset(name, 0, sizeof *name);
    if (strnlen(text, MLT_PORT_NAME_MOST) == MLT_PORT_NAME_MOST ||
        strncmp(text, ports_name_magic, sizeof ports_name_magic - 1) != 0)
        return false;
    text += sizeof ports_name_magic - 1;
    if (!read_hex(&text, NUMBER_DIGITS, &name->number, false))
        return false;
    for (int i = 0; i < MLT_KEY_BYTES; i++) {
        if (!read_hex(&text, 2, &value, true))
            return false;
        name->key.bytes[i] = (uint8_t)value;
    }
    if (*text++ != ';' || !read_hex(&text, PORT_DIGITS, &value, true) || value == 0)
        return false;
    name->port = (uint16_t)value;
    while (*text == ';' && name->count < MLT_ADDRESSES) {
        text++;
        if (!read_address(&text, &name->addresses[name->count++]))
            return false;
    }
    return *text == '\0' && name->count > 0;
}
