// SPDX-License-Identifier: BSD-3-Clause
// Any text as a host list (first byte even) and any bytes as a host file (odd): refused with one
// line, or a list in which each host is once, with slots that a job could have and a name that no
// remote shell takes for an option. Hosts that are written out one by one are the same hosts again;
// so are the items of a list as the lines of a file.
#include "launch/plan/hosts.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_WRITTEN = 1000 };

typedef struct question {
    const char *list; // NULL: the file
    mlt_hosts hosts;
    bool no_local;
} question;

static void check(const mlt_hosts *hosts)
{
    FUZZ_CHECK(hosts->count <= MLT_HOSTS_MOST);
    for (uint32_t i = 0; i < hosts->count; i++) {
        const mlt_hosts_entry *host = &hosts->hosts[i];
        FUZZ_CHECK(host->slots <= MLT_HOSTS_MOST_SLOTS && host->source);
        FUZZ_CHECK(host->name[0] && host->name[0] != '-' && !strpbrk(host->name, " ,/@[]"));
        FUZZ_CHECK(!host->user || (host->user[0] && host->user[0] != '-'));
        FUZZ_CHECK(mlt_hosts_find(hosts, host->name) == (int64_t)i);
        FUZZ_CHECK(host->here == (strcmp(host->name, mlt_hosts_own()) == 0));
    }
}

static void check_same(const mlt_hosts *one, const mlt_hosts *other)
{
    FUZZ_CHECK(one->count == other->count);
    for (uint32_t i = 0; i < one->count; i++) {
        const mlt_hosts_entry *a = &one->hosts[i], *b = &other->hosts[i];
        FUZZ_CHECK(strcmp(a->name, b->name) == 0 && a->slots == b->slots && a->here == b->here);
        FUZZ_CHECK(!a->user == !b->user && (!a->user || strcmp(a->user, b->user) == 0));
    }
}

static void check_written(const mlt_hosts *hosts)
{
    mlt_text text = {0};
    mlt_hosts again = {.count = 0}, chosen = {.count = 0};
    for (uint32_t i = 0; i < hosts->count; i++) {
        const mlt_hosts_entry *h = &hosts->hosts[i];
        const char *const *around =
            strchr(h->name, ':') ? (const char *[]){"[", "]"} : (const char *[]){"", ""};
        mlt_text_add(&text, "%s%s%s%s%s%s:%u", i ? "," : "", h->user ? h->user : "",
                     h->user ? "@" : "", around[0], h->name, around[1], h->slots);
    }
    mlt_hosts_add_list(&again, "again", text.text);
    check_same(hosts, &again);
    mlt_hosts_choose(&chosen, hosts, &again); // all of them
    check_same(hosts, &chosen);
}

static void ask(void *argument)
{
    question *q = argument;
    if (q->list)
        mlt_hosts_add_list(&q->hosts, "-host", q->list);
    else
        mlt_hosts_add_file(&q->hosts, "file");
    FUZZ_CHECK(q->hosts.count);
    check(&q->hosts);
    if (q->hosts.count <= MOST_WRITTEN)
        check_written(&q->hosts);
}

static void trim(void *argument)
{
    question *q = argument;
    ask(q);
    mlt_hosts_trim(&q->hosts, q->no_local);
    FUZZ_CHECK(q->hosts.count);
    check(&q->hosts);
    for (uint32_t i = 0; i < q->hosts.count; i++)
        FUZZ_CHECK(q->hosts.hosts[i].slots);
}

static bool understood(void (*call)(void *), question *q, size_t size)
{
    static const char file[] = "host file 'file' names no host\n";
    size_t said_size;
    bool good = fuzz_run(call, q);
    const char *said = fuzz_said(&said_size);
    FUZZ_CHECK(said_size < 3 * size + 1024);
    if (good) {
        FUZZ_CHECK(said_size == 0);
    } else {
        FUZZ_CHECK(fuzz_code() == 2 && said_size > 1);
        // A list is one word of the command line, and may hold a newline of the user's.
        FUZZ_CHECK(q->list ? strncmp(said, "-host: ", 7) == 0
                           : strncmp(said, "file:", 5) == 0 || strcmp(said, file) == 0);
        FUZZ_CHECK((q->list && strchr(q->list, '\n')) ||
                   strchr(said, '\n') == said + said_size - 1);
    }
    return good;
}

// The text as a file: a line for each item of the list.
static void check_as_file(char *text, question *list, size_t size)
{
    bool inside = false;
    question file = {.list = NULL};
    for (char *c = text; *c; c++) {
        inside = *c == '[' || (inside && *c != ']');
        if (*c == ',' && !inside)
            *c = '\n';
    }
    mlt_hosts kept = list->hosts; // its memory stays until fuzz_release
    fuzz_file((const uint8_t *)text, strlen(text));
    bool same = understood(ask, &file, size);
    FUZZ_CHECK(same);
    check_same(&kept, &file.hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    fuzz_file(data, size);
    char *text = fuzz_text(data, size);
    if (fuzz_wide(text)) {
        free(text);
        return 0;
    }
    question q = {.list = kind % 2 ? NULL : text, .no_local = kind & 2};
    bool good = understood(ask, &q, size);
    // In a file a blank ends the host, '#' the line, and a line has a bound.
    if (good && q.list && !strpbrk(text, " \t\r\n#") && size < 4096)
        check_as_file(text, &q, size);
    fuzz_release();
    q.hosts = (mlt_hosts){.count = 0};
    if (good && !q.list)
        (void)understood(trim, &q, size);
    fuzz_release();
    free(text);
    return 0;
}
