// SPDX-License-Identifier: BSD-3-Clause
#include "flow/net/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    mlt_flow_framing framing;
    const char *text;
    size_t bytes;
    mlt_status status;
    size_t at, length, used; // of the element
    const char *why;
} row;

#define OF(text) text, sizeof(text) - 1
static const mlt_flow_framing elements = {MLT_FLOW_FRAME_ELEMENTS, 300, 4};
static const mlt_flow_framing lines = {MLT_FLOW_FRAME_LINES, 5, 1};
static const mlt_flow_framing values = {MLT_FLOW_FRAME_VALUES, 10, 4};

static void try_row(const row *r)
{
    char why[80] = "", *copy = malloc(r->bytes + 1); // of exactly that size, for sanitizers
    mlt_flow_cut cut = {0};
    memcpy(copy, r->text, r->bytes);
    mlt_status status = mlt_flow_frame_cut(&r->framing, copy, r->bytes, &cut, why, sizeof why);
    bool fine = status == r->status && strcmp(why, r->why ? r->why : "") == 0;
    if (status == MLT_OK)
        fine = fine && cut.data == copy + r->at && cut.bytes == r->length && cut.used == r->used;
    if (!fine) {
        fprintf(stderr, "'%s': status %d, %zu bytes, %zu used, %s\n", r->text, (int)status,
                cut.bytes, cut.used, why);
        exit(1);
    }
    free(copy);
}

int main(void)
{
    const row rows[] = {
        {elements, OF(""), MLT_PENDING, 0, 0, 0, NULL},
        {elements, OF("\0\0\0"), MLT_PENDING, 0, 0, 0, NULL},
        {elements, OF("\0\0\0\0"), MLT_OK, 4, 0, 4, NULL},
        {elements, OF("\0\0\0\4abc"), MLT_PENDING, 0, 0, 0, NULL},
        {elements, OF("\0\0\0\4abcd"), MLT_OK, 4, 4, 8, NULL},
        {elements, OF("\0\0\0\4abcdef"), MLT_OK, 4, 4, 8, NULL},
        {elements, OF("\0\0\0\5"), MLT_ERR_INVALID, 0, 0, 0,
         "an element of 5 bytes, but values have 4"},
        {elements, OF("\0\0\1\54"), MLT_PENDING, 0, 0, 0, NULL}, // 300
        {elements, OF("\0\0\1\60"), MLT_ERR_INVALID, 0, 0, 0,
         "an element of 304 bytes, where 300 are most"},
        {elements, OF("\377\377\377\377"), MLT_ERR_INVALID, 0, 0, 0,
         "an element of 4294967295 bytes, where 300 are most"},
        {lines, OF(""), MLT_PENDING, 0, 0, 0, NULL},
        {lines, OF("\n"), MLT_OK, 0, 0, 1, NULL},
        {lines, OF("ab"), MLT_PENDING, 0, 0, 0, NULL},
        {lines, OF("ab\ncd\n"), MLT_OK, 0, 2, 3, NULL},
        {lines, OF("ab\r\n"), MLT_OK, 0, 2, 4, NULL},
        {lines, OF("\r\n"), MLT_OK, 0, 0, 2, NULL},
        {lines, OF("a\rb\n"), MLT_OK, 0, 3, 4, NULL},
        {lines, OF("12345\n"), MLT_OK, 0, 5, 6, NULL},
        {lines, OF("12345\r"), MLT_PENDING, 0, 0, 0, NULL},
        {lines, OF("12345\r\n"), MLT_OK, 0, 5, 7, NULL},
        {lines, OF("123456"), MLT_ERR_INVALID, 0, 0, 0, "a line of more than 5 bytes"},
        {lines, OF("123456\n"), MLT_ERR_INVALID, 0, 0, 0, "a line of more than 5 bytes"},
        {lines, OF("a\0b\n"), MLT_ERR_INVALID, 0, 0, 0, "a line with a zero byte"},
        {values, OF("abc"), MLT_PENDING, 0, 0, 0, NULL},
        {values, OF("abcde"), MLT_OK, 0, 4, 4, NULL},
        {values, OF("abcdefghijklm"), MLT_OK, 0, 8, 8, NULL}, // 10 are most
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        try_row(&rows[i]);

    uint8_t header[MLT_FLOW_FRAME_HEADER];
    if (!mlt_flow_frame_begin(header, 0x01020304) || memcmp(header, "\1\2\3\4", 4) != 0 ||
        !mlt_flow_frame_begin(header, UINT32_MAX) ||
        mlt_flow_frame_begin(header, UINT64_C(1) << 32)) {
        fprintf(stderr, "a header is wrong\n");
        return 1;
    }
    return 0;
}
