// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ofi/load.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

// A variable that libfabric or a library below it reads once. What the user has set stays, and the
// program does not see what is set here.
typedef struct advice {
    const char *name;
    char value[16];
    bool mine;
} advice;

static void advise(advice *list, int count)
{
    for (int i = 0; i < count; i++)
        list[i].mine = !getenv(list[i].name) && setenv(list[i].name, list[i].value, 0) == 0;
}

static void forget(const advice *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i].mine)
            unsetenv(list[i].name);
}

// Libraries of Omni-Path, on which libfabric may depend, take over signals when they are loaded, to
// write files about crashes. These variables keep them from it.
static void *open_library(bool *was_there)
{
    void *before = dlopen(MLT_OFI_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    *was_there = before != NULL;
    if (before)
        dlclose(before);
    advice calm[] = {{.name = "HFI_NO_BACKTRACE", .value = "1"},
                     {.name = "IPATH_NO_BACKTRACE", .value = "1"}};
    advise(calm, 2);
    void *object = dlopen(MLT_OFI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    forget(calm, 2);
    return object;
}

// Whether it has read its variables, or somebody else may have made it do so; and whether it has read
// that packets by TCP are to be longer.
static bool has_read, read_longer;

static mlt_status load(mlt_ofi *out, char *why, size_t why_size)
{
    const struct {
        const char *name;
        size_t place; // in mlt_ofi
    } wanted[] = {
        {"fi_getinfo", offsetof(mlt_ofi, getinfo)},   {"fi_freeinfo", offsetof(mlt_ofi, freeinfo)},
        {"fi_dupinfo", offsetof(mlt_ofi, dupinfo)},   {"fi_fabric", offsetof(mlt_ofi, fabric)},
        {"fi_strerror", offsetof(mlt_ofi, strerror)}, {"fi_version", offsetof(mlt_ofi, version)},
    };
    void *object = open_library(&has_read);
    if (!object)
        return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size,
                        "libfabric is not there (Debian: apt install libfabric1): %s", dlerror());
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(object, wanted[i].name);
        if (!found) {
            snprintf(why, why_size, "%s is not the libfabric that Millet knows: %s is missing",
                     MLT_OFI_LIBRARY, wanted[i].name);
            dlclose(object);
            return MLT_ERR_UNSUPPORTED;
        }
        memcpy((char *)out + wanted[i].place, &found, sizeof found);
    }
    return MLT_OK;
}

const mlt_ofi *mlt_ofi_load(char *why, size_t why_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static mlt_ofi ofi;
    static bool loaded;
    pthread_mutex_lock(&lock);
    if (!loaded)
        loaded = load(&ofi, why, why_size) == MLT_OK;
    pthread_mutex_unlock(&lock);
    return loaded ? &ofi : NULL;
}

// FI_RMA is asked for in a second round, without which the first would leave out whoever has none.
static struct fi_info *hints_for(const mlt_ofi *ofi, const char *provider, uint64_t caps)
{
    struct fi_info *hints = ofi->dupinfo(NULL); // what fi_allocinfo is
    if (!hints)
        return NULL;
    hints->caps = FI_MSG | FI_MULTI_RECV | caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->fabric_attr->prov_name = *provider ? strdup(provider) : NULL; // freeinfo frees it
    return hints;
}

// By TCP, rxm posts 4,096 buffers of 16 KiB, and has a queue of 12 MiB for the events of 256
// processes. It goes through both in turn, so each message finds another cold buffer, and a process
// grows to 76 MiB. As many as rxm posts for any other network are enough: what comes while none is
// left waits in the connection. They are a little longer, so that the packets of a message of 64 KiB
// are four and not five. Longer packets than rxm has buffers for would lose their order.
enum { ADVICES = 3 };

static int tcp_advice(const mlt_fabric_choice *choice, advice list[ADVICES])
{
    enum { EXPECTED = 256 }; // FI_UNIVERSE_SIZE, if nobody sets it
    if (strncmp(choice->provider, "tcp", 3) != 0)
        return 0;
    list[0] = (advice){.name = "FI_OFI_RXM_BUFFER_SIZE"};
    snprintf(list[0].value, sizeof list[0].value, "%d", MLT_FABRIC_PACKET_MOST);
    list[1] = (advice){.name = "FI_OFI_RXM_MSG_RX_SIZE", .value = "128"};
    if (choice->processes == 0 || choice->processes >= EXPECTED)
        return 2;
    list[2] = (advice){.name = "FI_UNIVERSE_SIZE"};
    snprintf(list[2].value, sizeof list[2].value, "%u", choice->processes);
    return 3;
}

