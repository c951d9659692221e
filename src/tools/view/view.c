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
#include "base/text.h"
#include "tools/commands.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
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

static void open_run(view_run *r, const char *path)
{
    r->path = path;
    if (mlt_trace_open(&r->trace, path, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_failed("%s: %s", path, mlt_args_why);
    if (r->trace.events == 0)
        mlt_args_failed("%s has no events: there is nothing to show", path);
    if (r->trace.damaged)
        fprintf(stderr, "%s: %s: %" PRIu64 " bytes belong to no whole chunk; the rest is shown\n",
                mlt_args_command(), path, r->trace.damaged);
    mlt_moves_begin(&r->moves, &r->trace);
    mlt_story_read(&r->story, &r->trace, mlt_moves_see, &r->moves);
    if (r->story.rank_count == 0)
        mlt_args_failed("%s: no event is of a rank that the run had", path);
    if (r->story.damaged)
        fprintf(stderr,
                "%s: %s: %" PRIu64
                " chunks tell of ranks that the run did not have; the rest is shown\n",
                mlt_args_command(), path, r->story.damaged);
    mlt_causes_find(&r->causes, &r->story);
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

static void put_base64(mlt_text *out, const mlt_text *data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *bytes = (const uint8_t *)mlt_text_so_far(data);
    for (size_t i = 0; i < data->length; i += 3) {
        size_t left = data->length - i;
        uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        char four[4] = {digits[word >> 18], digits[word >> 12 & 63],
                        left > 1 ? digits[word >> 6 & 63] : '=',
                        left > 2 ? digits[word & 63] : '='};
        mlt_text_put(out, four, sizeof four);
    }
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

// data NULL: the page asks its server for them.
static void put_page(mlt_text *page, const mlt_text *json, const mlt_text *data)
{
    mlt_text_put(page, mlt_view_before, mlt_view_before_bytes);
    mlt_text_add(page, "<script type=\"application/json\" id=\"about\">");
    mlt_text_put(page, mlt_text_so_far(json), json->length);
    mlt_text_add(page, "</script>\n");
    if (data) {
        mlt_text_add(page, "<script type=\"text/plain\" id=\"data\">");
        put_base64(page, data);
        mlt_text_add(page, "</script>\n");
    }
    mlt_text_put(page, mlt_view_after, mlt_view_after_bytes);
}

// run.mlt becomes run.html, in the folder of the trace.
static char *page_of(const char *trace)
{
    size_t length = strlen(trace);
    if (length > 4 && strcmp(trace + length - 4, ".mlt") == 0)
        length -= 4;
    return mlt_text_of("%.*s.html", (int)length, trace);
}

static void write_page(view_run *runs, size_t count, const char *to, const mlt_loggops *machine)
{
    const mlt_pack_wishes packs = {SPANS_MOST, MESSAGES_MOST, machine};
    mlt_text json = {0}, data = {0}, page = {0};
    mlt_sink sink = mlt_sink_open(to);
    pack_runs(runs, count, &packs, false, &json, &data);
    put_page(&page, &json, &data);
    fwrite(page.text, 1, page.length, sink.to);
    mlt_sink_close(&sink);
}

// ---- the command

static void open_browser(const char *page)
{
    pid_t child = fork();
    if (child == 0) {
        sigset_t none; // a server has blocked some
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execlp("xdg-open", "xdg-open", page, (char *)NULL);
        fprintf(stderr, "%s: there is no xdg-open here; open %s in a browser\n", mlt_args_command(),
                page);
        _exit(1);
    }
}

static struct {
    const char *to; // NULL: beside the trace
    bool open, serve;
    uint64_t port;
} view_asked;

static void make_page(view_run *runs, size_t count, const mlt_loggops *machine)
{
    char *page = view_asked.to ? mlt_text_of("%s", view_asked.to) : page_of(runs[0].path);
    write_page(runs, count, page, machine);
    printf("%s\n", page);
    fflush(stdout);
    if (view_asked.open)
        open_browser(page);
}

// ---- a page that is served

static char *view_door; // the file that leads a browser to the link; NULL: none

// Every user can read the arguments of a browser, and so must not find the link there. The browser gets
// the name of a file that leads to it, and that only its owner can read.
static void make_door(const char *link)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    folder = folder && *folder ? folder : getenv("TMPDIR");
    view_door = mlt_text_of("%s/millet-view-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int fd = mkostemps(view_door, 5, O_CLOEXEC); // mode 0600
    char *text = mlt_text_of("<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" "
                             "content=\"no-referrer\"><meta http-equiv=\"refresh\" "
                             "content=\"0; url=%s\"><a href=\"%s\">millet view</a>\n",
                             link, link);
    size_t bytes = strlen(text);
    if (fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes)
        open_browser(view_door);
    else
        fprintf(stderr, "%s: no browser is opened, since %s cannot be written: %s\n",
                mlt_args_command(), view_door, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void announce(const char *link)
{
    printf("%s\n", link);
    fflush(stdout);
    fprintf(stderr, "%s: open this link in a browser of this machine; Ctrl-C ends it\n",
            mlt_args_command());
    if (view_asked.open)
        make_door(link);
}

static void serve_page(view_run *runs, size_t count, const mlt_loggops *machine)
{
    const mlt_pack_wishes packs = {0, 0, machine};
    mlt_text json = {0}, data = {0}, page = {0};
    mlt_pieces pieces[RUNS_MOST] = {0};
    pack_runs(runs, count, &packs, true, &json, &data);
    put_page(&page, &json, NULL);
    for (size_t i = 0; i < count; i++)
        pieces[i].causes = &runs[i].causes;
    mlt_serve_run(&(mlt_serve){&page, &data, pieces, count, (uint16_t)view_asked.port}, announce);
    if (view_door)
        unlink(view_door);
}

static int view_show(const mlt_arg_texts *files)
{
    if (view_asked.serve && view_asked.to)
        mlt_args_wrong("--serve writes no file: leave out --output");
    if (view_asked.port && !view_asked.serve)
        mlt_args_wrong("--port is for --serve");
    mlt_loggops machine = mlt_machine_read(), *given = mlt_machine_params ? &machine : NULL;
    view_run *runs = mlt_xcalloc(RUNS_MOST, sizeof *runs);
    for (size_t i = 0; i < files->count; i++)
        open_run(&runs[i], files->items[i]);
    if (view_asked.serve)
        serve_page(runs, files->count, given);
    else
        make_page(runs, files->count, given);
    return MLT_EXIT_FINE;
}

static mlt_arg view_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &view_asked.to, "FILE",
     .help = "write the page there (FILE.html beside the trace)"},
    {"open", 0, MLT_ARG_FLAG, &view_asked.open, NULL,
     .help = "show it in a browser at once (xdg-open)"},
    {"serve", 0, MLT_ARG_FLAG, &view_asked.serve, NULL,
     .help = "write no file: serve the page to browsers of this machine, until Ctrl-C; for "
             "traces of which a file cannot hold every call"},
    {"params", 0, MLT_ARG_TEXT, &mlt_machine_params, "FILE",
     .help = "simulate collectives on this machine, as millet goal measure writes it (one whose "
             "messages all take as long as the fastest of the run)"},
    {"port", 0, MLT_ARG_NUMBER, &view_asked.port, "N",
     .help = "with --serve: at this port (a free one)", .least = 1, .most = 65535},
};

const mlt_command mlt_view_command = {
    .name = "millet view",
    .help = "make a page of a trace that shows why the run was slow",
    .words = "FILE [OTHER]",
    .least = 1,
    .most = RUNS_MOST,
    .purpose = "Makes a page for a browser of a trace: a file that mpirun --trace FILE wrote. The "
               "page is one "
               "file, needs no server, and shows why the run was slow: what each rank did, why it "
               "waited, who "
               "talked to whom, who came late to collectives. With two traces it compares them.",
    .groups = {{NULL, MLT_ARG_LIST(view_args)}},
    .run = view_show};
