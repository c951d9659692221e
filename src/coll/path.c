// SPDX-License-Identifier: BSD-3-Clause
#include "coll/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "coll/ledger.h"
#include "os/os.h"

_Atomic bool mlt_coll_closely;

// ---- paths of a team

// `check` comes before `combine`, see the head of path.h.
static void copy_stages(mlt_path *path, const mlt_coll_stage *stages, uint32_t count, bool checks)
{
    static const mlt_coll_stage check_stage = {.wrapper = MLT_WRAP_CHECK};
    for (uint32_t i = 0; i < count; i++) {
        bool is_check = stages[i].wrapper == MLT_WRAP_CHECK;
        if (stages[i].wrapper == MLT_WRAP_COMBINE && checks && !path->checks) {
            path->stages[path->count++] = check_stage;
            path->checks = true;
        }
        if (is_check && path->checks)
            continue; // it stands before `combine` now
        path->checks |= is_check;
        path->stages[path->count++] = stages[i];
    }
    if (checks && !path->checks) {
        path->stages[path->count++] = check_stage;
        path->checks = true;
    }
}

static bool has_stage(const mlt_path *path, mlt_coll_wrapper wrapper)
{
    for (uint32_t i = 0; i < path->count; i++)
        if (path->stages[i].wrapper == wrapper)
            return true;
    return false;
}

// The operation of its `op`, if it has one, for each type.
static void make_ops(mlt_path *path)
{
    for (uint32_t i = 0; i < path->count; i++)
        if (path->stages[i].wrapper == MLT_WRAP_OP) {
            path->ops = mlt_xcalloc(MLT_OP_TYPES, sizeof *path->ops);
            path->ops_at = i;
        }
    for (uint32_t t = 0; path->ops && t < MLT_OP_TYPES; t++)
        path->ops[t] = (mlt_alter_op){.rulebook = path->rulebook,
                                      .stage = &path->stages[path->ops_at],
                                      .by = path->by,
                                      .type = (mlt_op_type)t};
}

static mlt_path *path_new(const mlt_team *team, mlt_collective collective,
                          mlt_coll_rulebook *rulebook, const mlt_coll_stage *stages, uint32_t count,
                          const char *by, bool checks)
{
    mlt_path *path = mlt_xcalloc(1, sizeof *path + (count + 2ull) * sizeof *path->stages);
    path->collective = (uint8_t)collective;
    path->rulebook = rulebook;
    path->by = by;
    copy_stages(path, stages, count, checks);
    if (team->combines && !has_stage(path, MLT_WRAP_COMBINE))
        path->stages[path->count++] = (mlt_coll_stage){.wrapper = MLT_WRAP_COMBINE};
    path->combine = path->counts_at = path->delays_at = path->count;
    for (uint32_t i = 0; i < path->count; i++)
        switch ((mlt_coll_wrapper)path->stages[i].wrapper) {
        case MLT_WRAP_COUNT:
            path->counts_at = i;
            break;
        case MLT_WRAP_TRACE:
            path->traces = true;
            path->traces_at = i;
            break;
        case MLT_WRAP_DELAY:
            path->delays_at = i;
            path->delay_us = path->stages[i].delay_us;
            break;
        case MLT_WRAP_COMBINE:
            path->combine = i;
            break;
        default:
            break;
        }
    path->measured = path->traces || path->counts_at < path->count;
    mlt_text stack = mlt_text_on(path->record.stack, sizeof path->record.stack);
    for (uint32_t i = 0; i < path->count; i++)
        mlt_coll_tell_stage(&stack, i, &path->stages[i]);
    path->alters = mlt_alters(path->stages, path->count, &path->changes);
    path->record.changes = path->changes;
    if (path->alters)
        make_ops(path);
    enum { MOST_DRAWN = 4096 }; // ranks
    if (team->ledger->measures && path->measured && team->ranks <= MOST_DRAWN)
        path->calls = mlt_xcalloc(MLT_PATH_CALLS, sizeof *path->calls);
    return path;
}

static void path_free(mlt_path *path)
{
    mlt_live_sheet_hide(&path->sheet);
    free(path->ops);
    free(path->calls);
    free(path);
}

static void retire(mlt_team *team, mlt_path *path)
{
    mlt_ledger_note_path(team->ledger, team, path);
    path->stale = true;
    mlt_ledger_clear(&path->record);
    if (!path->busy) {
        path_free(path);
        return;
    }
    path->next = team->paths->stale;
    team->paths->stale = path;
}

