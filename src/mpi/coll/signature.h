// SPDX-License-Identifier: BSD-3-Clause
// The basic elements of a datatype in the order of its type map, found by walking how it was made.
// All elements of a type that was built from one other are that one's, so vectors, indexed types
// and arrays cost a division whatever their size; only structs are looked at part by part.
#pragma once

#include <stdint.h>

#include "type/type.h"

// The number of basic elements in the first `bytes` bytes of the packed form; -1 if the last one is
// not complete.
int64_t mlt_signature_count(const mlt_type *type, uint64_t bytes);

// The bytes of the first `basics` basic elements in the packed form of endlessly many elements; the
// type has some.
uint64_t mlt_signature_bytes(const mlt_type *type, uint64_t basics);

// Calls `run` for the elements of `count` elements of a type: n equal named ones, no pairs, next to
// each other in the packed form.
typedef void mlt_signature_run(void *user, const mlt_type *basic, uint64_t n);
void mlt_signature_walk(const mlt_type *type, uint64_t count, mlt_signature_run *run, void *user);
