// SPDX-License-Identifier: BSD-3-Clause
// `millet goal run`: a program for real. It starts mpirun, found beside itself, with the program
// goalrun; what its ranks need and what they give back goes through one file without a name, which
// they open as /proc/PID/fd/N. So nothing is left behind, however it ends.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "goal/sched.h"
#include "goal/text/text.h"
#include "tools/commands.h"
#include "tools/goal/memory.h"
#include "tools/goal/source.h"
#include "tools/mpirun.h"
#include "tools/ranks/goalrun.h"

enum {
    RUN_MOST_TIMES = 1 << 27, // of all ranks, that are kept in memory: 1 GiB
    PROCESSES = 16,           // more ranks than that are fibers, unless the user says otherwise
};

static struct {
    mlt_arg_texts in, show;
    const char *fill_text, *as;
    mlt_fill fill;
    mlt_op_type type; // of buffers that no operation uses; with --as of all
    bool order, quiet;
    uint64_t repeat, elements;
    char **mpirun; // options for it
} run_asked = {.type = MLT_OP_UINT8, .elements = 16};

// A buffer of a rank: where its contents are in the file.
typedef struct piece {
    uint32_t buf;
    mlt_op_type type;
    uint64_t before, after, size;
} piece;

typedef struct job {
    const mlt_goal_program *program;
    FILE *file;
    char *map;              // of the file, when it is whole
    uint64_t *records;      // [ranks]
    goalrun_record *record; // [ranks]
    piece **pieces;         // [ranks]
    uint32_t ranks, *count; // pieces of each rank
    uint64_t whole;         // where the text of all ranks is, if all need it; 0: not yet there
} job;

static const char *run_name_of(const mlt_goal_program *program, uint32_t rank, uint32_t buf)
{
    return buf == MLT_GOAL_MEMORY
               ? ""
               : mlt_goal_name_text(program, program->rank[rank].buffers[buf - 1].name);
}

// ---- the file

// Where the next bytes go: aligned, so that ranks may read numbers there.
static uint64_t place(job *j)
{
    long at = ftell(j->file);
    for (; at % 8; at++)
        fputc(0, j->file);
    return (uint64_t)at;
}

static uint64_t run_put(job *j, const void *bytes, uint64_t size)
{
    uint64_t at = place(j);
    fwrite(bytes, 1, size, j->file);
    return at;
}

static uint64_t put_zeros(job *j, uint64_t size)
{
    uint64_t at = place(j);
    for (uint64_t i = 0; i < size; i++)
        fputc(0, j->file);
    return at;
}

static uint64_t print_text(job *j, const mlt_goal_program *program)
{
    uint64_t at = place(j);
    (void)mlt_goal_print(program, MLT_GOAL_PAPER, 0, j->file);
    fputc(0, j->file);
    return at;
}

// One rank's part of the program as text: the program with all other ranks empty. Wildcards on one
// rank concern all, so then it is the whole one.
static uint64_t put_text(job *j, mlt_goal_program *alone, uint32_t rank)
{
    if (alone->rank == j->program->rank)
        return j->whole ? j->whole : (j->whole = print_text(j, j->program));
    alone->rank[rank] = j->program->rank[rank];
    uint64_t at = print_text(j, alone);
    alone->rank[rank] = (mlt_goal_rank){.count = 0};
    return at;
}

