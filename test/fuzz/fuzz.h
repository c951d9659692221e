// SPDX-License-Identifier: BSD-3-Clause
// What the harnesses of the parsers (src/LAYER/x_fuzz.c) share. Each defines
// LLVMFuzzerTestOneInput. libFuzzer calls it in the preset `fuzz`; everywhere else driver.c does,
// with the seeds of test/fuzz/x and a fixed number of variants.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A harness asks for the driver's failure, with the input, if the condition does not hold.
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #condition))

_Noreturn void fuzz_failed(const char *file, int line, const char *condition);

// The bytes with a NUL behind, in memory of exactly that size. The caller frees it.
char *fuzz_text(const uint8_t *data, size_t size);

// `why` is an error message: not empty, one line, nothing that talks to the terminal, shorter than
// room.
void fuzz_check_sentence(const char *why, size_t room);

// The same of a text of lines: each ends, none is empty.
void fuzz_check_lines(const char *text, size_t size);

// Takes up to `wanted` bytes off the input; what is missing is 0.
void fuzz_take(const uint8_t **data, size_t *size, void *to, size_t wanted);