static bool rulebook_checks(const mlt_coll_rulebook *rulebook, const char *comm)
{
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++) {
        const mlt_coll_path *path = mlt_coll_rulebook_path(rulebook, (mlt_collective)c, comm);
        for (uint32_t i = 0; path && i < path->count; i++)
            if (path->stages[i].wrapper == MLT_WRAP_CHECK)
                return true;
    }
    return false;
}

// The path of a collective; NULL: none.
static mlt_path *path_make(const mlt_team *team, mlt_collective collective, bool checks)
{
    static const mlt_coll_stage plain[] = {{.wrapper = MLT_WRAP_COMBINE}},
                                measured[] = {{.wrapper = MLT_WRAP_COUNT},
                                              {.wrapper = MLT_WRAP_COMBINE}};
    const mlt_coll_sources *s = team->sources;
    mlt_coll_rulebook *rulebook = s->own_rulebook;
    const mlt_coll_path *said = mlt_coll_rulebook_path(rulebook, collective, team->name);
    if (!said) {
        rulebook = s->rulebook;
        said = mlt_coll_rulebook_path(rulebook, collective, team->name);
    }
    if (said)
        return path_new(team, collective, rulebook, said->stages, said->count, said->by, checks);
    if (team->ledger->measures)
        return path_new(team, collective, NULL, measured, 2, "--paths", checks);
    if (!checks)
        return NULL;
    mlt_path *path = path_new(team, collective, NULL, plain, 1, "", true);
    path->hidden = true;
    return path;
}

void mlt_paths_refresh(mlt_team *team)
{
    const mlt_coll_sources *s = team->sources;
    bool some = (s->own_rulebook && s->own_rulebook->paths_count) ||
                (s->rulebook && s->rulebook->paths_count) || team->ledger->measures;
    if (!some && !team->paths)
        return;
    if (!team->paths)
        team->paths = mlt_xcalloc(1, sizeof *team->paths);
    team->paths->checks =
        rulebook_checks(s->own_rulebook, team->name) || rulebook_checks(s->rulebook, team->name);
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++) {
        if (team->paths->of[c])
            retire(team, team->paths->of[c]);
        team->paths->of[c] = path_make(team, (mlt_collective)c, team->paths->checks);
    }
}

void mlt_paths_tell(mlt_team *team)
{
    for (uint32_t c = 0; team->paths && c < MLT_COLLECTIVES; c++) {
        mlt_path *path = team->paths->of[c];
        if (!path)
            continue;
        mlt_ledger_note_path(team->ledger, team, path);
        mlt_ledger_clear(&path->record);
    }
}

void mlt_path_drop(mlt_team *team, mlt_path *path)
{
    if (--path->busy || !path->stale)
        return;
    for (mlt_path **at = &team->paths->stale; *at; at = &(*at)->next)
        if (*at == path) {
            *at = path->next;
            break;
        }
    mlt_ledger_note_path(team->ledger, team, path);
    path_free(path);
}

// ---- what is measured

void mlt_path_note(mlt_path *path, mlt_ctl_time which, uint64_t ns)
{
    mlt_clock_add(&path->record.time[which], &(mlt_ctl_clock){1, ns, ns, ns});
}

static uint64_t path_bytes_of(const mlt_team *team, const mlt_coll_what *what)
{
    return (what->starts ? what->starts[team->ranks] : what->count) * what->element;
}

void mlt_path_count(mlt_path *path, const mlt_team *team, const mlt_coll_what *what, uint64_t ns)
{
    path->record.calls++;
    path->record.bytes += path_bytes_of(team, what);
    mlt_path_note(path, MLT_TIME_CALL, ns);
}

void mlt_path_line_begin(mlt_path_line *l, const char *who, uint32_t number, uint64_t since_ns)
{
    l->text = mlt_text_on(l->buffer, sizeof l->buffer - 1); // and a newline
    mlt_text_add(&l->text, "%.6f %s %u: ", (double)since_ns / 1e9, who, number);
}

void mlt_path_line_call(mlt_path_line *l, const mlt_team *team, const mlt_coll_what *what,
                        uint64_t number, const char *alg)
{
    mlt_text_add(&l->text, "%s, %s %llu, %llu bytes%s%s; us", team->name,
                 mlt_collective_names[what->collective], (unsigned long long)number,
                 (unsigned long long)path_bytes_of(team, what), alg ? ", " : "", alg ? alg : "");
}