// --in NAME=FILE: the contents instead of the pattern. %r in FILE is the rank.
static void read_input(uint32_t rank, const char *name, char *to, uint64_t size)
{
    for (size_t i = 0; i < run_asked.in.count; i++) {
        const char *text = run_asked.in.items[i], *equals = strchr(text, '=');
        size_t length = (size_t)(equals - text);
        bool memory = !*name && length == 6 && memcmp(text, "memory", 6) == 0;
        if (!memory && (strlen(name) != length || memcmp(name, text, length) != 0))
            continue;
        const char *mark = strstr(equals + 1, "%r");
        char *path = mark ? mlt_text_of("%.*s%" PRIu32 "%s", (int)(mark - equals - 1), equals + 1,
                                        rank, mark + 2)
                          : mlt_text_of("%s", equals + 1);
        mlt_source_file file = mlt_source_file_read(path);
        if (file.size != size)
            mlt_args_failed("'%s' has %zu bytes, but buffer %.*s of rank %" PRIu32 " has %" PRIu64,
                            path, file.size, (int)length, text, rank, size);
        memcpy(to, file.bytes, size);
        mlt_source_file_drop(&file);
        return;
    }
}

static void put_buffers(job *j, uint32_t rank)
{
    const mlt_goal_rank *r = &j->program->rank[rank];
    goalrun_buffer *out = mlt_xcalloc(r->buffers_count + 1, sizeof *out);
    j->pieces[rank] = mlt_xcalloc(r->buffers_count + 1, sizeof **j->pieces);
    for (uint32_t buf = 0; buf <= r->buffers_count; buf++) {
        const char *name = run_name_of(j->program, rank, buf);
        uint64_t size = mlt_goal_buffer_size(j->program, rank, buf);
        if (!size)
            continue;
        piece *p = &j->pieces[rank][j->count[rank]];
        char *bytes = calloc(size, 1);
        if (!bytes)
            mlt_args_failed(MLT_NO_ROOM "%s of rank %" PRIu32 ", %" PRIu64 " bytes",
                            *name ? name : "the plain memory", rank, size);
        *p = (piece){.buf = buf, .size = size, .type = run_asked.type};
        if (!run_asked.as)
            p->type = mlt_memory_type(r, buf, run_asked.type);
        mlt_memory_fill(run_asked.fill, rank, buf, p->type, bytes, size);
        read_input(rank, name, bytes, size);
        p->before = run_put(j, bytes, size);
        p->after = run_put(j, bytes, size);
        free(bytes);
        out[j->count[rank]++] =
            (goalrun_buffer){run_put(j, name, strlen(name) + 1), p->before, p->after, size};
    }
    j->record[rank].buffers = j->count[rank];
    j->record[rank].actions = r->count;
    if (run_asked.order)
        j->record[rank].order = put_zeros(j, r->count * sizeof(int32_t));
    j->record[rank].times = put_zeros(j, run_asked.repeat * sizeof(double));
    j->records[rank] = run_put(j, &j->record[rank], sizeof j->record[rank]);
    fwrite(out, sizeof *out, j->count[rank], j->file);
}

static void make_file(job *j)
{
    goalrun_head head = {.magic = GOALRUN_MAGIC,
                         .ranks = j->ranks,
                         .repeat = (uint32_t)run_asked.repeat,
                         .order = run_asked.order};
    int fd = memfd_create("millet goal run", MFD_CLOEXEC);
    j->file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (!j->file)
        mlt_args_failed(MLT_NO_ROOM "the job's file (%s)", strerror(errno));
    run_put(j, &head, sizeof head);
    run_put(j, j->records, j->ranks * sizeof *j->records);
    mlt_goal_program alone = *j->program; // borrows the names, and with wildcards all
    if (!mlt_goal_has_wildcards(j->program))
        alone.rank = mlt_xcalloc(j->ranks, sizeof *alone.rank);
    for (uint32_t r = 0; r < j->ranks; r++) {
        j->record[r].text = put_text(j, &alone, r);
        put_buffers(j, r);
    }
    if (fseek(j->file, sizeof head, SEEK_SET) != 0 ||
        fwrite(j->records, sizeof *j->records, j->ranks, j->file) != j->ranks ||
        fflush(j->file) != 0 || ferror(j->file) || fseek(j->file, 0, SEEK_END) != 0 ||
        (j->map = mmap(NULL, (size_t)ftell(j->file), PROT_READ, MAP_SHARED, fd, 0)) == MAP_FAILED)
        mlt_args_failed(MLT_NO_ROOM "the job's file (%s)", strerror(errno));
}

