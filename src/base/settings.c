// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

static const char prefix[] = "MILLET_";
enum { PREFIX_LENGTH = sizeof prefix - 1, NAME_MAX_BYTES = 64 };

// Variables that are not settings, and that a rank must not refuse: mpirun sets some for its ranks,
// users set others for mpirun, and another launcher passes these on to ranks. LIBRARY is for
// python/millet.
static const char *const reserved_names[] = {
    "JOB_FD",  "PROC",       "HOST",       "CTL_FD",   "LAUNCHER", "ROOT",     "GRAIN",
    "IFACE",   "PORT_RANGE", "ENCRYPT",    "MIXED",    "HELD",     "PARENT",   "UNIVERSE",
    "REPORT",  "TIMEOUT",    "SILENT",     "FAN_OUT",  "RSH",      "HOSTFILE", "AGENT",
    "LIBRARY", "GPU_DEAL",   "GPU_DEVICE", "GPU_NODES"};

static bool parse_number(const char *text, bool with_suffix, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 0);
    if (end == text || errno)
        return false;
    if (with_suffix && *end) {
        static const char suffixes[] = "kmg";
        const char *at = strchr(suffixes, tolower((unsigned char)*end));
        if (!at)
            return false;
        int shift = 10 * (int)(at - suffixes + 1);
        if (n < 0 || n > (INT64_MAX >> shift))
            return false;
        n <<= shift;
        end++;
        if (strcasecmp(end, "ib") == 0 || strcasecmp(end, "b") == 0)
            end = "";
    }
    if (*end)
        return false;
    *out = n;
    return true;
}

static bool parse_bool(const char *text, int64_t *out)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"no", "yes"}, {"off", "on"}, {"false", "true"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int v = 0; v < 2; v++)
            if (strcasecmp(text, words[i][v]) == 0) {
                *out = v;
                return true;
            }
    return false;
}

static bool parse_choice(const char *text, const char *choices, int64_t *out)
{
    size_t length = strlen(text);
    int64_t index = 0;
    for (const char *at = choices; at; index++) {
        const char *bar = strchr(at, '|');
        size_t n = bar ? (size_t)(bar - at) : strlen(at);
        if (n == length && strncasecmp(at, text, n) == 0) {
            *out = index;
            return true;
        }
        at = bar ? bar + 1 : NULL;
    }
    return false;
}

// A user's text in a message must not forge a line of ours or send codes to the terminal.
static void mask_control_characters(char *why, size_t why_size)
{
    for (size_t i = 0; i < why_size && why[i]; i++)
        if (iscntrl((unsigned char)why[i]))
            why[i] = '?';
}

mlt_status mlt_setting_parse(const mlt_setting *s, const char *text, char *why, size_t why_size)
{
    const char *wanted = "";
    bool good = false;
    switch (s->kind) {
    case MLT_SETTING_INT:
        good = parse_number(text, false, s->value);
        wanted = "a whole number";
        break;
    case MLT_SETTING_SIZE:
        good = parse_number(text, true, s->value);
        wanted = "a size such as 4096, 64K or 1M";
        break;
    case MLT_SETTING_BOOL:
        good = parse_bool(text, s->value);
        wanted = "yes or no";
        break;
    case MLT_SETTING_CHOICE:
        good = parse_choice(text, s->choices, s->value);
        wanted = s->choices;
        break;
    case MLT_SETTING_TEXT:
        *(const char **)s->value = text;
        good = true;
        break;
    }
    if (good)
        return MLT_OK;
    snprintf(why, why_size, "setting '%s' is '%s', but should be %s", s->name, text, wanted);
    mask_control_characters(why, why_size);
    return MLT_ERR_INVALID;
}

void mlt_setting_variable(const mlt_setting *setting, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s%s", prefix, setting->name);
    for (size_t i = PREFIX_LENGTH; i < n && i < size; i++)
        out[i] = (char)toupper((unsigned char)out[i]);
}

static bool known(const mlt_settings_table *tables, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof reserved_names / sizeof *reserved_names; i++)
        if (strlen(reserved_names[i]) == length && strncmp(reserved_names[i], name, length) == 0)
            return true;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const char *own = tables[t].settings[i].name;
            if (strlen(own) == length && strncasecmp(own, name, length) == 0)
                return true;
        }
    return false;
}

mlt_status mlt_settings_read_own(const mlt_settings_table *table, char *why, size_t why_size)
{
    mlt_status status = MLT_OK;
    for (size_t i = 0; i < table->count && status == MLT_OK; i++) {
        const mlt_setting *s = &table->settings[i];
        char name[NAME_MAX_BYTES];
        mlt_setting_variable(s, name, sizeof name);
        const char *text = getenv(name);
        status = mlt_setting_parse(s, text ? text : s->initial, why, why_size);
    }
    return status;
}

mlt_status mlt_settings_read(const mlt_settings_table *tables, size_t count, char *why,
                             size_t why_size)
{
    for (size_t t = 0; t < count; t++) {
        mlt_status status = mlt_settings_read_own(&tables[t], why, why_size);
        if (status)
            return status;
    }
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, prefix, PREFIX_LENGTH) != 0)
            continue;
        const char *name = *e + PREFIX_LENGTH;
        size_t length = strcspn(name, "=");
        if (!known(tables, count, name, length)) {
            snprintf(why, why_size,
                     "the environment has %s%.*s, which is no setting; `millet info` lists them",
                     prefix, (int)length, name);
            mask_control_characters(why, why_size);
            return MLT_ERR_INVALID;
        }
    }
    return MLT_OK;
}