void mlt_path_line_time(mlt_path_line *l, const char *name, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns && to_ns)
        mlt_text_add(&l->text, ", %s %.3f", name, (double)(to_ns - from_ns) / 1e3);
}

void mlt_path_line_end(mlt_path_line *l, mlt_team *team, bool failed)
{
    if (failed)
        mlt_text_add(&l->text, ", failed");
    memcpy(l->text.text + l->text.length, "\n", 2);
    mlt_ledger_trace(team->ledger, l->text.text);
}

void mlt_paths_free(mlt_team *team)
{
    mlt_paths *paths = team->paths;
    if (!paths)
        return;
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++)
        if (paths->of[c])
            retire(team, paths->of[c]);
    mlt_assert(!paths->stale);
    for (mlt_path_idle *walk = paths->free, *next; walk; walk = next) {
        next = walk->next;
        free(walk);
    }
    free(paths);
    team->paths = NULL;
}

// ---- what wrappers change

// As mlt_alter_type. What the call says may not be taken for something else, unless it says bytes.
static mlt_op_type type_at(const mlt_path *path, const mlt_coll_stage *s, const mlt_coll_what *what)
{
    mlt_op_type type = mlt_alter_type(s, what), told = mlt_alter_told(what);
    if (type != told && told < MLT_OP_TYPES && told != MLT_OP_UINT8)
        mlt_fatal("path %s: %s says type = \"%s\", but elements of the call are %s", path->by,
                  mlt_coll_wrapper_names[s->wrapper], mlt_op_type_names[type],
                  mlt_op_type_names[told]);
    return type;
}

void mlt_path_alter(mlt_path *path, uint32_t stage, mlt_alter_side side,
                    const mlt_coll_passing *passing, const mlt_coll_what *what, void *data)
{
    const mlt_coll_stage *s = &path->stages[stage];
    char why[512] = "";
    if (s->wrapper == MLT_WRAP_OP) // which may not be for this call's operation
        return;
    if (!mlt_alter_data(path->rulebook, s, side, passing, type_at(path, s, what), what->op, data,
                        passing->bytes, why, sizeof why))
        mlt_fatal("%s on %s, path %s: %s", mlt_collective_names[what->collective], passing->name,
                  path->by, why);
}

bool mlt_path_op(const mlt_path *path, uint32_t stage, const mlt_coll_what *what, mlt_coll_op *out)
{
    const mlt_coll_stage *s = &path->stages[stage];
    if (!what->op || what->emit || what->parts || !mlt_alter_op_fits(s, what->op))
        return false;
    mlt_op_type type = type_at(path, s, what);
    if (type >= MLT_OP_TYPES || type == MLT_OP_FLOAT16 || mlt_op_type_bytes[type] != what->element)
        mlt_fatal("path %s: op combines numbers, but elements of the call have %u bytes%s",
                  path->by, what->element,
                  type >= MLT_OP_TYPES ? "; say type = \"Float64\" or the like" : "");
    mlt_alter_op_make(out, &path->ops[type]);
    return true;
}

bool mlt_path_keeps_order(const mlt_team *team, const mlt_coll_what *what)
{
    const mlt_path *path = mlt_path_of(team, what);
    if (!path || !path->ops || path->ops_at > path->combine)
        return false;
    const mlt_coll_stage *s = &path->stages[path->ops_at];
    return !s->commutes && mlt_alter_op_fits(s, what->op);
}

// ---- a worker's call

void mlt_span_open(mlt_span *span, mlt_team *team, const mlt_coll_what *what)
{
    mlt_path *path = span->path;
    path->busy++;
    *span = (mlt_span){.path = path, .first_ns = mlt_span_stamp(span)};
}

uint64_t mlt_span_stamp(const mlt_span *span)
{
    return span->path->measured ? mlt_os_now_ns() : 0;
}

bool mlt_span_waits(mlt_span *span, mlt_team *team, void (*run)(mlt_work *work))
{
    const mlt_path *path = span->path;
    if (!path->delay_us || path->delays_at < path->combine)
        return false;
    span->until_ns = mlt_os_now_ns() + path->delay_us * 1000;
    span->work.run = run;
    mlt_worker_later(team->worker, &span->work);
    return true;
}

