// SPDX-License-Identifier: BSD-3-Clause
#include "os/device.h"

#include <stddef.h>
#include <string.h>

bool mlt_os_is_of_device(const char *path)
{
    static const char *const begin[] = {
        "libcuda.so", "libcudart", "libnv",    "libnccl",     "libcublas", "libcudnn",
        "libcufft",   "libcurand", "libcusol", "libcusparse", "libcupti",  "libamdhip64",
        "libhiprtc",  "libhsa-",   "librccl",  "librocm",     "libze_",    "libOpenCL.so"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}
