// SPDX-License-Identifier: BSD-3-Clause
// Choices among a host's addresses, of this host and of hosts that the test has made up; ranges of
// ports.
#include "net/iface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>

#include "base/unit_test.h"
#include "net/refuse_test.h"

static char why[600];

// ---- A host that is made up

enum { MOST = 48 };
static struct ifaddrs entries[MOST];
static struct sockaddr_storage names[MOST], masks[MOST];
static int entry_count;

static void has(const char *iface, const char *text, int prefix, unsigned flags)
{
    int i = entry_count++;
    mlt_address address, mask = {0};
    CHECK(i < MOST && mlt_address_read(&address, text));
    mask.family = address.family;
    for (int bit = 0; bit < prefix; bit++)
        mask.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    address.scope = mlt_address_link_local(&address) && address.family == 6 ? 1u + (unsigned)i : 0;
    mlt_address_to_socket(&names[i], &address, 0);
    mlt_address_to_socket(&masks[i], &mask, 0);
    entries[i] = (struct ifaddrs){.ifa_name = (char *)iface,
                                  .ifa_flags = flags,
                                  .ifa_addr = (struct sockaddr *)&names[i],
                                  .ifa_netmask = (struct sockaddr *)&masks[i]};
    if (i > 0)
        entries[i - 1].ifa_next = &entries[i];
}

static void has_other(void) // interfaces without an address, or with one of another kind
{
    has("down", "10.9.9.9", 8, 0);
    has("tun", "10.9.9.9", 8, IFF_UP);
    entries[entry_count - 1].ifa_addr = NULL;
    has("packet", "10.9.9.9", 8, IFF_UP);
    names[entry_count - 1].ss_family = AF_PACKET;
}

static void make_host(void)
{
    entry_count = 0;
    has("lo", "127.0.0.1", 8, IFF_UP);
    has_other();
    has("eth0", "fe80::1", 64, IFF_UP);
    has("eth0", "10.0.0.1", 24, IFF_UP);
    has("ib0", "192.168.1.5", 16, IFF_UP);
    has("ib0", "2001:db8::5", 48, IFF_UP);
    has("lo", "::1", 128, IFF_UP);
}

// The chosen ones, or the message.
static void check_chosen(const char *filter_text, bool loopback, const char *wanted)
{
    mlt_iface_filter filter = {0};
    mlt_address out[MLT_ADDRESSES];
    char text[600] = "", one[MLT_ADDRESS_TEXT];
    uint32_t count;
    if (filter_text)
        CHECK(mlt_iface_parse(&filter, filter_text, why, sizeof why) == MLT_OK);
    mlt_status status = mlt_iface_select(out, &count, entry_count ? entries : NULL, &filter,
                                         loopback, why, sizeof why);
    CHECK(status == (count ? MLT_OK : MLT_ERR_NOT_FOUND) && count <= MLT_ADDRESSES);
    for (uint32_t i = 0; i < count; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s/%u", at ? " " : "",
                 mlt_address_text(one, &out[i], 0), out[i].prefix);
    }
    check_same_text(filter_text ? filter_text : "everything", count ? text : why, wanted);
}

