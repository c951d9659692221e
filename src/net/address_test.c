// SPDX-License-Identifier: BSD-3-Clause
// Addresses as text and for sockets, subnets, and the order in which a peer's are tried.
#include "net/address.h"

#include <netinet/in.h>

#include "base/unit_test.h"

static mlt_address of(const char *text, int prefix)
{
    mlt_address address;
    CHECK(mlt_address_read(&address, text));
    address.prefix = (uint8_t)prefix;
    return address;
}

static mlt_address on(const char *text, int prefix, const char *iface, uint32_t scope)
{
    mlt_address address = of(text, prefix);
    snprintf(address.iface, sizeof address.iface, "%s", iface);
    address.scope = scope;
    return address;
}

static void test_text(void)
{
    char text[MLT_ADDRESS_TEXT];
    mlt_address four = of("10.0.0.1", 8), six = on("fe80::1", 64, "eth0", 2);
    check_same_text("IPv4", mlt_address_text(text, &four, 0), "10.0.0.1");
    check_same_text("IPv4 and port", mlt_address_text(text, &four, 65535), "10.0.0.1:65535");
    check_same_text("IPv6", mlt_address_text(text, &six, 0), "fe80::1%eth0");
    check_same_text("IPv6 and port", mlt_address_text(text, &six, 40000), "[fe80::1%eth0]:40000");
    mlt_address longest = on("2001:db80:1111:2222:3333:4444:5555:6666", 64, "interface-name1", 9);
    CHECK(strlen(mlt_address_text(text, &longest, 65535)) == 39 + 1 + 15 + 2 + 6);
    static const char *const wrong[] = {"",          "10.0.0", "10.0.0.256", "10.0.0.1/8",
                                        " 10.0.0.1", "::1%lo", "g::",        "host"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!mlt_address_read(&four, wrong[i]));
}

static void test_sockets(void)
{
    const mlt_address all[] = {of("192.168.7.9", 32), on("fe80::1234", 128, "", 3)};
    for (int i = 0; i < 2; i++) {
        struct sockaddr_storage name;
        mlt_address again;
        uint16_t port;
        socklen_t length = mlt_address_to_socket(&name, &all[i], 4711);
        CHECK(length == (i ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)));
        CHECK(mlt_address_of_socket(&again, &port, (struct sockaddr *)&name) && port == 4711);
        CHECK(memcmp(&again, &all[i], sizeof again) == 0);
    }
    mlt_address address;
    uint16_t port;
    CHECK(!mlt_address_of_socket(&address, &port, &(struct sockaddr){.sa_family = AF_UNIX}));
}

static void test_within(void)
{
    mlt_address a = of("10.1.2.3", 8), b = of("10.1.3.3", 8), c = of("::1", 128);
    CHECK(mlt_address_within(&a, &b, 0) && mlt_address_within(&a, &b, 23));
    CHECK(!mlt_address_within(&a, &b, 24) && !mlt_address_within(&a, &b, 32));
    CHECK(mlt_address_within(&a, &a, 32) && !mlt_address_within(&a, &a, 33));
    CHECK(!mlt_address_within(&a, &c, 0) && mlt_address_within(&c, &c, 128));
    CHECK(mlt_address_same(&c, &c) && !mlt_address_same(&a, &b));
    static const char *const loopback[] = {"127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"};
    for (int i = 0; i < 4; i++) {
        a = of(loopback[i], 8);
        CHECK(mlt_address_loopback(&a) && !mlt_address_link_local(&a));
    }
    a = of("169.254.1.1", 16);
    b = of("febf::1", 64);
    c = of("fec0::1", 64);
    CHECK(mlt_address_link_local(&a) && mlt_address_link_local(&b) && !mlt_address_link_local(&c));
    CHECK(!mlt_address_loopback(&a));
}

static void check_order(const mlt_address *own, uint32_t own_count, const mlt_address *peers,
                        uint32_t peers_count, uint32_t room, const char *wanted)
{
    mlt_address out[8];
    char text[400] = "", one[MLT_ADDRESS_TEXT];
    uint32_t n = mlt_address_likely(out, room, own, own_count, peers, peers_count);
    CHECK(n <= room);
    for (uint32_t i = 0; i < n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, mlt_address_text(one, &out[i], 0));
    }
    check_same_text("order", text, wanted);
}

static void test_order(void)
{
    const mlt_address own[] = {of("8.1.1.1", 24), of("10.0.0.1", 24), of("172.17.0.1", 16),
                               on("fe80::1", 64, "eth0", 2), on("fe80::2", 64, "eth1", 3)};
    const mlt_address peers[] = {of("127.0.0.1", 8),    of("172.17.0.1", 16),  of("fe80::9", 64),
                                 of("2001:db8::7", 64), of("192.168.0.9", 24), of("10.0.0.2", 24)};
    check_order(own, 5, peers, 6, 8,
                "10.0.0.2 192.168.0.9 2001:db8::7 fe80::9%eth0 fe80::9%eth1 172.17.0.1 127.0.0.1");
    check_order(own, 5, peers, 6, 4, "10.0.0.2 192.168.0.9 2001:db8::7 fe80::9%eth0");
    check_order(own, 3, peers, 6, 8, "10.0.0.2 192.168.0.9 2001:db8::7 172.17.0.1 127.0.0.1");
    check_order(NULL, 0, peers, 2, 8, "172.17.0.1 127.0.0.1");
    check_order(own, 5, NULL, 0, 8, "");
    const mlt_address public[] = {of("10.9.0.1", 24), of("9.9.9.9", 24)};
    check_order(own, 1, public, 2, 8, "9.9.9.9 10.9.0.1");
}

int main(void)
{
    test_text();
    test_sockets();
    test_within();
    test_order();
    puts("all right");
    return 0;
}
