// SPDX-License-Identifier: BSD-3-Clause
// From texts to hosts: lists of the command line, and host files.
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "launch/plan/hosts.h"
#include "launch/say.h"
#include "net/address.h"

enum { HOSTS_READ_NAME_BYTES = 256, HOSTS_READ_LINE_BYTES = 4096, DIGITS = 9 };

// Where the words come from; and the current word, as it was written.
typedef struct hosts_read_reader {
    mlt_hosts *hosts;
    mlt_hosts_entry mention; // its name is set for each host that the word stands for
    const char *word;
} hosts_read_reader;

static _Noreturn MLT_PRINTF(2, 3) void hosts_read_refuse(const hosts_read_reader *r,
                                                         const char *format, ...)
{
    char where[MLT_HOST_WHERE_BYTES];
    mlt_text why = {0};
    va_list args;
    va_start(args, format);
    mlt_text_vadd(&why, format, args);
    va_end(args);
    mlt_quit(MLT_EXIT_USAGE, "%s: %s", mlt_hosts_where(&r->mention, where), why.text);
}

// Digits and nothing else, as a number of slots.
static bool slots_of(const char *text, uint32_t *slots)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || text[n])
        return false;
    errno = 0;
    unsigned long value = strtoul(text, NULL, 10);
    if (errno || value > MLT_HOSTS_MOST_SLOTS)
        return false;
    *slots = (uint32_t)value;
    return true;
}

// ---- Names

static bool only(const char *text, const char *also)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr(also, *text))
            return false;
    return true;
}

// A name that begins with a dash would be an option of the remote shell.
static void hosts_read_add_name(hosts_read_reader *r, const char *name)
{
    if (!*name)
        hosts_read_refuse(r, "a host name is missing in '%s'", r->word);
    if ((*name == '-' || !only(name, ".-_")) && !mlt_hosts_is_here(name))
        hosts_read_refuse(r, "'%s' in '%s' is no name of a host", name, r->word);
    r->mention.name = name;
    (void)mlt_hosts_add(r->hosts, &r->mention);
}

// An address of IPv6, perhaps with %zone; its usual spelling is its name.
static void add_address(hosts_read_reader *r, const char *text)
{
    char plain[MLT_ADDRESS_TEXT], name[HOSTS_READ_NAME_BYTES];
    mlt_address address;
    size_t n = strcspn(text, "%"), zone = strlen(text + n);
    snprintf(plain, sizeof plain, "%.*s", (int)(n < sizeof plain ? n : sizeof plain - 1), text);
    if (n >= sizeof plain || !mlt_address_read(&address, plain) || zone == 1 ||
        zone > MLT_ADDRESS_IFACE || (zone && !only(text + n + 1, ".-_")))
        hosts_read_refuse(r, "'%s' in '%s' is no address of a host", text, r->word);
    snprintf(name, sizeof name, "%s%s", mlt_address_text(plain, &address, 0), text + n);
    r->mention.name = name;
    (void)mlt_hosts_add(r->hosts, &r->mention);
}

// ---- Ranges

static void hosts_read_expand(hosts_read_reader *r, const char *begun, const char *rest);

static _Noreturn void refuse_brackets(const hosts_read_reader *r)
{
    hosts_read_refuse(
        r, "'%s' should have numbers and ranges in its brackets, as node[01-16,20] has", r->word);
}

// A number of a range; returns its end.
static const char *range_number(const hosts_read_reader *r, const char *at, uint32_t *number)
{
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || digits > DIGITS)
        refuse_brackets(r);
    *number = (uint32_t)strtoul(at, NULL, 10);
    return at + digits;
}