static void test_chosen(void)
{
    make_host();
    check_chosen(NULL, false, "10.0.0.1/24 192.168.1.5/16 2001:db8::5/48 fe80::1%eth0/64");
    check_chosen(NULL, true,
                 "10.0.0.1/24 192.168.1.5/16 2001:db8::5/48 fe80::1%eth0/64 127.0.0.1/8 ::1/128");
    check_chosen("eth0", false, "10.0.0.1/24 fe80::1%eth0/64");
    check_chosen("10.0.0.0/8,2001:db8::/32", false, "10.0.0.1/24 2001:db8::5/48");
    check_chosen("192.168.1.5", false, "192.168.1.5/16");
    check_chosen("0.0.0.0/0", false, "10.0.0.1/24 192.168.1.5/16");
    check_chosen("lo", false, "127.0.0.1/8 ::1/128");
    check_chosen("^eth0", false, "192.168.1.5/16 2001:db8::5/48");
    check_chosen("^ib0,fe80::/10,lo", false, "10.0.0.1/24");
    check_chosen("127.0.0.0/8,ib0", false, "192.168.1.5/16 2001:db8::5/48 127.0.0.1/8");
    check_chosen("eth1,11.0.0.0/8", false,
                 "no address of this host is chosen; it has lo 127.0.0.1/8, eth0 fe80::1/64, "
                 "eth0 10.0.0.1/24, ib0 192.168.1.5/16, ib0 2001:db8::5/48, lo ::1/128");
    entry_count = 0;
    has("lo", "127.0.0.1", 8, IFF_UP); // an offline laptop
    check_chosen(NULL, false, "127.0.0.1/8");
    entry_count = 0;
    check_chosen(NULL, true, "no address of this host is chosen; it has none at all");
    for (int i = 0; i < MLT_ADDRESSES + 5; i++)
        has("eth0", i < 6 ? "fe80::1" : "10.0.0.1", 8, IFF_UP);
    mlt_address out[MLT_ADDRESSES];
    mlt_iface_filter all = {0};
    uint32_t count;
    CHECK(mlt_iface_select(out, &count, entries, &all, true, why, sizeof why) == MLT_OK);
    CHECK(count == MLT_ADDRESSES && out[30].family == 4 && out[31].family == 6);
}

static void check_fates(const char *filter_text, const char *wanted)
{
    mlt_iface_filter filter = {0};
    mlt_iface_fate fates[MLT_IFACE_FATES];
    char one[MLT_ADDRESS_TEXT], text[1000] = "";
    if (filter_text)
        CHECK(mlt_iface_parse(&filter, filter_text, why, sizeof why) == MLT_OK);
    uint32_t count = mlt_iface_fates(fates, entry_count ? entries : NULL, &filter);
    for (uint32_t i = 0; i < count; i++) {
        size_t at = strlen(text);
        const char *reason = fates[i].why_not ? fates[i].why_not : "used";
        snprintf(text + at, sizeof text - at, "%s: %s\n",
                 mlt_address_text(one, &fates[i].address, 0), reason);
    }
    check_same_text(filter_text ? filter_text : "everything", text, wanted);
}

static void test_fates(void)
{
    make_host();
    check_fates(NULL, "127.0.0.1: loopback leads to this host only\n"
                      "10.9.9.9: its interface is down\n"
                      "fe80::1%eth0: used\n10.0.0.1: used\n192.168.1.5: used\n2001:db8::5: used\n"
                      "::1: loopback leads to this host only\n");
    check_fates("^eth0,2001:db8::/32",
                "127.0.0.1: loopback leads to this host only\n"
                "10.9.9.9: its interface is down\n"
                "fe80::1%eth0: --iface does not choose it\n10.0.0.1: --iface does not choose it\n"
                "192.168.1.5: used\n2001:db8::5: --iface does not choose it\n"
                "::1: loopback leads to this host only\n");
    entry_count = 0;
    check_fates(NULL, "");
    for (int i = 0; i < MLT_ADDRESSES + 1; i++) {
        char address[20];
        snprintf(address, sizeof address, "10.0.0.%d", i + 1);
        has("eth0", address, 8, IFF_UP);
    }
    mlt_iface_fate fates[MLT_IFACE_FATES];
    mlt_iface_filter all = {0};
    CHECK(mlt_iface_fates(fates, entries, &all) == MLT_ADDRESSES + 1);
    check_same_text("the last", fates[MLT_ADDRESSES].why_not, "there are too many");
}

// This host, one without interfaces, and one that tells nothing.
static void test_here(void)
{
    mlt_iface_filter all = {0};
    mlt_address out[MLT_ADDRESSES];
    uint32_t count;
    CHECK(mlt_iface_addresses(out, &count, &all, true, why, sizeof why) == MLT_OK && count > 0);
    for (uint32_t i = 0; i < count; i++)
        CHECK(out[i].iface[0] && (out[i].family == 4 || out[i].family == 6));
}