// ---- mpirun

// The value of an option of mpirun's, in any of its spellings; NULL: it is not there.
static const char *mpirun_option(char **words, const char *const *names)
{
    for (; *words; words++)
        for (const char *const *name = names; *name; name++) {
            const char *bare = *words + strspn(*words, "-");
            size_t n = strlen(*name);
            if (bare == *words || bare - *words > 2 || strncmp(bare, *name, n) != 0)
                continue;
            if (bare[n] == '=')
                return bare + n + 1;
            if (!bare[n])
                return words[1] ? words[1] : "";
        }
    return NULL;
}

// As many ranks as the program has: -n and -nfg, as far as the user has not said them.
static void how_many(const job *j, mlt_arg_texts *argv, char text[2][MLT_NUMBER_BYTES])
{
    static const char *const workers[] = {"n", "np", "c", NULL}, *const fine[] = {"nfg", NULL};
    if (mpirun_option(run_asked.mpirun, workers))
        return;
    const char *given = mpirun_option(run_asked.mpirun, fine);
    uint64_t each = 1;
    if (given) {
        mlt_arg number = {.kind = MLT_ARG_NUMBER, .value = &each, .least = 1, .most = INT32_MAX};
        if (!mlt_arg_parse(&number, "mpirun's option -nfg", given))
            mlt_args_wrong("%s", mlt_args_why);
        if (j->ranks % each)
            mlt_args_wrong("%" PRIu32 " ranks cannot be shared out in workers of %" PRIu64
                           " each (-nfg %" PRIu64 ")",
                           j->ranks, each, each);
    } else if (j->ranks > PROCESSES) {
        each = j->ranks;
        snprintf(text[1], MLT_NUMBER_BYTES, "%" PRIu64, each);
        mlt_arg_texts_add(argv, "-nfg");
        mlt_arg_texts_add(argv, text[1]);
    }
    snprintf(text[0], MLT_NUMBER_BYTES, "%" PRIu64, j->ranks / each);
    mlt_arg_texts_add(argv, "-n");
    mlt_arg_texts_add(argv, text[0]);
}

static void start_mpirun(const job *j)
{
    char file[64], text[2][MLT_NUMBER_BYTES];
    mlt_mpirun mpirun = mlt_mpirun_find("goalrun");
    mlt_arg_texts argv = {NULL, 0};
    mlt_arg_texts_add(&argv, mpirun.path);
    how_many(j, &argv, text);
    for (char **word = run_asked.mpirun; *word; word++)
        mlt_arg_texts_add(&argv, *word);
    snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)getpid(), fileno(j->file));
    mlt_arg_texts_add(&argv, mpirun.ranks);
    mlt_arg_texts_add(&argv, file);
    mlt_mpirun_run("the run", (char **)argv.items, NULL, NULL);
}

// ---- what came back

static bool is_shown(const char *name)
{
    for (size_t i = 0; i < run_asked.show.count; i++)
        if (strcmp(run_asked.show.items[i], *name ? name : "memory") == 0)
            return true;
    return !run_asked.show.count && strncmp(name, "tmp", 3) != 0;
}

static void show_piece(const job *j, uint32_t rank, const piece *p)
{
    const char *name = run_name_of(j->program, rank, p->buf);
    const unsigned char *before = (unsigned char *)j->map + p->before,
                        *after = (unsigned char *)j->map + p->after;
    size_t count;
    mlt_fill_range *ranges = mlt_memory_ranges(j->program, rank, p->buf, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t from = ranges[i].from, size = ranges[i].to - from;
        char head[128];
        snprintf(head, sizeof head, "%s %" PRIu64 "..%" PRIu64 " %s", *name ? name : "memory", from,
                 ranges[i].to - 1, mlt_op_type_names[p->type]);
        bool same = memcmp(before + from, after + from, size) == 0;
        printf("  %-24s  %s  ", head, same ? "stays " : "before");
        mlt_memory_print(p->type, before + from, size, run_asked.elements, stdout);
        if (!same) {
            printf("\n  %-24s  after   ", "");
            mlt_memory_print(p->type, after + from, size, run_asked.elements, stdout);
        }
        putchar('\n');
    }
}

