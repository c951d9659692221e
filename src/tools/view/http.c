// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/http.h"

#include <string.h>
#include <strings.h>

typedef struct words {
    const char *at;
    size_t count;
} words;

const char *mlt_http_words(int status)
{
    switch (status) {
    case MLT_HTTP_FINE:
        return "OK";
    case MLT_HTTP_FORBIDDEN:
        return "Forbidden";
    case MLT_HTTP_NOT_FOUND:
        return "Not Found";
    case MLT_HTTP_METHOD:
        return "Method Not Allowed";
    case MLT_HTTP_LONG:
        return "Request Header Fields Too Large";
    default:
        return "Bad Request";
    }
}

// ---- the request

// What is printed and no blank. Other bytes have no place in a target or in a host.
static bool is_plain(words w)
{
    for (size_t i = 0; i < w.count; i++)
        if (w.at[i] <= ' ' || w.at[i] > '~')
            return false;
    return w.count > 0;
}

static bool copy(char *to, size_t room, words from)
{
    if (from.count >= room)
        return false;
    memcpy(to, from.at, from.count);
    to[from.count] = 0;
    return true;
}

static words until(words *rest, char end)
{
    const char *found = memchr(rest->at, end, rest->count);
    words w = {rest->at, found ? (size_t)(found - rest->at) : rest->count};
    size_t gone = found ? w.count + 1 : w.count;
    *rest = (words){rest->at + gone, rest->count - gone};
    return w;
}

static bool is_word(words w, const char *word)
{
    return w.count == strlen(word) && strncasecmp(w.at, word, w.count) == 0;
}

static words trimmed(words w)
{
    while (w.count && (*w.at == ' ' || *w.at == '\t'))
        w = (words){w.at + 1, w.count - 1};
    while (w.count && (w.at[w.count - 1] == ' ' || w.at[w.count - 1] == '\t'))
        w.count--;
    return w;
}

// A line without its "\r\n"; false: there is a "\n" alone.
static bool next_line(words *rest, words *line)
{
    *line = until(rest, '\n');
    if (!line->count || line->at[line->count - 1] != '\r')
        return false;
    line->count--;
    return true;
}

static int read_first(mlt_http_request *r, words line)
{
    words method = until(&line, ' '), target = until(&line, ' ');
    if (!is_word(line, "HTTP/1.1") && !is_word(line, "HTTP/1.0"))
        return MLT_HTTP_BAD;
    r->closes = is_word(line, "HTTP/1.0");
    if (method.count != 3 || memcmp(method.at, "GET", 3) != 0)
        return MLT_HTTP_METHOD;
    if (!is_plain(target) || target.at[0] != '/')
        return MLT_HTTP_BAD;
    words path = until(&target, '?');
    return copy(r->path, sizeof r->path, path) && copy(r->query, sizeof r->query, target)
               ? MLT_HTTP_FINE
               : MLT_HTTP_LONG;
}

static int read_field(mlt_http_request *r, words line)
{
    if (!memchr(line.at, ':', line.count))
        return MLT_HTTP_BAD;
    words name = until(&line, ':'), value = trimmed(line);
    if (!is_plain(name))
        return MLT_HTTP_BAD;
    if (is_word(name, "Host")) {
        if (r->host[0] || !is_plain(value) || !copy(r->host, sizeof r->host, value))
            return MLT_HTTP_BAD;
    } else if (is_word(name, "Connection"))
        r->closes = r->closes || is_word(value, "close");
    else if (is_word(name, "Transfer-Encoding") ||
             (is_word(name, "Content-Length") && !is_word(value, "0")))
        return MLT_HTTP_BAD; // a body: nothing here takes one
    return MLT_HTTP_FINE;
}

int mlt_http_read(mlt_http_request *r, const char *bytes, size_t count, size_t *used)
{
    *r = (mlt_http_request){0};
    *used = 0;
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end)
        return count >= MLT_HTTP_MOST ? MLT_HTTP_LONG : MLT_HTTP_MORE;
    words rest = {bytes, (size_t)(end - bytes) + 2}, line;
    *used = rest.count + 2;
    int status = next_line(&rest, &line) ? read_first(r, line) : MLT_HTTP_BAD;
    while (status == MLT_HTTP_FINE && rest.count)
        status = next_line(&rest, &line) ? read_field(r, line) : MLT_HTTP_BAD;
    return status;
}

// ---- the query

static bool find_value(const char *query, const char *name, words *value)
{
    words rest = {query, strlen(query)};
    while (rest.count) {
        words one = until(&rest, '&'), key = until(&one, '=');
        if (key.count == strlen(name) && memcmp(key.at, name, key.count) == 0) {
            *value = one;
            return true;
        }
    }
    return false;
}

static bool read_number(words w, uint64_t *number)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w.count; i++) {
        if (w.at[i] < '0' || w.at[i] > '9' || __builtin_mul_overflow(n, UINT64_C(10), &n) ||
            __builtin_add_overflow(n, (uint64_t)(w.at[i] - '0'), &n))
            return false;
    }
    *number = n;
    return w.count > 0;
}

bool mlt_http_number(const char *query, const char *name, uint64_t *number)
{
    words value;
    return find_value(query, name, &value) && read_number(value, number);
}

int mlt_http_numbers(const char *query, const char *name, uint64_t *numbers, int most)
{
    words value;
    int count = 0;
    if (!find_value(query, name, &value))
        return -1;
    while (value.count) {
        if (count == most || !read_number(until(&value, ','), &numbers[count]))
            return -1;
        count++;
    }
    return count;
}
