// SPDX-License-Identifier: BSD-3-Clause
// What the program and its libraries call, as the dynamic linker knows it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Whether something that is loaded refers to one of these functions without having it itself. A
// reference by dlsym is not seen, nor one within a file.
bool mlt_os_imports(const char *const *names, size_t count);
