// SPDX-License-Identifier: BSD-3-Clause
#include "trace/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool take_number(const char **at, uint64_t most, uint64_t *out)
{
    const char *begin = *at;
    uint64_t n = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (digit > most || n > (most - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return *at > begin;
}

// Numbers with commas between them.
static bool take_numbers(const char **at, const uint64_t *most, uint64_t *out, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (i > 0 && *(*at)++ != ',')
            return false;
        if (!take_number(at, most[i], &out[i]))
            return false;
    }
    return true;
}

static bool take_sources(mlt_trace_schedule *s, mlt_trace_action *action, const char **at)
{
    uint32_t own = s->actions;
    while (**at == '<' || **at == '^') {
        bool start = *(*at)++ == '^';
        uint64_t back;
        if (!take_number(at, own, &back) || back == 0)
            return false;
        uint32_t source = own - (uint32_t)back;
        s->action[source].last &= start;
        *MLT_ARRAY_ADD(s->source, s->sources, s->source_room) = (mlt_trace_source){source, start};
        action->sources++;
    }
    return true;
}

static bool take_action(mlt_trace_schedule *s, const char **at)
{
    static const uint64_t most[] = {INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MAX};
    uint64_t n[4] = {0};
    mlt_trace_action a = {.kind = *(*at)++, .last = true, .first_source = s->sources};
    bool work = a.kind == 'c';
    if (!work && a.kind != 's' && a.kind != 'r')
        return false;
    if (work ? !take_number(at, INT64_MAX, &a.work_ns)
             : !take_numbers(at, most, n, a.kind == 's' ? 3 : 4))
        return false;
    if (!work) {
        a.peer = (uint32_t)n[0];
        a.slot = (uint32_t)n[1];
        a.bytes = n[2];
        a.work_ns = n[3];
        s->messages++;
    }
    if (!take_sources(s, &a, at))
        return false;
    *MLT_ARRAY_ADD(s->action, s->actions, s->action_room) = a;
    return true;
}

bool mlt_trace_schedule_read(mlt_trace_schedule *schedule, const char *text)
{
    memset(schedule, 0, sizeof *schedule);
    while (*text) {
        if (!take_action(schedule, &text) || (*text && *text++ != ' '))
            return false;
    }
    return true;
}

void mlt_trace_schedule_free(mlt_trace_schedule *schedule)
{
    free(schedule->action);
    free(schedule->source);
    memset(schedule, 0, sizeof *schedule);
}
