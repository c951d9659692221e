// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

// POSIX lets an object pointer be a function's.
static bool take(void *library, const char *symbol, void *place, char *why, size_t why_size)
{
    void *found = dlsym(library, symbol);
    memcpy(place, &found, sizeof found);
    if (!found)
        snprintf(why, why_size, "the CUDA driver is too old: libcuda.so.1 has no %s", symbol);
    return found != NULL;
}

static int is_driver(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    (void)user;
    return info->dlpi_name && strstr(info->dlpi_name, "/libcuda.so") != NULL;
}

bool mlt_gpu_driver_is_loaded(void)
{
    return dl_iterate_phdr(is_driver, NULL);
}

mlt_status mlt_gpu_driver_load(mlt_gpu_driver *driver, bool load, char *why, size_t why_size)
{
    // dlopen would look for the file although it must not load it, which every process would pay.
    void *library = load || mlt_gpu_driver_is_loaded()
                        ? dlopen("libcuda.so.1", RTLD_NOW | (load ? 0 : RTLD_NOLOAD))
                        : NULL;
    if (!library) {
        const char *said = load ? dlerror() : NULL;
        snprintf(why, why_size, "there is no CUDA driver: %s",
                 said ? said : "libcuda.so.1 is not loaded");
        return MLT_ERR_UNSUPPORTED;
    }
#define TAKE(name, symbol, parameters) &&take(library, #symbol, &driver->name, why, why_size)
    bool all = true MLT_CU_LIST(TAKE);
#undef TAKE
    return all ? MLT_OK : MLT_ERR_INVALID; // the library stays: it is the program's
}

void mlt_gpu_error_text(const mlt_gpu_driver *driver, mlt_cu_result error, char *text, size_t size)
{
    const char *name = NULL, *words = NULL;
    if (driver->GetErrorName(error, &name) != MLT_CU_OK)
        name = NULL;
    if (driver->GetErrorString(error, &words) != MLT_CU_OK)
        words = NULL;
    snprintf(text, size, "%s (%s, %d)", words ? words : "unknown error", name ? name : "CUDA",
             error);
}