struct fi_info *mlt_ofi_offers(const mlt_ofi *ofi, const mlt_fabric_choice *choice,
                               uint32_t *packet_bytes, char *why, size_t why_size)
{
    struct fi_info *list = NULL;
    const char *provider = choice->provider;
    int error = 0;
    static const uint64_t rounds[] = {FI_RMA, 0};
    advice given[ADVICES] = {0};
    int advices = tcp_advice(choice, given);
    advise(given, advices);
    if (!has_read)
        read_longer = advices && given[0].mine && !getenv("FI_OFI_RXM_EAGER_LIMIT");
    *packet_bytes = advices && read_longer ? MLT_FABRIC_PACKET_MOST : MLT_FABRIC_PACKET_LEAST;
    for (int i = 0; i < 2 && !list; i++) {
        struct fi_info *hints = hints_for(ofi, provider, rounds[i]);
        if (!hints)
            break;
        error = ofi->getinfo(FI_VERSION(1, 9), NULL, NULL, 0, hints, &list);
        ofi->freeinfo(hints);
        if (error)
            list = NULL;
    }
    forget(given, advices);
    has_read = true;
    if (!list)
        snprintf(why, why_size,
                 "libfabric has no provider%s%s here that sends reliably and in order (%s)",
                 *provider ? " " : "", provider, ofi->strerror(-error));
    return list;
}

const char *mlt_ofi_lacks(const struct fi_info *info)
{
    if (info->ep_attr->max_msg_size < MLT_FABRIC_PACKET_MOST)
        return "its messages are too short";
    if (!(info->tx_attr->msg_order & FI_ORDER_SAS))
        return "it does not keep the order";
    if (info->domain_attr->resource_mgmt != FI_RM_ENABLED)
        return "it does not hold up senders";
    if (info->mode & ~(FI_CONTEXT | FI_CONTEXT2))
        return "it has demands that Millet does not meet";
    if (info->src_addrlen > MLT_FABRIC_ADDRESS)
        return "its addresses are too long";
    return NULL;
}

bool mlt_ofi_has_devices(void)
{
    static const char *const lists[] = {"/sys/class/infiniband/*", "/sys/class/cxi*/*"};
    bool any = false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !any; i++) {
        glob_t found = {0};
        any = glob(lists[i], GLOB_NOSORT, NULL, &found) == 0;
        globfree(&found);
    }
    return any;
}

bool mlt_ofi_is_worthy(const struct fi_info *info)
{
    static const char *const worthy[] = {"efa", "cxi", "psm2", "psm3", "opx", "verbs"};
    for (size_t i = 0; i < sizeof worthy / sizeof *worthy; i++)
        if (strncmp(info->fabric_attr->prov_name, worthy[i], strlen(worthy[i])) == 0)
            return true;
    return false;
}

static bool is_loopback(const struct fi_info *info)
{
    return info->domain_attr->name && strcmp(info->domain_attr->name, "lo") == 0;
}

bool mlt_ofi_guards(const struct fi_info *info)
{
    return !(info->caps & FI_RMA) || (!(info->domain_attr->mr_mode & FI_MR_PROV_KEY) &&
                                      info->domain_attr->mr_key_size >= sizeof(uint64_t));
}

static const struct fi_info *best_of(const struct fi_info *list, const mlt_fabric_choice *choice,
                                     bool trusts)
{
    const struct fi_info *best = NULL;
    for (const struct fi_info *info = list; info; info = info->next) {
        if (mlt_ofi_lacks(info) || (!*choice->provider && !mlt_ofi_is_worthy(info)) ||
            (!trusts && !mlt_ofi_guards(info)))
            continue;
        if (!best || (is_loopback(best) && !is_loopback(info)))
            best = info;
    }
    return best;
}

const struct fi_info *mlt_ofi_best(const struct fi_info *list, const mlt_fabric_choice *choice,
                                   char *why, size_t why_size)
{
    const struct fi_info *best = best_of(list, choice, choice->trusts);
    const struct fi_info *open = best ? NULL : best_of(list, choice, true);
    if (open)
        snprintf(why, why_size,
                 "the keys by which %s lets memory be read can be guessed: whoever reaches its "
                 "network could read messages; --fabric-trust takes it nevertheless",
                 open->fabric_attr->prov_name);
    else if (!best)
        snprintf(why, why_size,
                 "libfabric has no provider here that is worth it; `millet info "
                 "--fabrics` lists those that it has");
    return best;
}