// How an action without a label is called: by what it does, and its number.
static const char *word_of(uint8_t kind)
{
    return kind == MLT_GOAL_SEND                            ? "send"
           : kind == MLT_GOAL_EXEC || kind == MLT_GOAL_USER ? "exec"
           : kind == MLT_GOAL_CALC                          ? "calc"
           : kind == MLT_GOAL_NOP                           ? "nop"
                                                            : "recv";
}

static void show_order(const job *j, uint32_t rank)
{
    const goalrun_record *record = (const goalrun_record *)(j->map + j->records[rank]);
    const int32_t *ids = (const int32_t *)(j->map + record->order);
    printf("  %-24s ", "finished in the order");
    for (uint32_t i = 0; i < record->finished; i++) {
        const mlt_goal_rank *r = &j->program->rank[rank];
        if (ids[i] < 0 || (uint32_t)ids[i] >= r->count)
            continue;
        const mlt_goal_action *action = &r->actions[ids[i]];
        if (action->label)
            printf(" %s", mlt_goal_name_text(j->program, action->label));
        else
            printf(" %s@%" PRId32, word_of(action->kind), ids[i]);
    }
    putchar('\n');
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A run takes as long as its slowest rank.
static void show_times(const job *j)
{
    uint64_t repeat = run_asked.repeat;
    double *worst = mlt_xcalloc(repeat, sizeof *worst), sum = 0;
    for (uint32_t r = 0; r < j->ranks; r++) {
        const double *own = (const double *)(j->map + j->record[r].times);
        for (uint64_t i = 0; i < repeat; i++)
            worst[i] = own[i] > worst[i] ? own[i] : worst[i];
    }
    for (uint64_t i = 0; i < repeat; i++)
        sum += worst[i];
    qsort(worst, repeat, sizeof *worst, by_time);
    char text[4][MLT_NUMBER_BYTES];
    printf("%s runs, each as long as its slowest rank: least %s, median %s, mean %s\n",
           mlt_number(text[0], repeat), mlt_time(text[1], (uint64_t)(worst[0] * 1e9)),
           mlt_time(text[2], (uint64_t)(worst[repeat / 2] * 1e9)),
           mlt_time(text[3], (uint64_t)(sum / (double)repeat * 1e9)));
}

static void run_show(const job *j)
{
    for (uint32_t r = 0; r < j->ranks && !run_asked.quiet; r++) {
        printf("rank %" PRIu32 "%s\n", r, j->count[r] || run_asked.order ? "" : " has no memory");
        for (uint32_t i = 0; i < j->count[r]; i++)
            if (is_shown(run_name_of(j->program, r, j->pieces[r][i].buf)))
                show_piece(j, r, &j->pieces[r][i]);
        if (run_asked.order)
            show_order(j, r);
    }
    if (run_asked.repeat)
        show_times(j);
}

// ---- the command

// What ranks would refuse, told here, where lines are those of the user's file.
static void run_refuse(const mlt_goal_program *program)
{
    char text[512];
    mlt_goal_sched_options options = {.plain = mlt_goal_has_wildcards(program)};
    if (run_asked.repeat > RUN_MOST_TIMES / program->ranks)
        mlt_args_wrong("option --repeat is %" PRIu64 ", but %" PRIu32
                       " ranks can be repeated up to %" PRIu32 " times",
                       run_asked.repeat, program->ranks, RUN_MOST_TIMES / program->ranks);
    for (uint32_t r = 0; r < program->ranks; r++) {
        mlt_goal_sched *sched;
        mlt_args_must(mlt_goal_rank_in_bounds(program, r, MLT_ARGS_WHY));
        mlt_args_must(mlt_goal_sched_compile(program, r, &options, &sched, MLT_ARGS_WHY));
        mlt_goal_sched_free(sched);
    }
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            uint8_t kind = program->rank[r].actions[i].kind;
            if (kind == MLT_GOAL_USER || kind == MLT_GOAL_RECV_USER)
                mlt_args_failed(
                    "%s calls a function of the user's, which only a program of yours has "
                    "(GOAL_Sched_func)",
                    mlt_goal_describe(program, r, i, text, sizeof text));
        }
}

