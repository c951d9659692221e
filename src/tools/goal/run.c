// SPDX-License-Identifier: BSD-3-Clause
// `millet goal run`: a program for real. It starts mpirun, found beside itself, with the program
// goalrun; what its ranks need and what they give back goes through one file without a name, which
// they open as /proc/PID/fd/N. So nothing is left behind, however it ends.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "goal/sched.h"
#include "goal/text/text.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/memory.h"
#include "tools/goal/source.h"
#include "tools/mpirun.h"
#include "tools/ranks/goalrun.h"

enum {
    INITIAL_ELEMENTS = 16, // of a buffer that are shown
    RUN_WHY_BYTES = 1024,
    RUN_MOST_TIMES = 1 << 27, // of all ranks, that are kept in memory: 1 GiB
    PROCESSES = 16,           // more ranks than that are fibers, unless the user says otherwise
};

typedef struct run_asked {
    mlt_source_options source;
    mlt_arg_texts in, show;
    const char *fill_text, *as;
    mlt_fill fill;
    mlt_op_type type; // of buffers that no operation uses
    bool forced;      // --as: of all
    bool order, quiet;
    uint64_t repeat, elements;
    char **mpirun; // options for it
} run_asked;

// A buffer of a rank: where its contents are in the file.
typedef struct piece {
    uint32_t buf;
    mlt_op_type type;
    uint64_t at, size;
    unsigned char *before;
} piece;

