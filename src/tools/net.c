// SPDX-License-Identifier: BSD-3-Clause
#include "tools/net.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/plan/hosts.h"
#include "net/crypt.h"
#include "net/iface.h"
#include "tools/args.h"
#include "wire/ofi/fabric.h"
#include "wire/transport.h"

static void say_fates(const mlt_iface_filter *filter, const struct ifaddrs *list)
{
    mlt_iface_fate fates[MLT_IFACE_FATES];
    uint32_t count = mlt_iface_fates(fates, list, filter);
    for (uint32_t i = 0; i < count; i++) {
        char text[MLT_ADDRESS_TEXT], whole[MLT_ADDRESS_TEXT + 8];
        mlt_address plain = fates[i].address;
        plain.scope = 0; // its interface stands before it
        snprintf(whole, sizeof whole, "%s/%u", mlt_address_text(text, &plain, 0), plain.prefix);
        printf("  %-*s %-40s %s%s\n", MLT_ADDRESS_IFACE - 1, plain.iface, whole,
               fates[i].why_not ? "not used: " : "used", fates[i].why_not ? fates[i].why_not : "");
    }
    if (count == 0)
        puts("  none: this host has no interface");
}

static void say_rest(const mlt_iface_ports *ports)
{
    char why[400];
    if (ports->first)
        printf("\nPort: one of %u-%u, for all ranks of this host\n", ports->first, ports->last);
    else
        puts("\nPort: one that is free, for all ranks of this host; --port-range narrows it");
    if (mlt_crypt_load(why, sizeof why) == MLT_OK)
        puts("libsodium: found");
    else
        printf("libsodium: %s\n", why);
}

void mlt_info_net(const char *iface, const char *range)
{
    mlt_iface_filter filter = {0};
    mlt_iface_ports ports = {0};
    struct ifaddrs *list;
    iface = iface ? iface : getenv("MILLET_IFACE");
    range = range ? range : getenv("MILLET_PORT_RANGE");
    if (iface && *iface && mlt_iface_parse(&filter, iface, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_wrong("--iface is '%s': %s", iface, mlt_args_why);
    if (range && *range && mlt_iface_ports_parse(&ports, range, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_wrong("--port-range is '%s': %s", range, mlt_args_why);
    if (getifaddrs(&list) != 0)
        mlt_args_failed("the addresses of this host cannot be listed (%s)", strerror(errno));
    printf("Addresses of %s that other hosts of a job would try%s%s\n", mlt_hosts_own(),
           filter.count ? ", with --iface " : "", filter.count ? iface : "");
    say_fates(&filter, list);
    freeifaddrs(list);
    say_rest(&ports);
}

void mlt_info_fabrics(void)
{
    mlt_fabric_choice choice;
    if (mlt_fabric_choose(mlt_tcp_fabric, &choice) != MLT_OK)
        mlt_args_wrong("MILLET_FABRIC is '%s', but should be tcp, auto, ofi or ofi:PROVIDER",
                       mlt_tcp_fabric);
    choice.trusts = mlt_tcp_fabric_trust != 0;
    printf("Messages to other hosts: MILLET_FABRIC is %s%s\n", mlt_tcp_fabric,
           choice.wanted ? "" : ", so nothing of this is used; with auto:");
    mlt_fabric_list(stdout, &choice);
}
