// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "wire/ofi/load.h"

static bool are_alike(const struct fi_info *a, const struct fi_info *b)
{
    return strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) == 0 &&
           strcmp(a->domain_attr->name, b->domain_attr->name) == 0;
}

// A device comes once for each of its networks and protocols; one of them is enough.
static bool was_said(const struct fi_info *list, const struct fi_info *info,
                     const struct fi_info *taken)
{
    if (info == taken || !info->domain_attr->name)
        return false;
    if (taken && are_alike(taken, info))
        return true;
    for (const struct fi_info *other = list; other != info; other = other->next)
        if (are_alike(other, info))
            return true;
    return false;
}

static void say(FILE *out, const struct fi_info *info, const struct fi_info *taken,
                const mlt_fabric_choice *choice)
{
    const char *lacks = mlt_ofi_lacks(info);
    const char *verdict = info == taken ? "taken" : "not taken";
    bool worthy = *choice->provider || mlt_ofi_is_worthy(info);
    const char *reason =
        lacks           ? lacks
        : info == taken ? (mlt_ofi_is_worthy(info) ? "a network of its own" : "it was asked for")
        : !worthy       ? "it uses what TCP uses; ofi:PROVIDER takes it nevertheless"
        : !choice->trusts && !mlt_ofi_guards(info)
            ? "its keys to memory can be guessed; --fabric-trust takes it nevertheless"
            : "another one was first";
    fprintf(out, "%-14s %-12s %-24s %-9s  %s\n", info->fabric_attr->prov_name,
            info->domain_attr->name ? info->domain_attr->name : "-",
            info->fabric_attr->name ? info->fabric_attr->name : "-", verdict, reason);
}

void mlt_fabric_list(FILE *out, const mlt_fabric_choice *choice)
{
    char why[256];
    uint32_t packet_bytes = 0;
    const mlt_ofi *ofi = mlt_ofi_load(why, sizeof why);
    struct fi_info *list = ofi ? mlt_ofi_offers(ofi, choice, &packet_bytes, why, sizeof why) : NULL;
    if (!list) {
        fprintf(out, "none: %s\n", why);
        return;
    }
    const struct fi_info *taken = mlt_ofi_best(list, choice, why, sizeof why);
    uint32_t version = ofi->version();
    fprintf(out, "libfabric %u.%u\n", FI_MAJOR(version), FI_MINOR(version));
    fprintf(out, "%-14s %-12s %-24s %-9s  %s\n", "provider", "device", "network", "", "because");
    for (const struct fi_info *info = list; info; info = info->next)
        if (!was_said(list, info, taken))
            say(out, info, taken, choice);
    ofi->freeinfo(list);
}