// "01-16" or "7"; returns its end. `after` follows the brackets.
static const char *expand_range(hosts_read_reader *r, const char *begun, const char *range,
                                const char *after)
{
    uint32_t first, last;
    const char *end = range_number(r, range, &first);
    int width = (int)(end - range);
    last = first;
    if (*end == '-')
        end = range_number(r, end + 1, &last);
    if (first > last)
        hosts_read_refuse(r, "the range %.*s in '%s' runs backwards", (int)(end - range), range,
                          r->word);
    if (last - first >= MLT_HOSTS_MOST)
        hosts_read_refuse(r, "the range %.*s in '%s' has more than %d hosts", (int)(end - range),
                          range, r->word, MLT_HOSTS_MOST);
    for (uint32_t i = first; i <= last; i++) {
        char bytes[HOSTS_READ_NAME_BYTES + DIGITS];
        mlt_text name = mlt_text_on(bytes, sizeof bytes);
        mlt_text_add(&name, "%s%0*u", begun, width, i);
        hosts_read_expand(r, name.text, after);
    }
    return end;
}

// All hosts that begin with `begun` and go on as `rest` says, which may have brackets.
static void hosts_read_expand(hosts_read_reader *r, const char *begun, const char *rest)
{
    char bytes[HOSTS_READ_NAME_BYTES];
    mlt_text name = mlt_text_on(bytes, sizeof bytes);
    size_t n = strcspn(rest, "[");
    mlt_text_add(&name, "%s%.*s", begun, (int)n, rest);
    if (name.cut)
        hosts_read_refuse(r, "the name of a host in '%s' is longer than %d bytes", r->word,
                          HOSTS_READ_NAME_BYTES - 1);
    if (!rest[n]) {
        hosts_read_add_name(r, name.text);
        return;
    }
    const char *close = strchr(rest + n, ']');
    if (!close)
        hosts_read_refuse(r, "a bracket in '%s' is not closed", r->word);
    for (const char *at = rest + n; at < close;) {
        at = expand_range(r, name.text, at + 1, close + 1);
        if (at != close && *at != ',')
            refuse_brackets(r);
    }
}

// ---- Words

// "user@" at the front; returns what follows.
static char *take_user(hosts_read_reader *r, char *word)
{
    char *at = strrchr(word, '@');
    r->mention.user = NULL;
    if (!at)
        return word;
    *at = '\0';
    if (!*word || *word == '-' || !only(word, ".-_+$\\@"))
        hosts_read_refuse(r, "'%s' in '%s' is no name of a user", word, r->word);
    r->mention.user = word;
    return at + 1;
}

// Where the brackets of an address end; NULL: the word does not begin with one.
static char *address_end(char *word)
{
    size_t n = strcspn(word, "]");
    return *word == '[' && word[n] && memchr(word, ':', n) ? word + n : NULL;
}

// Cuts ":n" off; false if there is none. `from` is behind the brackets of an address.
static bool hosts_read_take_count(hosts_read_reader *r, const char *host, char *from)
{
    char *colon = strrchr(from, ':');
    r->mention.slots = 1;
    if (!colon)
        return false;
    *colon = '\0';
    if (!slots_of(colon + 1, &r->mention.slots))
        hosts_read_refuse(r, "'%s' should be a number of ranks on host '%s', at most %d", colon + 1,
                          host, MLT_HOSTS_MOST_SLOTS);
    return true;
}

// One word, "[user@]host[:n]". `slots`: said elsewhere; NULL: not.
static void take_host(hosts_read_reader *r, const char *text, const uint32_t *slots)
{
    char *copy = mlt_text_of("%s", text);
    r->word = text;
    char *host = take_user(r, copy), *end = address_end(host);
    bool bare = !end && strchr(host, ':') != strrchr(host, ':'); // an address without brackets
    if (end && end[1] && end[1] != ':')
        hosts_read_refuse(r, "'%s' should end after the bracket, or with :n", r->word);
    bool counted = hosts_read_take_count(r, host,
                                         end    ? end + 1
                                         : bare ? host + strlen(host)
                                                : host);
    if (counted && slots)
        hosts_read_refuse(r, "'%s' and slots= both say how many ranks", r->word);
    if (slots)
        r->mention.slots = *slots;
    if (end) {
        *end = '\0';
        add_address(r, host + 1);
    } else if (bare)
        add_address(r, host);
    else
        hosts_read_expand(r, "", host);
    free(copy);
}

// The length of the first item of a list: commas in brackets do not end it.
static size_t item_length(const char *list)
{
    size_t n = 0;
    for (bool inside = false; list[n] && (inside || list[n] != ','); n++)
        inside = list[n] == '[' || (inside && list[n] != ']');
    return n;
}

