// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "tools/args.h"
#include "tools/goal/machine.h"
#include "tools/trace/causes.h"
#include "tools/view/levels.h"
#include "tools/view/moves.h"
#include "tools/view/pack.h"
#include "tools/view/serve.h"

enum {
    RUNS_MOST = 2,
    SPANS_MOST = 4 * 1000 * 1000, // in a page: about 10 bytes each
    MESSAGES_MOST = 1000 * 1000,
};

typedef struct view_run {
    const char *path;
    mlt_trace trace;
    mlt_story story;
    mlt_causes causes;
    mlt_moves moves;
} view_run;

// ---- reading

static int open_run(const mlt_arg_command *command, view_run *r, const char *path)
{
    char why[256];
    r->path = path;
    if (mlt_trace_open(&r->trace, path, why, sizeof why) != MLT_OK)
        return mlt_args_failed(command, "%s: %s", path, why);
    if (r->trace.events == 0) {
        mlt_trace_close(&r->trace);
        return mlt_args_failed(command, "%s has no events: there is nothing to show", path);
    }
    if (r->trace.damaged)
        fprintf(stderr, "%s: %s: %" PRIu64 " bytes belong to no whole chunk; the rest is shown\n",
                command->name, path, r->trace.damaged);
    mlt_moves_begin(&r->moves, &r->trace);
    mlt_story_read(&r->story, &r->trace, mlt_moves_see, &r->moves);
    if (r->story.rank_count == 0) {
        mlt_moves_free(&r->moves);
        mlt_story_free(&r->story);
        mlt_trace_close(&r->trace);
        return mlt_args_failed(command, "%s: no event is of a rank that the run had", path);
    }
    if (r->story.damaged)
        fprintf(stderr,
                "%s: %s: %" PRIu64
                " chunks tell of ranks that the run did not have; the rest is shown\n",
                command->name, path, r->story.damaged);
    mlt_causes_find(&r->causes, &r->story);
    return MLT_EXIT_FINE;
}

static void close_run(view_run *r)
{
    mlt_moves_free(&r->moves);
    mlt_causes_free(&r->causes);
    mlt_story_free(&r->story);
    mlt_trace_close(&r->trace);
}

// ---- the page

static void put_states(mlt_text *json)
{
    static const char *const does[] = {"computing", "in MPI: messages", "in MPI: collectives",
                                       "in MPI: other calls", "not there"};
    static const char *const helps[] = {"outside of MPI", "in a call that sends, receives or tests",
                                        "in a collective call, without waiting", "in another call",
                                        "before the first event of the rank, or after its last"};
    _Static_assert(sizeof does / sizeof *does == MLT_LEVEL_OUTSIDE - MLT_CAUSE_COUNT + 1,
                   "a name for each");
    mlt_text_add(json, "\"states\":[");
    for (int i = 0; i <= MLT_LEVEL_OUTSIDE; i++) {
        bool wait = i < MLT_CAUSE_COUNT;
        mlt_text_add(json, i ? ",[" : "[");
        mlt_text_json(json, wait ? mlt_cause_names[i] : does[i - MLT_CAUSE_COUNT]);
        mlt_text_add(json, ",");
        mlt_text_json(json, wait ? mlt_cause_helps[i] : helps[i - MLT_CAUSE_COUNT]);
        mlt_text_add(json, "]");
    }
    mlt_text_add(json, "]");
}

static void put_base64(FILE *out, const uint8_t *data, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4 * 1024];
    size_t used = 0;
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t word = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        line[used++] = digits[word >> 18];
        line[used++] = digits[word >> 12 & 63];
        line[used++] = left > 1 ? digits[word >> 6 & 63] : '=';
        line[used++] = left > 2 ? digits[word & 63] : '=';
        if (used == sizeof line) {
            fwrite(line, 1, used, out);
            used = 0;
        }
    }
    fwrite(line, 1, used, out);
}

static void pack_runs(view_run *runs, size_t count, const mlt_pack_wishes *wishes, bool served,
                      mlt_text *json, mlt_text *data)
{
    mlt_text_add(json, "{\"version\":1,\"served\":%s,", served ? "true" : "false");
    put_states(json);
    mlt_text_add(json, ",\"runs\":[");
    for (size_t i = 0; i < count; i++) {
        mlt_text_add(json, i ? "," : "");
        mlt_pack_run(&runs[i].causes, &runs[i].moves, runs[i].path, wishes, json, data);
    }
    mlt_text_add(json, "]}");
}

