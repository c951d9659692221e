// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/support.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "gpu/driver.h"
#include "gpu/settings.h"

// The driver is let go again: whether one is in use is what the process has loaded, and who merely
// asks uses none.
static bool can_load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
#define HAS(name, symbol, parameters) &&dlsym(library, #symbol)
    bool can = library MLT_CU_LIST(HAS); // one that lacks something cannot be used
#undef HAS
    if (library)
        dlclose(library);
    return can;
}

bool mlt_gpu_is_supported(void)
{
    static atomic_bool found; // a driver does not go away, but may come
    if (mlt_gpu_conf.want == MLT_GPU_WANT_NONE)
        return false;
    if (!atomic_load_explicit(&found, memory_order_relaxed) && can_load())
        atomic_store_explicit(&found, true, memory_order_relaxed);
    return atomic_load_explicit(&found, memory_order_relaxed);
}
