// SPDX-License-Identifier: BSD-3-Clause
// The representation "external32": big-endian, IEEE, the same on every machine.
#pragma once

#include <stdint.h>

#include "type/type.h"

// Bytes of one element in external32. Never more than in memory.
uint64_t mlt_external32_size(const mlt_type *type);

// Converts `count` elements at buf to external32 at `to`, or back.
void mlt_external32_pack(const mlt_type *type, const void *buf, uint64_t count, void *to);
void mlt_external32_unpack(const mlt_type *type, void *buf, uint64_t count, const void *from);

// long double as x86-64 has it (80 bits, in 16 bytes) from and to binary128, both in this machine's
// order of bytes. To 80 bits it rounds to nearest, ties to even.
void mlt_external32_widen(unsigned char quad[16], const unsigned char extended[16]);
void mlt_external32_round(unsigned char extended[16], const unsigned char quad[16]);
