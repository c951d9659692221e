// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/say.h"

enum { HOST_BYTES = 256, MOST_SLOTS = 1 << 20 };

const char *mlt_hosts_own(void)
{
    static char name[HOST_BYTES];
    if (!name[0] && (gethostname(name, sizeof name - 1) != 0 || !name[0]))
        strcpy(name, "localhost");
    return name;
}

static bool is_here(const char *name)
{
    static const char *const loops[] = {"localhost", "localhost.localdomain", "127.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (strcasecmp(name, loops[i]) == 0)
            return true;
    // "node7" and "node7.example.org" are the same host; no name is looked up.
    const char *own = mlt_hosts_own();
    size_t n = strcspn(name, "."), m = strcspn(own, ".");
    return strcasecmp(name, own) == 0 ||
           (n == m && strncasecmp(name, own, n) == 0 && (!name[n] || !own[m]));
}

static bool read_slots(const char *text, uint32_t *slots)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    // The sum too: it must not come round to a small number.
    if (!isdigit((unsigned char)*text) || *end || errno || n > MOST_SLOTS - *slots)
        return false;
    *slots += (uint32_t)n;
    return true;
}

// One host, "[user@]name[:n]"; `where` begins the message if it is wrong.
static void take_host(const char *where, char *host, uint32_t *slots)
{
    char *at = strrchr(host, '@');
    char *name = at ? at + 1 : host;
    char *colon = strrchr(name, ':');
    if (colon && strchr(name, ':') != colon)
        colon = NULL; // an IPv6 address
    if (colon)
        *colon = '\0';
    if (!*name)
        mlt_quit(MLT_EXIT_USAGE, "%s: a host name is missing", where);
    if (colon && !read_slots(colon + 1, slots))
        mlt_quit(MLT_EXIT_USAGE, "%s: '%s' should be a number of ranks on host '%s'", where,
                 colon + 1, name);
    if (!is_here(name))
        mlt_quit(MLT_EXIT_USAGE,
                 "%s: host '%s' is not this host ('%s'); several hosts are not supported yet, so "
                 "leave it out or name localhost",
                 where, name, mlt_hosts_own());
}

uint32_t mlt_hosts_list(const char *option, const char *list)
{
    uint32_t slots = 0;
    char *copy = mlt_text_of("%s", list), *rest = copy, *host;
    while ((host = strsep(&rest, ",")))
        take_host(option, host, &slots);
    free(copy);
    return slots;
}

// A line of a host file: "host[:n] [slots=n] [max_slots=n]".
static void take_line(const char *where, char *line, uint32_t *slots)
{
    char *rest = NULL;
    char *host = strtok_r(line, " \t\r\n", &rest);
    if (!host)
        return;
    take_host(where, host, slots);
    for (char *word; (word = strtok_r(NULL, " \t\r\n", &rest));) {
        char *equals = strchr(word, '=');
        bool is_slots = strncasecmp(word, "slots=", 6) == 0;
        uint32_t ignored = 0;
        if (!is_slots && strncasecmp(word, "max_slots=", 10) != 0 &&
            strncasecmp(word, "max-slots=", 10) != 0)
            mlt_quit(MLT_EXIT_USAGE, "%s: '%s' is not understood; a line is 'host[:n] [slots=n]'",
                     where, word);
        if (!read_slots(equals + 1, is_slots ? slots : &ignored))
            mlt_quit(MLT_EXIT_USAGE, "%s: '%s' should end in a number of ranks", where, word);
    }
}

uint32_t mlt_hosts_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        mlt_quit(MLT_EXIT_USAGE, "host file '%s' cannot be read: %s", path, strerror(errno));
    uint32_t slots = 0;
    unsigned number = 0;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) >= 0) {
        char *where = mlt_text_of("%s:%u", path, ++number);
        line[strcspn(line, "#")] = '\0';
        take_line(where, line, &slots);
        free(where);
    }
    if (ferror(file))
        mlt_quit(MLT_EXIT_USAGE, "host file '%s' cannot be read: %s", path, strerror(errno));
    free(line);
    fclose(file);
    return slots;
}
