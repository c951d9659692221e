// SPDX-License-Identifier: BSD-3-Clause
// What a program that is linked with the library sees. Everything else is hidden.
#pragma once

#define MLT_EXPORT __attribute__((visibility("default")))

// A function in the place of one of libc's. It asks who calls it (host/caller.h), so it must not be
// inlined into this library, not even when all of it is optimised together.
#define MLT_INTERPOSE __attribute__((visibility("default"), noinline))