bool mlt_span_waited(mlt_span *span, mlt_team *team)
{
    uint64_t now = mlt_os_now_ns();
    if (now >= span->until_ns) {
        if (span->path->measured)
            mlt_path_note(span->path, MLT_TIME_DELAY, now - span->combined_ns);
        span->delayed_ns = now;
        return true;
    }
    mlt_worker_again(team->worker, &span->work);
    return false;
}

// What the ranks of the worker have combined, and what the schedule has brought. NULL: not here.
static void *span_data(const mlt_level *level, const mlt_coll_what *what, mlt_alter_side side)
{
    bool reduce = what->collective == MLT_COLL_REDUCE;
    if (reduce && side == MLT_ALTER_OPERAND && !level->out)
        return level->acc;
    return reduce || what->collective == MLT_COLL_ALLREDUCE ? level->out : NULL;
}

static void alter_span(mlt_span *span, mlt_team *team, const mlt_coll_what *what,
                       const mlt_level *level, mlt_alter_side side, uint32_t stage)
{
    void *data = span_data(level, what, side);
    uint64_t bytes = what->count * what->element;
    if (!data || !bytes || !mlt_alter_is(&span->path->stages[stage]))
        return;
    mlt_coll_passing passing = {.name = team->name,
                                .collective = what->collective,
                                .worker = true,
                                .rank = team->first,
                                .ranks = team->ranks,
                                .root = what->root,
                                .bytes = bytes};
    mlt_path_alter(span->path, stage, side, &passing, what, data);
}

void mlt_span_alter(mlt_span *span, mlt_team *team, const mlt_coll_what *what,
                    const mlt_level *level, mlt_alter_side side)
{
    const mlt_path *path = span->path;
    if (!path->alters)
        return;
    if (side == MLT_ALTER_OPERAND)
        for (uint32_t i = path->combine + 1; i < path->count; i++)
            alter_span(span, team, what, level, side, i);
    else
        for (uint32_t i = path->count; i-- > path->combine + 1;)
            alter_span(span, team, what, level, side, i);
}

bool mlt_span_op(const mlt_span *span, const mlt_coll_what *what, mlt_coll_op *out)
{
    const mlt_path *path = span->path;
    return path->ops && path->ops_at > path->combine && mlt_path_op(path, path->ops_at, what, out);
}

static void note_span(const mlt_span *s, uint64_t started_ns, uint64_t now)
{
    mlt_path_note(s->path, MLT_TIME_GATHER, s->all_ns - s->first_ns);
    mlt_path_note(s->path, MLT_TIME_COMBINE, s->combined_ns - s->all_ns);
    if (s->exchanged_ns)
        mlt_path_note(s->path, MLT_TIME_EXCHANGE, s->exchanged_ns - started_ns);
    mlt_path_note(s->path, MLT_TIME_SPREAD, now - (s->exchanged_ns ? s->exchanged_ns : started_ns));
}

void mlt_span_close(mlt_span *s, mlt_team *team, const mlt_coll_what *what, uint64_t number)
{
    mlt_path *path = s->path;
    uint64_t now = mlt_span_stamp(s), started = s->delayed_ns ? s->delayed_ns : s->combined_ns;
    bool over = path->measured && s->all_ns && s->combined_ns; // else it failed
    if (over) {
        note_span(s, started, now);
        mlt_path_keep(path, number,
                      (uint64_t[]){s->first_ns, s->all_ns, started, s->exchanged_ns, now});
    }
    if (over && path->counts_at < path->count && path->counts_at > path->combine) {
        uint64_t from = path->delays_at < path->counts_at ? started : s->combined_ns;
        mlt_path_count(path, team, what, (s->exchanged_ns ? s->exchanged_ns : now) - from);
    }
    if (path->traces) {
        mlt_path_line l;
        mlt_path_line_begin(&l, "worker", team->worker->index, s->first_ns);
        mlt_path_line_call(&l, team, what, number, s->alg);
        mlt_text_add(&l.text, " call %.3f", (double)(now - s->first_ns) / 1e3);
        mlt_path_line_time(&l, "gather", s->first_ns, s->all_ns);
        mlt_path_line_time(&l, "combine", s->all_ns, s->combined_ns);
        mlt_path_line_time(&l, "delay", s->combined_ns, s->delayed_ns);
        mlt_path_line_time(&l, "exchange", started, s->exchanged_ns);
        mlt_path_line_time(&l, "spread", s->exchanged_ns ? s->exchanged_ns : started, now);
        mlt_path_line_end(&l, team, !over);
    }
    s->path = NULL;
    mlt_path_drop(team, path);
}
