// SPDX-License-Identifier: BSD-3-Clause
// libfabric itself, and the choice among its providers. Inside of src/wire/ofi only.
#pragma once

#include <rdma/fabric.h>

#include "wire/ofi/fabric.h"

#define MLT_OFI_LIBRARY "libfabric.so.1"

// The few functions that are not inline.
typedef struct mlt_ofi {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int error);
    uint32_t (*version)(void);
} mlt_ofi;

// NULL: it is not there, or not as expected; why.
const mlt_ofi *mlt_ofi_load(char *why, size_t why_size);

// What this host offers, of which the provider of the choice ("": all) restricts the names. NULL:
// nothing; why. The caller frees it. The first call makes libfabric read its variables. *packet_bytes:
// what it sends best at once.
struct fi_info *mlt_ofi_offers(const mlt_ofi *ofi, const mlt_fabric_choice *choice,
                               uint32_t *packet_bytes, char *why, size_t why_size);

// NULL: it can be taken. Otherwise what is missing.
const char *mlt_ofi_lacks(const struct fi_info *info);

// Whether the system has a device of a network that is worth it: InfiniBand and what looks so to the system
// (RoCE, EFA, Omni-Path), or Slingshot. libfabric needs 0.1 s of a core to say no, in each process.
bool mlt_ofi_has_devices(void);

// Whether it is a network that is worth it, rather than a way to use one that TCP uses as well.
bool mlt_ofi_is_worthy(const struct fi_info *info);

// Whether nobody reads memory through it without having been told the key: it takes keys of 64 bits
// that Millet has drawn, or does not let memory be read.
bool mlt_ofi_guards(const struct fi_info *info);

// The best of a list; NULL: none, why. One that does not guard memory is no candidate unless the choice
// trusts it.
const struct fi_info *mlt_ofi_best(const struct fi_info *list, const mlt_fabric_choice *choice,
                                   char *why, size_t why_size);