void mlt_hosts_add_list(mlt_hosts *hosts, const char *option, const char *list)
{
    hosts_read_reader r = {.hosts = hosts, .mention = {.source = option}};
    for (const char *at = list;; at++) {
        size_t n = item_length(at);
        char *item = mlt_text_of("%.*s", (int)n, at);
        take_host(&r, item, NULL);
        free(item);
        at += n;
        if (!*at)
            return;
    }
}

// ---- Files

// "slots=n" and "max_slots=n"; true if it says how many slots.
static bool take_setting(hosts_read_reader *r, const char *word, uint32_t *slots)
{
    static const char *const names[] = {"slots=", "max_slots=", "max-slots="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        uint32_t ignored;
        if (strncasecmp(word, names[i], n) != 0)
            continue;
        if (!slots_of(word + n, i == 0 ? slots : &ignored))
            hosts_read_refuse(r, "'%s' should end in a number of ranks, at most %d", word,
                              MLT_HOSTS_MOST_SLOTS);
        return i == 0;
    }
    hosts_read_refuse(r, "'%s' is not understood; a line is 'host[:n]' or '[user@]host [slots=n]'",
                      word);
}

// "host slots ...".
static void take_columns(hosts_read_reader *r, char *line)
{
    char *rest = NULL;
    const char *host = strtok_r(line, " \t\r\n", &rest);
    const char *number = host ? strtok_r(NULL, " \t\r\n", &rest) : NULL;
    uint32_t slots;
    if (host && (!number || !slots_of(number, &slots)))
        hosts_read_refuse(r, "it names '%s' without a number of slots", host);
    if (host)
        take_host(r, host, &slots);
}

static void hosts_read_take_line(hosts_read_reader *r, char *line)
{
    char *rest = NULL;
    const char *host = strtok_r(line, " \t\r\n", &rest);
    uint32_t slots;
    bool said = false;
    for (char *word; host && (word = strtok_r(NULL, " \t\r\n", &rest));)
        said |= take_setting(r, word, &slots);
    if (host)
        take_host(r, host, said ? &slots : NULL);
}

// The next line without its end and its remark; false at the end of the file.
static bool read_line(hosts_read_reader *r, FILE *file, char line[HOSTS_READ_LINE_BYTES])
{
    size_t n = 0;
    bool remark = false;
    int c;
    r->mention.line++;
    while ((c = getc(file)) != EOF && c != '\n') {
        remark |= c == '#';
        if (remark)
            continue;
        if (c == '\0')
            hosts_read_refuse(r, "there is a zero byte: this is no text");
        if (n == HOSTS_READ_LINE_BYTES - 1)
            hosts_read_refuse(r, "the line is longer than %d bytes", HOSTS_READ_LINE_BYTES - 1);
        line[n++] = (char)c;
    }
    line[n] = '\0';
    return n > 0 || c != EOF;
}

static void hosts_read_file(mlt_hosts *hosts, const char *path,
                            void (*take_line)(hosts_read_reader *r, char *line))
{
    FILE *file = fopen(path, "re");
    if (!file)
        mlt_quit(MLT_EXIT_USAGE, "host file '%s' cannot be read: %s", path, strerror(errno));
    hosts_read_reader r = {.hosts = hosts, .mention = {.source = path}};
    uint32_t before = hosts->mentions;
    char line[HOSTS_READ_LINE_BYTES];
    while (read_line(&r, file, line))
        take_line(&r, line);
    if (ferror(file))
        mlt_quit(MLT_EXIT_USAGE, "host file '%s' cannot be read: %s", path, strerror(errno));
    fclose(file);
    if (hosts->mentions == before)
        mlt_quit(MLT_EXIT_USAGE, "host file '%s' names no host", path);
}

void mlt_hosts_add_file(mlt_hosts *hosts, const char *path)
{
    hosts_read_file(hosts, path, hosts_read_take_line);
}

void mlt_hosts_add_columns(mlt_hosts *hosts, const char *path)
{
    hosts_read_file(hosts, path, take_columns);
}