typedef struct job {
    const mlt_arg_command *command;
    const run_asked *a;
    const mlt_goal_program *program;
    FILE *file;
    uint64_t *records;        // [ranks]
    goalrun_record *record;   // [ranks]
    piece **pieces;           // [ranks]
    uint32_t ranks, *count;   // pieces of each rank
    uint64_t whole_at, whole; // the text of all ranks, if all need it
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

// One rank's part of the program as text: the program with all other ranks empty. Wildcards on one
// rank concern all, so then it is the whole one.
static void put_text(job *j, mlt_goal_program *alone, uint32_t rank)
{
    goalrun_record *record = &j->record[rank];
    if (alone->rank != j->program->rank) {
        alone->rank[rank] = j->program->rank[rank];
        record->text = place(j);
        (void)mlt_goal_print(alone, MLT_GOAL_PAPER, 0, j->file);
        record->text_bytes = (uint64_t)ftell(j->file) - record->text;
        alone->rank[rank] = (mlt_goal_rank){.count = 0};
        return;
    }
    if (!j->whole) {
        j->whole_at = place(j);
        (void)mlt_goal_print(j->program, MLT_GOAL_PAPER, 0, j->file);
        j->whole = (uint64_t)ftell(j->file) - j->whole_at;
    }
    record->text = j->whole_at;
    record->text_bytes = j->whole;
}

// --in NAME=FILE: the contents instead of the pattern. %r in FILE is the rank.
static int read_input(job *j, uint32_t rank, const char *name, piece *p)
{
    for (size_t i = 0; i < j->a->in.count; i++) {
        const char *text = j->a->in.items[i], *equals = strchr(text, '=');
        size_t length = (size_t)(equals - text);
        bool memory = !*name && length == 6 && memcmp(text, "memory", 6) == 0;
        if (!memory && (strlen(name) != length || memcmp(name, text, length) != 0))
            continue;
        char path[PATH_MAX];
        const char *mark = strstr(equals + 1, "%r");
        if (mark)
            snprintf(path, sizeof path, "%.*s%" PRIu32 "%s", (int)(mark - equals - 1), equals + 1,
                     rank, mark + 2);
        else
            snprintf(path, sizeof path, "%s", equals + 1);
        mlt_source_file file;
        int code = mlt_source_file_read(j->command, path, &file);
        if (code != MLT_ARGS_GO)
            return code;
        if (file.size != p->size)
            code = mlt_args_failed(
                j->command, "'%s' has %zu bytes, but buffer %.*s of rank %" PRIu32 " has %" PRIu64,
                path, file.size, (int)length, text, rank, p->size);
        else
            memcpy(p->before, file.bytes, p->size);
        mlt_source_file_drop(&file);
        return code;
    }
    return MLT_ARGS_GO;
}

static int put_buffers(job *j, uint32_t rank)
{
    const mlt_goal_rank *r = &j->program->rank[rank];
    goalrun_buffer *out = mlt_take(r->buffers_count + 1, sizeof *out);
    j->pieces[rank] = mlt_take(r->buffers_count + 1, sizeof **j->pieces);
    int code = MLT_ARGS_GO;
    for (uint32_t buf = 0; buf <= r->buffers_count && code == MLT_ARGS_GO; buf++) {
        const char *name = run_name_of(j->program, rank, buf);
        uint64_t size = mlt_goal_buffer_size(j->program, rank, buf);
        if (!size)
            continue;
        piece *p = &j->pieces[rank][j->count[rank]];
        *p = (piece){.buf = buf, .size = size, .before = calloc(size, 1), .type = j->a->type};
        if (!p->before) {
            code =
                mlt_args_failed(j->command, MLT_NO_ROOM "%s of rank %" PRIu32 ", %" PRIu64 " bytes",
                                *name ? name : "the plain memory", rank, size);
            break;
        }
        if (!j->a->forced)
            p->type = mlt_memory_type(r, buf, j->a->type);
        mlt_memory_fill(j->a->fill, rank, buf, p->type, p->before, size);
        code = read_input(j, rank, name, p);
        p->at = run_put(j, p->before, size);
        goalrun_buffer *b = &out[j->count[rank]++];
        *b = (goalrun_buffer){.name_bytes = strlen(name), .at = p->at, .size = size};
        b->name = run_put(j, name, b->name_bytes);
    }
    j->record[rank].buffers = j->count[rank];
    j->record[rank].actions = r->count;
    if (j->a->order)
        j->record[rank].order = put_zeros(j, r->count * sizeof(int32_t));
    j->record[rank].times = put_zeros(j, j->a->repeat * sizeof(double));
    j->records[rank] = run_put(j, &j->record[rank], sizeof j->record[rank]);
    fwrite(out, sizeof *out, j->count[rank], j->file);
    free(out);
    return code;
}

static int make_file(job *j)
{
    goalrun_head head = {.magic = GOALRUN_MAGIC,
                         .ranks = j->ranks,
                         .repeat = (uint32_t)j->a->repeat,
                         .order = j->a->order};
    int fd = memfd_create("millet goal run", MFD_CLOEXEC);
    j->file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (!j->file)
        return mlt_args_failed(j->command, MLT_NO_ROOM "the job's file (%s)", strerror(errno));
    run_put(j, &head, sizeof head);
    run_put(j, j->records, j->ranks * sizeof *j->records);
    mlt_goal_program alone = *j->program; // borrows the names, and with wildcards all
    if (!mlt_goal_has_wildcards(j->program))
        alone.rank = mlt_take(j->ranks, sizeof *alone.rank);
    int code = MLT_ARGS_GO;
    for (uint32_t r = 0; r < j->ranks && code == MLT_ARGS_GO; r++) {
        put_text(j, &alone, r);
        code = put_buffers(j, r);
    }
    if (alone.rank != j->program->rank)
        free(alone.rank);
    if (code != MLT_ARGS_GO)
        return code;
    if (fseek(j->file, sizeof head, SEEK_SET) != 0 ||
        fwrite(j->records, sizeof *j->records, j->ranks, j->file) != j->ranks ||
        fflush(j->file) != 0 || ferror(j->file))
        return mlt_args_failed(j->command, MLT_NO_ROOM "the job's file (%s)", strerror(errno));
    return MLT_ARGS_GO;
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
static int how_many(const job *j, mlt_arg_texts *argv, char text[2][MLT_NUMBER_BYTES])
{
    static const char *const workers[] = {"n", "np", "c", NULL}, *const fine[] = {"nfg", NULL};
    if (mpirun_option(j->a->mpirun, workers))
        return MLT_ARGS_GO;
    const char *given = mpirun_option(j->a->mpirun, fine);
    uint64_t each = 1;
    if (given) {
        char why[128];
        mlt_arg number = {.kind = MLT_ARG_NUMBER, .value = &each, .least = 1, .most = INT32_MAX};
        if (!mlt_arg_parse(&number, "mpirun's option -nfg", given, why, sizeof why))
            return mlt_args_wrong(j->command, "%s", why);
        if (j->ranks % each)
            return mlt_args_wrong(j->command,
                                  "%" PRIu32 " ranks cannot be shared out in workers of %" PRIu64
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
    return MLT_ARGS_GO;
}

static int start_mpirun(const job *j)
{
    char file[64], text[2][MLT_NUMBER_BYTES];
    mlt_mpirun mpirun;
    mlt_arg_texts argv = {NULL, 0};
    int code = mlt_mpirun_find(j->command, "goalrun", &mpirun);
    if (code == MLT_ARGS_GO) {
        mlt_arg_texts_add(&argv, mpirun.path);
        code = how_many(j, &argv, text);
    }
    if (code == MLT_ARGS_GO) {
        for (char **word = j->a->mpirun; *word; word++)
            mlt_arg_texts_add(&argv, *word);
        snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)getpid(), fileno(j->file));
        mlt_arg_texts_add(&argv, mpirun.ranks);
        mlt_arg_texts_add(&argv, file);
        code = mlt_mpirun_run(j->command, "the run", (char **)argv.items, NULL, NULL);
    }
    mlt_arg_texts_free(&argv);
    return code;
}

// ---- what came back

static bool run_get(const job *j, void *to, uint64_t bytes, uint64_t at)
{
    return pread(fileno(j->file), to, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool is_shown(const run_asked *a, const char *name)
{
    for (size_t i = 0; i < a->show.count; i++)
        if (strcmp(a->show.items[i], *name ? name : "memory") == 0)
            return true;
    return !a->show.count && strncmp(name, "tmp", 3) != 0;
}

static void show_piece(const job *j, uint32_t rank, const piece *p)
{
    const char *name = run_name_of(j->program, rank, p->buf);
    unsigned char *after = mlt_take(p->size, 1);
    size_t count;
    mlt_fill_range *ranges = mlt_memory_ranges(j->program, rank, p->buf, &count);
    if (!run_get(j, after, p->size, p->at))
        mlt_fatal("the job's file cannot be read");
    for (size_t i = 0; i < count; i++) {
        uint64_t from = ranges[i].from, size = ranges[i].to - from;
        char head[128];
        snprintf(head, sizeof head, "%s %" PRIu64 "..%" PRIu64 " %s", *name ? name : "memory", from,
                 ranges[i].to - 1, mlt_op_type_names[p->type]);
        bool same = memcmp(p->before + from, after + from, size) == 0;
        printf("  %-24s  %s  ", head, same ? "stays " : "before");
        mlt_memory_print(p->type, p->before + from, size, j->a->elements, stdout);
        if (!same) {
            printf("\n  %-24s  after   ", "");
            mlt_memory_print(p->type, after + from, size, j->a->elements, stdout);
        }
        putchar('\n');
    }
    free(ranges);
    free(after);
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
    goalrun_record record;
    if (!run_get(j, &record, sizeof record, j->records[rank]))
        mlt_fatal("the job's file cannot be read");
    int32_t *ids = mlt_take(record.finished, sizeof *ids);
    if (!run_get(j, ids, record.finished * sizeof *ids, record.order))
        mlt_fatal("the job's file cannot be read");
    printf("  %-24s ", "finished in the order");
    for (uint32_t i = 0; i < record.finished; i++) {
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
    free(ids);
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A run takes as long as its slowest rank.
static void show_times(const job *j)
{
    uint64_t repeat = j->a->repeat;
    double *worst = mlt_take(repeat, sizeof *worst), *own = mlt_take(repeat, sizeof *own), sum = 0;
    for (uint32_t r = 0; r < j->ranks; r++) {
        if (!run_get(j, own, repeat * sizeof *own, j->record[r].times))
            mlt_fatal("the job's file cannot be read");
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
    free(own);
    free(worst);
}

static void run_show(const job *j)
{
    for (uint32_t r = 0; r < j->ranks && !j->a->quiet; r++) {
        printf("rank %" PRIu32 "%s\n", r, j->count[r] || j->a->order ? "" : " has no memory");
        for (uint32_t i = 0; i < j->count[r]; i++)
            if (is_shown(j->a, run_name_of(j->program, r, j->pieces[r][i].buf)))
                show_piece(j, r, &j->pieces[r][i]);
        if (j->a->order)
            show_order(j, r);
    }
    if (j->a->repeat)
        show_times(j);
}

// ---- the command

// What ranks would refuse, told here, where lines are those of the user's file.
static int run_refuse(const mlt_arg_command *command, const run_asked *a,
                      const mlt_goal_program *program)
{
    char text[512], why[RUN_WHY_BYTES];
    mlt_goal_sched_options options = {.plain = mlt_goal_has_wildcards(program)};
    if (a->repeat > RUN_MOST_TIMES / program->ranks)
        return mlt_args_wrong(command,
                              "option --repeat is %" PRIu64 ", but %" PRIu32
                              " ranks can be repeated up to %" PRIu32 " times",
                              a->repeat, program->ranks, RUN_MOST_TIMES / program->ranks);
    for (uint32_t r = 0; r < program->ranks; r++) {
        mlt_goal_sched *sched;
        if (mlt_goal_rank_in_bounds(program, r, why, sizeof why) != MLT_OK ||
            mlt_goal_sched_compile(program, r, &options, &sched, why, sizeof why) != MLT_OK)
            return mlt_args_failed(command, "%s", why);
        mlt_goal_sched_free(sched);
    }
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            uint8_t kind = program->rank[r].actions[i].kind;
            if (kind == MLT_GOAL_USER || kind == MLT_GOAL_RECV_USER)
                return mlt_args_failed(command,
                                       "%s calls a function of the user's, which only a program of "
                                       "yours has (GOAL_Sched_func)",
                                       mlt_goal_describe(program, r, i, text, sizeof text));
        }
    return MLT_ARGS_GO;
}

static int by_tag(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// All tags of messages, each once, ascending. The caller frees them.
static int32_t *all_tags(const mlt_goal_program *program, size_t *count)
{
    size_t n = 0, room = 0;
    int32_t *tags = NULL;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            const mlt_goal_action *action = &program->rank[r].actions[i];
            if (!mlt_goal_is_message(action))
                continue;
            if (n == room)
                tags = mlt_take_more(tags, room = 2 * room + 64, sizeof *tags);
            tags[n++] = action->tag;
        }
    if (n)
        qsort(tags, n, sizeof *tags, by_tag);
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
    free(tags);
}

// Receives with any tag: where a rank has no others, tags of messages to it mean nothing, and are
// 0.
static int settle_tags(const mlt_arg_command *command, mlt_goal_program *program)
{
    uint32_t *any = mlt_take(program->ranks, sizeof *any); // 1 + such an action
    char text[512];
    int code = MLT_ARGS_GO;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++)
            if (mlt_goal_is_recv(&program->rank[r].actions[i]) &&
                program->rank[r].actions[i].tag == MLT_GOAL_ANY)
                any[r] = i + 1;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            mlt_goal_action *action = &program->rank[r].actions[i];
            bool recv = mlt_goal_is_recv(action);
            if (recv && any[r] && action->tag != MLT_GOAL_ANY && code == MLT_ARGS_GO)
                code =
                    mlt_args_failed(command,
                                    "%s takes any tag, but other receives of this rank name a tag; "
                                    "to be run, all receives of a rank must do the same",
                                    mlt_goal_describe(program, r, any[r] - 1, text, sizeof text));
            if (mlt_goal_is_message(action) && any[recv ? r : (uint32_t)action->peer])
                action->tag = 0;
        }
    free(any);
    return code;
}

// The type of what no operation of a rank uses: that of all operations of the program, if they
// agree.
static mlt_op_type common_type(const mlt_goal_program *program, mlt_op_type initial)
{
    int type = -1;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t i = 0; i < program->rank[r].count; i++) {
            const mlt_goal_action *action = &program->rank[r].actions[i];
            if (action->kind != MLT_GOAL_EXEC && action->kind != MLT_GOAL_RECV_EXEC)
                continue;
            if (type >= 0 && type != action->type)
                return initial;
            type = action->type;
        }
    return type >= 0 ? (mlt_op_type)type : initial;
}

// Names in --show and --in must be there, on some rank.
static int known_name(const mlt_arg_command *command, const mlt_goal_program *program,
                      const char *option, const char *name, size_t length)
{
    if (length == 6 && memcmp(name, "memory", 6) == 0)
        return MLT_ARGS_GO;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t b = 1; b <= program->rank[r].buffers_count; b++) {
            const char *own = run_name_of(program, r, b);
            if (strlen(own) == length && memcmp(own, name, length) == 0)
                return MLT_ARGS_GO;
        }
    return mlt_args_wrong(
        command,
        "option %s names '%.*s', but no rank has a buffer of that name (the plain "
        "memory is 'memory')",
        option, (int)length, name);
}

static int check_names(const mlt_arg_command *command, const run_asked *a,
                       const mlt_goal_program *program)
{
    int code = MLT_ARGS_GO;
    for (size_t i = 0; i < a->show.count && code == MLT_ARGS_GO; i++)
        code = known_name(command, program, "--show", a->show.items[i], strlen(a->show.items[i]));
    for (size_t i = 0; i < a->in.count && code == MLT_ARGS_GO; i++) {
        size_t length = strcspn(a->in.items[i], "=");
        if (!a->in.items[i][length])
            return mlt_args_wrong(command, "option --in is '%s', but should be NAME=FILE",
                                  a->in.items[i]);
        code = known_name(command, program, "--in", a->in.items[i], length);
    }
    return code;
}

static int run(const mlt_arg_command *command, const run_asked *a, const mlt_source *source)
{
    uint32_t ranks = source->program->ranks;
    int code = MLT_ARGS_GO;
    if (mlt_goal_has_wildcards(source->program)) {
        code = settle_tags(command, source->program);
        if (code == MLT_ARGS_GO)
            number_tags(source->program);
    }
    if (code == MLT_ARGS_GO)
        code = run_refuse(command, a, source->program);
    if (code == MLT_ARGS_GO)
        code = check_names(command, a, source->program);
    if (code != MLT_ARGS_GO)
        return code;
    job j = {.command = command,
             .a = a,
             .program = source->program,
             .ranks = ranks,
             .records = mlt_take(ranks, sizeof *j.records),
             .record = mlt_take(ranks, sizeof *j.record),
             .pieces = mlt_take(ranks, sizeof *j.pieces),
             .count = mlt_take(ranks, sizeof *j.count)};
    code = make_file(&j);
    if (code == MLT_ARGS_GO)
        code = start_mpirun(&j);
    if (code == MLT_ARGS_GO) {
        run_show(&j);
        code = MLT_EXIT_FINE;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        for (uint32_t i = 0; i < j.count[r]; i++)
            free(j.pieces[r][i].before);
        free(j.pieces[r]);
    }
    free(j.records);
    free(j.record);
    free(j.pieces);
    free(j.count);
    if (j.file)
        fclose(j.file);
    return code;
}

static int run_read_words(const mlt_arg_command *command, run_asked *a)
{
    mlt_op unused = MLT_OPS;
    if (a->fill_text && !mlt_fill_parse(a->fill_text, &a->fill))
        return mlt_args_wrong(command,
                              "option --fill is '%s', but should be ramp, zero, random or "
                              "random:SEED",
                              a->fill_text);
    a->forced = a->as != NULL;
    if (a->as && (!mlt_source_function(a->as, &unused, &a->type) || unused != MLT_OPS))
        return mlt_args_wrong(command,
                              "option --as is '%s', but should be Int8 to Int64, UInt8 to UInt64 "
                              "or Float16 to Float64",
                              a->as);
    return MLT_ARGS_GO;
}

int mlt_goal_run_main(int argc, char **argv)
{
    run_asked a = {.type = MLT_OP_UINT8, .elements = INITIAL_ELEMENTS};
    mlt_arg from[MLT_SOURCE_ARGS];
    mlt_source_args(&a.source, from);
    const mlt_arg args[] = {
        {"fill", 0, MLT_ARG_TEXT, &a.fill_text, "PATTERN",
         .help = "initial values: ramp (element i of rank r is 10 (r + 1) + i mod 10), zero or "
                 "random:SEED (ramp)"},
        {"in", 0, MLT_ARG_TEXTS, &a.in, "NAME=FILE",
         .help = "fill this buffer from a file; %r in FILE is the rank"},
        {"show", 0, MLT_ARG_TEXTS, &a.show, "NAME",
         .help =
             "show this buffer; 'memory' is the plain one (all whose names do not begin with tmp)"},
        {"as", 0, MLT_ARG_TEXT, &a.as, "TYPE",
         .help = "type of the elements that are shown (that of the execs, or UInt8)"},
        {"elements", 0, MLT_ARG_NUMBER, &a.elements, "N",
         .help = "show N elements of a buffer; 0: all (16)"},
        {"order", 0, MLT_ARG_FLAG, &a.order, NULL,
         .help = "show the order in which actions finished"},
        {"repeat", 0, MLT_ARG_NUMBER, &a.repeat, "N", .most = 100000000,
         .help = "run it N more times, and say how long that took"},
        {"quiet", 'q', MLT_ARG_FLAG, &a.quiet, NULL, .help = "show neither memory nor order"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args},
                                    {"Programs without a file", from, MLT_SOURCE_ARGS}};
    const mlt_arg_command command = {
        .name = "millet goal run",
        .words = "FILE [-- mpirun's options]",
        .most = 1,
        .purpose = "Runs a program on ranks of this machine and shows each rank's memory before "
                   "and after. Up to 16 ranks are processes, more are fibers of one process. "
                   "Options of mpirun after -- change that, such as -- -nfg 3 --sched random:7.",
        .groups = groups,
        .count = 2};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, &a.mpirun);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_source source = {.program = NULL};
    code = run_read_words(&command, &a);
    if (code == MLT_ARGS_GO)
        code = mlt_source_read_one(&command, &a.source, &words, &source);
    if (code == MLT_ARGS_GO && !a.forced)
        a.type = source.form == MLT_SOURCE_ALG ? source.shape.type
                                               : common_type(source.program, MLT_OP_UINT8);
    if (code == MLT_ARGS_GO)
        code = run(&command, &a, &source);
    mlt_source_free(&source);
    mlt_arg_texts_free(&a.in);
    mlt_arg_texts_free(&a.show);
    mlt_arg_texts_free(&a.source.set);
    mlt_arg_texts_free(&words);
    return code;
}