static int by_tag(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// All tags of messages, each once, ascending.
static int32_t *all_tags(const mlt_goal_program *program, size_t *count)
{
    size_t n = 0, room = 0;
    int32_t *tags = NULL;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            const mlt_goal_action *action = &program->rank[r].actions[i];
            if (mlt_goal_is_message(action))
                *MLT_ARRAY_ADD(tags, n, room) = action->tag;
        }
    MLT_ARRAY_SORT(tags, n, by_tag);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || tags[i] != tags[i - 1])
            tags[(*count)++] = tags[i];
    return tags;
}

// Only whether tags are equal matters, and where messages are matched as they come ranks have few
// bits for them: they are numbered anew.
static void number_tags(mlt_goal_program *program)
{
    size_t count;
    int32_t *tags = all_tags(program, &count);
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            mlt_goal_action *action = &program->rank[r].actions[i];
            if (!mlt_goal_is_message(action))
                continue;
            int32_t *at = bsearch(&action->tag, tags, count, sizeof *tags, by_tag);
            action->tag = (int32_t)(at - tags);
        }
}

// Receives with any tag: where a rank has no others, tags of messages to it mean nothing, and are
// 0.
static void settle_tags(mlt_goal_program *program)
{
    uint32_t *any = mlt_xcalloc(program->ranks, sizeof *any); // 1 + such an action
    char text[512];
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++)
            if (mlt_goal_is_recv(&program->rank[r].actions[i]) &&
                program->rank[r].actions[i].tag == MLT_GOAL_ANY)
                any[r] = i + 1;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            mlt_goal_action *action = &program->rank[r].actions[i];
            bool recv = mlt_goal_is_recv(action);
            if (recv && any[r] && action->tag != MLT_GOAL_ANY)
                mlt_args_failed(
                    "%s takes any tag, but other receives of this rank name a tag; to be "
                    "run, all receives of a rank must do the same",
                    mlt_goal_describe(program, r, any[r] - 1, text, sizeof text));
            if (mlt_goal_is_message(action) && any[recv ? r : (uint32_t)action->peer])
                action->tag = 0;
        }
}

// The type of what no operation of a rank uses: that of all operations of the program, if they
// agree.
static mlt_op_type common_type(const mlt_goal_program *program)
{
    int type = -1;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            const mlt_goal_action *action = &program->rank[r].actions[i];
            if (action->kind != MLT_GOAL_EXEC && action->kind != MLT_GOAL_RECV_EXEC)
                continue;
            if (type >= 0 && type != action->type)
                return MLT_OP_UINT8;
            type = action->type;
        }
    return type >= 0 ? (mlt_op_type)type : MLT_OP_UINT8;
}

// Names in --show and --in must be there, on some rank.
static void check_name(const mlt_goal_program *program, const char *option, const char *name,
                       size_t length)
{
    if (length == 6 && memcmp(name, "memory", 6) == 0)
        return;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t b = 1; b <= program->rank[r].buffers_count; b++) {
            const char *own = run_name_of(program, r, b);
            if (strlen(own) == length && memcmp(own, name, length) == 0)
                return;
        }
    mlt_args_wrong(
        "option %s names '%.*s', but no rank has a buffer of that name (the plain memory is "
        "'memory')",
        option, (int)length, name);
}