static void put_page(FILE *out, const mlt_text *json, const mlt_text *data)
{
    fwrite(mlt_view_before, 1, mlt_view_before_bytes, out);
    fprintf(out, "<script type=\"application/json\" id=\"about\">");
    fwrite(mlt_text_so_far(json), 1, json->length, out);
    fprintf(out, "</script>\n<script type=\"text/plain\" id=\"data\">");
    put_base64(out, (const uint8_t *)mlt_text_so_far(data), data->length);
    fprintf(out, "</script>\n");
    fwrite(mlt_view_after, 1, mlt_view_after_bytes, out);
}

// run.mlt becomes run.html, in the folder of the trace.
static char *page_of(const char *trace)
{
    size_t length = strlen(trace);
    if (length > 4 && strcmp(trace + length - 4, ".mlt") == 0)
        length -= 4;
    return mlt_text_of("%.*s.html", (int)length, trace);
}

static int write_page(const mlt_arg_command *command, view_run *runs, size_t count, const char *to,
                      const mlt_loggops *machine)
{
    const mlt_pack_wishes packs = {SPANS_MOST, MESSAGES_MOST, machine};
    mlt_text json = {0}, data = {0};
    FILE *out = fopen(to, "w");
    if (!out)
        return mlt_args_failed(command, "%s: %s", to, strerror(errno));
    pack_runs(runs, count, &packs, false, &json, &data);
    put_page(out, &json, &data);
    mlt_text_free(&json);
    mlt_text_free(&data);
    bool fine = !ferror(out);
    if (fclose(out) != 0 || !fine)
        return mlt_args_failed(command, "%s cannot be written: %s", to, strerror(errno));
    return MLT_EXIT_FINE;
}

// ---- the command

static void open_browser(const mlt_arg_command *command, const char *page)
{
    pid_t child = fork();
    if (child == 0) {
        sigset_t none; // a server has blocked some
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execlp("xdg-open", "xdg-open", page, (char *)NULL);
        fprintf(stderr, "%s: there is no xdg-open here; open %s in a browser\n", command->name,
                page);
        _exit(1);
    }
}

typedef struct wishes {
    const char *to; // NULL: beside the trace
    bool open, serve;
    uint64_t port;
    mlt_machine_options machine; // only its file
    mlt_loggops read;            // ... as it was read
} wishes;

static const mlt_loggops *machine_of(const wishes *w)
{
    return w->machine.file ? &w->read : NULL;
}

static int make_page(const mlt_arg_command *command, view_run *runs, size_t count, const wishes *w)
{
    char *page = w->to ? mlt_text_of("%s", w->to) : page_of(runs[0].path);
    int code = write_page(command, runs, count, page, machine_of(w));
    if (code == MLT_EXIT_FINE) {
        printf("%s\n", page);
        fflush(stdout);
        if (w->open)
            open_browser(command, page);
    }
    free(page);
    return code;
}

// ---- a page that is served

typedef struct announcer {
    const mlt_arg_command *command;
    bool open;
    char *door; // the file that leads a browser to the link; NULL: none
} announcer;

// Every user can read the arguments of a browser, and so must not find the link there. The browser gets
// the name of a file that leads to it, and that only its owner can read.
static char *make_door(const mlt_arg_command *command, const char *link)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    folder = folder && *folder ? folder : getenv("TMPDIR");
    char *path = mlt_text_of("%s/millet-view-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int fd = mkostemps(path, 5, O_CLOEXEC); // mode 0600
    char *text = mlt_text_of("<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" "
                             "content=\"no-referrer\"><meta http-equiv=\"refresh\" "
                             "content=\"0; url=%s\"><a href=\"%s\">millet view</a>\n",
                             link, link);
    size_t bytes = strlen(text);
    bool fine = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
    if (!fine)
        fprintf(stderr, "%s: no browser is opened, since %s cannot be written: %s\n", command->name,
                path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !fine)
        unlink(path);
    free(text);
    if (fine)
        return path;
    free(path);
    return NULL;
}

static void announce(void *user, const char *link)
{
    announcer *a = user;
    printf("%s\n", link);
    fflush(stdout);
    fprintf(stderr, "%s: open this link in a browser of this machine; Ctrl-C ends it\n",
            a->command->name);
    if (a->open)
        a->door = make_door(a->command, link);
    if (a->door)
        open_browser(a->command, a->door);
}

