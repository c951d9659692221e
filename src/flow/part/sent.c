// SPDX-License-Identifier: BSD-3-Clause
// What contributors of reductions have sent, for hang reports. In a circle of wires nobody ends, so
// contributors that send different numbers of elements wait for each other, and only these numbers
// tell who is wrong:
//
//     reduction r: s[1] has sent 3 elements, s[0], s[2] and s[3] have sent 4
#include "base/text.h"
#include "flow/part/part_int.h"

enum {
    SENT_NAMED = 3, // contributors of a number
    SENT_LINES = 8,
};

// Elements that the contributor at an inlet of a part has sent so far; from another worker, those
// that have come.
static uint64_t sent_to(const mlt_flow_inlet *inlet)
{
    const mlt_flow_program *p = inlet->program;
    const mlt_flow_line *line = &p->lowered->lines[inlet->line];
    uint32_t from = p->instance_of[line->from];
    if (from == UINT32_MAX)
        return inlet->stats.elements;
    const flow_instance *sender = &p->instances[from];
    for (uint32_t i = sender->module ? line->out : 0; i < sender->outs; i++)
        if (sender->out[i].line == inlet->line)
            return sender->out[i].stats.elements;
    return 0;
}

// "s[0], s[2] and 5 others": those that have sent so many.
static uint64_t add_senders(mlt_text *to, const flow_instance *task, uint64_t sent)
{
    char name[96];
    uint32_t all = 0, shown = 0;
    for (uint32_t i = 0; i < task->ins; i++)
        all += sent_to(&task->in[i]) == sent;
    for (uint32_t i = 0; i < task->ins && shown < SENT_NAMED; i++)
        if (sent_to(&task->in[i]) == sent)
            mlt_text_add(to, "%s%s", mlt_text_between(shown++, all, " and "),
                         mlt_flow_feeder(task->program, task->in[i].line, name, sizeof name));
    if (all > shown)
        mlt_text_add(to, " and %u other%s", all - shown, all - shown == 1 ? "" : "s");
    return all;
}

// The first round under way whose result other workers have not made possible; 0: there is none.
static uint64_t missing_round(const mlt_flow_part *part)
{
    bool waits = part && part->contributes && part->started > part->retired &&
                 !part->rounds[part->retired % MLT_FLOW_ROUNDS].over;
    return waits ? part->retired + 1 : 0;
}

static void sent_add_reduction(mlt_text *to, const flow_instance *task)
{
    const mlt_flow_program *p = task->program;
    const mlt_flow_part *part = mlt_flow_part_of(p, task->task)
                                    ? p->parts->of[p->lowered->tasks[task->task].reduction]
                                    : NULL;
    uint64_t least = UINT64_MAX, most = 0, missing = missing_round(part);
    char name[64], nth[32];
    for (uint32_t i = 0; i < task->ins; i++) {
        uint64_t sent = sent_to(&task->in[i]);
        least = sent < least ? sent : least;
        most = sent > most ? sent : most;
    }
    if (task->ins == 0 || (least == most && !part))
        return; // nothing differs, and nobody elsewhere has other numbers
    mlt_text_add(
        to, "  reduction %s: ",
        mlt_flow_node_name(p->graph, p->lowered->tasks[task->task].node, name, sizeof name));
    uint64_t count = add_senders(to, task, least);
    mlt_text_add(to, " %s sent %llu element%s%s", count == 1 ? "has" : "have",
                 (unsigned long long)least, least == 1 ? "" : "s", count == 1 ? "" : " each");
    if (most > least) {
        mlt_text_add(to, ", ");
        count += add_senders(to, task, most);
        mlt_text_add(to, " %llu", (unsigned long long)most);
    }
    if (count < task->ins)
        mlt_text_add(to, ", and %llu others between", (unsigned long long)(task->ins - count));
    if (missing)
        mlt_text_add(to, "; the %s of other workers is missing",
                     mlt_flow_ordinal(missing, nth, sizeof nth));
    mlt_text_add(to, "\n");
}

size_t mlt_flow_sent_lines(char *text, size_t size)
{
    const mlt_flow_program *p = mlt_flow_self;
    mlt_text out = mlt_text_on(text, size);
    size_t whole = 0;
    for (uint32_t i = 0, lines = 0; p && p->parts && i < p->instance_count; i++) {
        const flow_instance *task = &p->instances[i];
        if (task->ended || p->lowered->tasks[task->task].kind != MLT_FLOW_REDUCE)
            continue;
        sent_add_reduction(&out, task);
        if (out.cut || out.length == whole)
            continue;
        whole = out.length;
        if (++lines == SENT_LINES)
            break;
    }
    return whole;
}
