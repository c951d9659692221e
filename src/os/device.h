// SPDX-License-Identifier: BSD-3-Clause
// Libraries of devices.
#pragma once

#include <stdbool.h>

// The file is a driver or a run-time of a device, by its name: of CUDA, HIP, Level Zero or OpenCL, or
// of what is built on them. Such a library keeps a context for the whole process, and locks.
bool mlt_os_is_of_device(const char *path);
