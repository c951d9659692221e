// SPDX-License-Identifier: BSD-3-Clause
// Requests: whole, in parts, two at a time, and every way to be wrong.
#include "tools/view/http.h"

#include <string.h>

#include "base/unit_test.h"

static mlt_http_request request;
static size_t used;

static int status_of(const char *text)
{
    return mlt_http_read(&request, text, strlen(text), &used);
}

static void test_fine(void)
{
    const char *text =
        "GET /k/spans?a=1&b=2 HTTP/1.1\r\nhOST: \t localhost:80 \r\nX: y z\r\n\r\nGET";
    CHECK(status_of(text) == MLT_HTTP_FINE);
    CHECK(used == strlen(text) - 3);
    CHECK(strcmp(request.path, "/k/spans") == 0);
    CHECK(strcmp(request.query, "a=1&b=2") == 0);
    CHECK(strcmp(request.host, "localhost:80") == 0);
    CHECK(!request.closes);
    for (size_t cut = 0; cut < used; cut++)
        CHECK(mlt_http_read(&request, text, cut, &(size_t){0}) == MLT_HTTP_MORE);
    CHECK(status_of("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n") == MLT_HTTP_FINE);
    CHECK(request.closes && !request.query[0] && !request.host[0]);
    CHECK(status_of("GET / HTTP/1.0\r\n\r\n") == MLT_HTTP_FINE);
    CHECK(request.closes);
    CHECK(status_of("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n") == MLT_HTTP_FINE);
}

static void test_wrong(void)
{
    CHECK(status_of("PUT / HTTP/1.1\r\n\r\n") == MLT_HTTP_METHOD);
    CHECK(status_of("get / HTTP/1.1\r\n\r\n") == MLT_HTTP_METHOD);
    CHECK(status_of("GET / HTTP/2\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET /\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET x HTTP/1.1\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET http://a/ HTTP/1.1\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET /\x01 HTTP/1.1\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET /\xc3\xa4 HTTP/1.1\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\nHost: a\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\r\nno colon\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\r\nHost:\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n") == MLT_HTTP_BAD);
    CHECK(status_of("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") == MLT_HTTP_BAD);
    static char much[MLT_HTTP_MOST + 1];
    memset(much, 'x', MLT_HTTP_MOST);
    CHECK(status_of(much) == MLT_HTTP_LONG);
    memcpy(much, "GET /", 5);
    memcpy(much + MLT_HTTP_MOST - 13, " HTTP/1.1\r\n\r\n", 13);
    CHECK(status_of(much) == MLT_HTTP_LONG);
}

static void test_query(void)
{
    uint64_t n = 7, list[3];
    CHECK(mlt_http_number("a=12&bb=34", "bb", &n) && n == 34);
    CHECK(mlt_http_number("a=18446744073709551615", "a", &n) && n == UINT64_MAX);
    CHECK(!mlt_http_number("a=18446744073709551616", "a", &n));
    CHECK(!mlt_http_number("a=1&bb=34", "b", &n));
    CHECK(!mlt_http_number("a=", "a", &n));
    CHECK(!mlt_http_number("a", "a", &n));
    CHECK(!mlt_http_number("a=-1", "a", &n));
    CHECK(!mlt_http_number("", "a", &n));
    CHECK(mlt_http_numbers("a=1,2,3", "a", list, 3) == 3 && list[0] == 1 && list[2] == 3);
    CHECK(mlt_http_numbers("a=", "a", list, 3) == 0);
    CHECK(mlt_http_numbers("a=1,2,3,4", "a", list, 3) == -1);
    CHECK(mlt_http_numbers("a=1,,2", "a", list, 3) == -1);
    CHECK(mlt_http_numbers("b=1", "a", list, 3) == -1);
}

int main(void)
{
    test_fine();
    test_wrong();
    test_query();
    return 0;
}