static void put_served(mlt_text *page, const mlt_text *json)
{
    mlt_text_put(page, mlt_view_before, mlt_view_before_bytes);
    mlt_text_add(page, "<script type=\"application/json\" id=\"about\">");
    mlt_text_put(page, mlt_text_so_far(json), json->length);
    mlt_text_add(page, "</script>\n");
    mlt_text_put(page, mlt_view_after, mlt_view_after_bytes);
}

static int serve_page(const mlt_arg_command *command, view_run *runs, size_t count, const wishes *w)
{
    const mlt_pack_wishes packs = {0, 0, machine_of(w)};
    mlt_text json = {0}, data = {0}, page = {0};
    mlt_pieces pieces[RUNS_MOST];
    char why[256];
    pack_runs(runs, count, &packs, true, &json, &data);
    put_served(&page, &json);
    for (size_t i = 0; i < count; i++)
        mlt_pieces_init(&pieces[i], &runs[i].causes);
    const mlt_serve serve = {&page, &data, pieces, count, (uint16_t)w->port};
    announcer a = {command, w->open, NULL};
    int code = MLT_EXIT_FINE;
    if (mlt_serve_run(&serve, announce, &a, why, sizeof why) != MLT_OK)
        code = mlt_args_failed(command, "%s", why);
    if (a.door)
        unlink(a.door);
    free(a.door);
    for (size_t i = 0; i < count; i++)
        mlt_pieces_fini(&pieces[i]);
    mlt_text_free(&json);
    mlt_text_free(&data);
    mlt_text_free(&page);
    return code;
}

static int view(const mlt_arg_command *command, const mlt_arg_texts *files, const wishes *w)
{
    view_run *runs = mlt_take(RUNS_MOST, sizeof *runs);
    size_t count = 0;
    int code = MLT_EXIT_FINE;
    for (; count < files->count && code == MLT_EXIT_FINE; count++)
        code = open_run(command, &runs[count], files->items[count]);
    if (code != MLT_EXIT_FINE)
        count--;
    if (code == MLT_EXIT_FINE)
        code = w->serve ? serve_page(command, runs, count, w) : make_page(command, runs, count, w);
    for (size_t i = 0; i < count; i++)
        close_run(&runs[i]);
    free(runs);
    return code;
}

int mlt_view_main(int argc, char **argv)
{
    mlt_arg unused[MLT_MACHINE_ARGS];
    wishes w = {0};
    mlt_machine_args(&w.machine, unused); // nothing is given
    const mlt_arg args[] = {
        {"output", 'o', MLT_ARG_TEXT, &w.to, "FILE",
         .help = "write the page there (FILE.html beside the trace)"},
        {"open", 0, MLT_ARG_FLAG, &w.open, NULL, .help = "show it in a browser at once (xdg-open)"},
        {"serve", 0, MLT_ARG_FLAG, &w.serve, NULL,
         .help = "write no file: serve the page to browsers of this machine, until Ctrl-C; for "
                 "traces of which a file cannot hold every call"},
        {"params", 0, MLT_ARG_TEXT, &w.machine.file, "FILE",
         .help =
             "simulate collectives on this machine, as millet goal measure writes it (one whose "
             "messages all take as long as the fastest of the run)"},
        {"port", 0, MLT_ARG_NUMBER, &w.port, "N", .help = "with --serve: at this port (a free one)",
         .least = 1, .most = 65535},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet view",
        .words = "FILE [OTHER]",
        .least = 1,
        .most = RUNS_MOST,
        .purpose =
            "Makes a page for a browser of a trace: a file that mpirun --trace FILE wrote. The "
            "page is one "
            "file, needs no server, and shows why the run was slow: what each rank did, why it "
            "waited, who "
            "talked to whom, who came late to collectives. With two traces it compares them.",
        .groups = groups,
        .count = 1};
    mlt_arg_texts files = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &files, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    if (w.serve && w.to)
        code = mlt_args_wrong(&command, "--serve writes no file: leave out --output");
    else if (w.port && !w.serve)
        code = mlt_args_wrong(&command, "--port is for --serve");
    else if (!w.machine.file ||
             (code = mlt_machine_read(&w.machine, &command, &w.read)) == MLT_ARGS_GO)
        code = view(&command, &files, &w);
    mlt_arg_texts_free(&files);
    return code;
}
