// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a browser's request: not whole yet, refused, or read, and then they are the same however they are cut.
#include "tools/view/http.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

static void check_plain(const char *text)
{
    for (; *text; text++)
        FUZZ_CHECK(*text > ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlt_http_request one, two;
    size_t used, again;
    char *bytes = malloc(size ? size : 1); // no byte more: a sanitizer sees who reads on
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    int status = mlt_http_read(&one, bytes, size, &used);
    FUZZ_CHECK(used <= size && (status != MLT_HTTP_MORE || used == 0));
    FUZZ_CHECK(status == MLT_HTTP_MORE || mlt_http_words(status)[0]);
    if (status == MLT_HTTP_FINE) {
        FUZZ_CHECK(used > 0 && one.path[0] == '/');
        check_plain(one.path);
        check_plain(one.query);
        check_plain(one.host);
        FUZZ_CHECK(mlt_http_read(&two, bytes, used - 1, &again) == MLT_HTTP_MORE);
        FUZZ_CHECK(mlt_http_read(&two, bytes, used, &again) == status && again == used);
        FUZZ_CHECK(memcmp(&one, &two, sizeof one) == 0);
        uint64_t number, numbers[4];
        int count = mlt_http_numbers(one.query, "a", numbers, 4);
        FUZZ_CHECK(count >= -1 && count <= 4);
        if (mlt_http_number(one.query, "a", &number))
            FUZZ_CHECK(count == 1 && numbers[0] == number);
    }
    free(bytes);
    return 0;
}