static void without_interfaces(void)
{
    mlt_iface_filter all = {0};
    mlt_address out[MLT_ADDRESSES];
    uint32_t count;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0)
        return; // not allowed here
    CHECK(mlt_iface_addresses(out, &count, &all, true, why, sizeof why) == MLT_ERR_NOT_FOUND);
    CHECK(count == 0 && strstr(why, "none at all"));
}

static void without_list(void)
{
    mlt_iface_filter all = {0};
    mlt_address out[MLT_ADDRESSES];
    uint32_t count;
    if (!refuse_call(SYS_socket, EACCES))
        return;
    CHECK(mlt_iface_addresses(out, &count, &all, true, why, sizeof why) == MLT_ERR_SYSTEM);
    check_same_text("no list", why,
                    "the addresses of this host cannot be listed (Permission denied)");
}

static void check_refused(const char *text, const char *wanted)
{
    mlt_iface_filter filter;
    CHECK(mlt_iface_parse(&filter, text, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text(text, why, wanted);
}

static void test_parse(void)
{
    check_refused("", "the name of an interface or a subnet is missing");
    check_refused("eth0,", "the name of an interface or a subnet is missing");
    check_refused(",eth0", "the name of an interface or a subnet is missing");
    check_refused("10.0.0", "'10.0.0' is no address");
    check_refused("fe80::g", "'fe80::g' is no address");
    check_refused("10.0.0.0/33", "'10.0.0.0/33': the number of bits must be 0 to 32");
    check_refused("10.0.0.0/", "'10.0.0.0/': the number of bits must be 0 to 32");
    check_refused("::/129", "'::/129': the number of bits must be 0 to 128");
    check_refused("::/-1", "'::/-1': the number of bits must be 0 to 128");
    check_refused("eth0/8", "'eth0' is no address, so 'eth0/8' is no subnet");
    check_refused("abcdefghijklmnop",
                  "'abcdefghijklmnop' is longer than the name of an interface can be");
    check_refused("eth0, eth1",
                  "a list of interfaces and subnets has no spaces and only characters that can be "
                  "typed");
    check_refused("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg,x",
                  "'aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd...' is no interface, subnet or "
                  "address");
    check_refused("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16 interfaces and subnets");
    mlt_iface_filter filter;
    CHECK(mlt_iface_parse(&filter, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", why, sizeof why) == MLT_OK);
    CHECK(filter.count == MLT_IFACE_CHOICES);
}

static void test_ports(void)
{
    static const char *const wrong[] = {"",           "0",
                                        "-",          "1-",
                                        "-1",         "65536",
                                        "1-0",        "70000-70001",
                                        "a",          "1-2-3",
                                        "1 -2",       "0-5",
                                        "4000000000", "99999999999999999999-5",
                                        "1--2"};
    mlt_iface_ports ports;
    CHECK(mlt_iface_ports_parse(&ports, "any", why, sizeof why) == 0 && !ports.first &&
          !ports.last);
    CHECK(mlt_iface_ports_parse(&ports, "40000-40100", why, sizeof why) == MLT_OK);
    CHECK(ports.first == 40000 && ports.last == 40100);
    CHECK(mlt_iface_ports_parse(&ports, "40000:40100", why, sizeof why) == MLT_OK);
    CHECK(ports.first == 40000 && ports.last == 40100);
    CHECK(mlt_iface_ports_parse(&ports, "65535", why, sizeof why) == MLT_OK);
    CHECK(ports.first == 65535 && ports.last == 65535);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(mlt_iface_ports_parse(&ports, wrong[i], why, sizeof why) == MLT_ERR_INVALID);
        check_same_text(wrong[i], why,
                        "ports are a number from 1 to 65535, a range such as 40000-40100, or any");
    }
    CHECK(mlt_iface_ports_parse(&ports, "5-4", why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("5-4", why, "a range of ports begins with the lower one: 4-5");
}

int main(void)
{
    test_chosen();
    test_here();
    in_child(without_interfaces);
    in_child(without_list);
    test_fates();
    test_parse();
    test_ports();
    puts("all right");
    return 0;
}