static void check_names(const mlt_goal_program *program)
{
    for (size_t i = 0; i < run_asked.show.count; i++)
        check_name(program, "--show", run_asked.show.items[i], strlen(run_asked.show.items[i]));
    for (size_t i = 0; i < run_asked.in.count; i++) {
        size_t length = strcspn(run_asked.in.items[i], "=");
        if (!run_asked.in.items[i][length])
            mlt_args_wrong("option --in is '%s', but should be NAME=FILE", run_asked.in.items[i]);
        check_name(program, "--in", run_asked.in.items[i], length);
    }
}

static void goal_run_program(mlt_goal_program *program)
{
    uint32_t ranks = program->ranks;
    if (mlt_goal_has_wildcards(program)) {
        settle_tags(program);
        number_tags(program);
    }
    run_refuse(program);
    check_names(program);
    job j = {.program = program,
             .ranks = ranks,
             .records = mlt_xcalloc(ranks, sizeof *j.records),
             .record = mlt_xcalloc(ranks, sizeof *j.record),
             .pieces = mlt_xcalloc(ranks, sizeof *j.pieces),
             .count = mlt_xcalloc(ranks, sizeof *j.count)};
    make_file(&j);
    start_mpirun(&j);
    run_show(&j);
}

static int run_run(const mlt_arg_texts *words)
{
    if (run_asked.fill_text && !mlt_fill_parse(run_asked.fill_text, &run_asked.fill))
        mlt_args_wrong("option --fill is '%s', but should be ramp, zero, random or random:SEED",
                       run_asked.fill_text);
    if (run_asked.as)
        run_asked.type = mlt_source_type("--as", run_asked.as);
    const mlt_source *source = mlt_source_read_one(words);
    if (!run_asked.as)
        run_asked.type =
            source->form == MLT_SOURCE_ALG ? source->shape.type : common_type(source->program);
    goal_run_program(source->program);
    return MLT_EXIT_FINE;
}

static mlt_arg run_args[] = {
    {"fill", 0, MLT_ARG_TEXT, &run_asked.fill_text, "PATTERN",
     .help = "initial values: ramp (element i of rank r is 10 (r + 1) + i mod 10), zero or "
             "random:SEED (ramp)"},
    {"in", 0, MLT_ARG_TEXTS, &run_asked.in, "NAME=FILE",
     .help = "fill this buffer from a file; %r in FILE is the rank"},
    {"show", 0, MLT_ARG_TEXTS, &run_asked.show, "NAME",
     .help = "show this buffer; 'memory' is the plain one (all whose names do not begin with tmp)"},
    {"as", 0, MLT_ARG_TEXT, &run_asked.as, "TYPE",
     .help = "type of the elements that are shown (that of the execs, or UInt8)"},
    {"elements", 0, MLT_ARG_NUMBER, &run_asked.elements, "N",
     .help = "show N elements of a buffer; 0: all (16)"},
    {"order", 0, MLT_ARG_FLAG, &run_asked.order, NULL,
     .help = "show the order in which actions finished"},
    {"repeat", 0, MLT_ARG_NUMBER, &run_asked.repeat, "N", .most = 100000000,
     .help = "run it N more times, and say how long that took"},
    {"quiet", 'q', MLT_ARG_FLAG, &run_asked.quiet, NULL, .help = "show neither memory nor order"},
};

const mlt_command mlt_goal_run_command = {
    .name = "millet goal run",
    .help = "run a program for real, on ranks of this machine",
    .words = "FILE [-- mpirun's options]",
    .most = 1,
    .purpose = "Runs a program on ranks of this machine and shows each rank's memory before "
               "and after. Up to 16 ranks are processes, more are fibers of one process. "
               "Options of mpirun after -- change that, such as -- -nfg 3 --sched random:7.",
    .groups = {{NULL, MLT_ARG_LIST(run_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .behind = &run_asked.mpirun,
    .run = run_run};
