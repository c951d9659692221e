// SPDX-License-Identifier: BSD-3-Clause
// `millet names`: the name server of a user's programs, and questions to it.
#include "tools/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "csp/names/file.h"
#include "csp/names/text.h"
#include "csp/net/far.h"
#include "csp/net/remote.h"
#include "os/line.h"
#include "os/os.h"
#include "tools/names/serve.h"

enum { FAR_BYTES = 800, ANSWER_MS = 10000 }; // for an answer of the server

// ---- where it is

static const char *dir, *listen_at, *ports;
static bool foreground;

// The file that a question goes by: --dir, then MILLET_NAMES, then the usual place.
static void file_of(char path[MLT_NAMES_PATH])
{
    const char *told = getenv("MILLET_NAMES");
    char folder[MLT_NAMES_PATH];
    int n;
    if (!dir && told && *told && strcmp(told, "job") != 0)
        n = snprintf(path, MLT_NAMES_PATH, "%s", told);
    else {
        if (!dir && !mlt_names_usual_folder(folder, MLT_ARGS_WHY))
            mlt_args_failed("%s", mlt_args_why);
        n = snprintf(path, MLT_NAMES_PATH, "%s/names", dir ? dir : folder);
    }
    if (n < 0 || n >= MLT_NAMES_PATH)
        mlt_args_failed("the name of the folder is too long");
}

// ---- asking

typedef struct line {
    int fd;
    size_t held;
    unsigned char in[MLT_NAMES_FRAME];
} line;

static void names_wait_for(int fd, bool writes)
{
    if (!mlt_os_line_wait(fd, writes, ANSWER_MS))
        mlt_args_failed("the name server does not answer");
}

// False: it has hung up.
static bool names_hear(line *l, mlt_names_message *m)
{
    for (;;) {
        int bytes = mlt_names_decode(l->in, l->held, m);
        if (bytes > 0) {
            l->held -= (size_t)bytes;
            memmove(l->in, l->in + bytes, l->held);
            if (m->verb == MLT_NAMES_REFUSED)
                mlt_args_failed("%s", m->text);
            return true;
        }
        if (bytes < 0)
            mlt_args_failed("the process that listens there is no name server");
        names_wait_for(l->fd, false);
        ssize_t n = mlt_os_line_read(l->fd, l->in + l->held, sizeof l->in - l->held);
        if (n < 0 && errno == EAGAIN)
            continue;
        if (n <= 0)
            return false;
        l->held += (size_t)n;
    }
}

static void names_answer(line *l, mlt_names_message *m)
{
    if (!names_hear(l, m))
        mlt_args_failed("the name server has hung up");
}

static void names_tell(line *l, const mlt_names_message *m)
{
    unsigned char frame[MLT_NAMES_FRAME];
    size_t bytes = mlt_names_encode(m, frame);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = mlt_os_line_write(l->fd, frame + at, bytes - at);
        if (n >= 0)
            at += (size_t)n;
        else if (errno == EAGAIN)
            names_wait_for(l->fd, true);
        else
            return; // hearing tells why: it said so before it hung up
    }
}

// Asks, and waits for the answer, which takes the question's place.
static void names_ask(line *l, mlt_names_message *m)
{
    names_tell(l, m);
    names_answer(l, m);
}

// Dials a server on another host.
static int dial_far(const mlt_names_file *file)
{
    mlt_far far;
    mlt_dial *dial = NULL;
    mlt_net_peer peer = {.fd = -1};
    char wrong[FAR_BYTES] = "";
    if (!file->place.port)
        mlt_args_failed("the name server runs on host %s, and listens there only", file->host);
    mlt_status status = mlt_far_begin(&far, file->key, 0, wrong, sizeof wrong);
    if (status == MLT_OK)
        status = mlt_far_dial(&far, &file->place, &dial, wrong, sizeof wrong);
    for (; dial && (status = mlt_dial_step(dial, mlt_os_now_ns(), &peer)) == MLT_PENDING;) {
        mlt_poll until = mlt_dial_poll(dial);
        uint64_t now = mlt_os_now_ns();
        struct pollfd look = {.fd = until.fd, .events = until.events};
        (void)poll(&look, 1,
                   until.deadline_ns <= now ? 0 : (int)((until.deadline_ns - now) / 1000000 + 1));
    }
    if (dial && status != MLT_OK)
        mlt_far_tell(dial, wrong, sizeof wrong);
    mlt_dial_free(dial);
    if (status != MLT_OK)
        mlt_args_failed("the name server on host %s cannot be reached: %s", file->host, wrong);
    return peer.fd;
}

// Where no server runs `millet names status` says so on standard output.
static _Noreturn MLT_PRINTF(2, 3) void names_absent(bool asks, const char *format, ...)
{
    MLT_TEXT_PRINT(mlt_args_why, sizeof mlt_args_why, format);
    if (!asks)
        mlt_args_failed("%s", mlt_args_why);
    printf("%s\n", mlt_args_why);
    exit(MLT_EXIT_FOUND);
}

// Opens a line to the server of that folder. asks: whether there is one.
static void call_up(line *l, bool asks)
{
    char path[MLT_NAMES_PATH];
    mlt_names_file file;
    l->held = 0;
    l->fd = -1;
    file_of(path);
    mlt_status status = mlt_names_file_read(path, &file, MLT_ARGS_WHY);
    if (status == MLT_ERR_NOT_FOUND)
        names_absent(
            asks, "no name server runs: there is no file '%s' (millet names start makes it)", path);
    mlt_args_must(status);
    bool far = !mlt_names_file_is_here(&file);
    if (!far) {
        l->fd = mlt_os_line_connect(file.socket);
        far = l->fd < 0 && (errno == ECONNREFUSED || errno == ENOENT) && file.place.port;
    }
    if (far)
        l->fd = dial_far(&file);
    if (l->fd < 0 && (errno == ECONNREFUSED || errno == ENOENT))
        names_absent(asks, "no name server runs: nobody listens at '%s'", file.socket);
    if (l->fd < 0)
        mlt_args_failed("'%s': %s", file.socket, strerror(errno));
    if (!far && !mlt_os_line_own(l->fd, NULL))
        mlt_args_failed("another user's server listens at '%s'", file.socket);
    mlt_names_message m = {.verb = MLT_NAMES_HELLO, .version = MLT_NAMES_VERSION};
    if (!far)
        memcpy(m.key, file.key, sizeof m.key);
    m.numbers[0] = (uint64_t)getpid();
    snprintf(m.text, sizeof m.text, "millet names");
    names_ask(l, &m);
    if (m.verb != MLT_NAMES_WELCOME)
        mlt_args_failed("the process that listens there is no name server");
}

// ---- the commands

static mlt_arg where_args[] = {
    {"dir", 0, MLT_ARG_TEXT, &dir, "DIR",
     .help = "the server's folder ($XDG_RUNTIME_DIR/millet, or else ~/.millet)"},
};
static mlt_arg start_args[] = {
    {"foreground", 0, MLT_ARG_FLAG, &foreground, NULL,
     .help = "stay in the foreground until SIGTERM, SIGINT or `millet names stop`"},
    {"listen", 0, MLT_ARG_TEXT, &listen_at, "WHERE",
     .help = "be there for other hosts too: `all`, or interfaces, subnets and addresses of this "
             "host (eth0,10.0.0.0/8). Their programs need a copy of DIR/names, mode 0600"},
    {"ports", 0, MLT_ARG_TEXT, &ports, "RANGE",
     .help = "with --listen: one of these ports (40000-40100, or 40000)"},
};
// tell_fd: whoever started it waits for a byte there; -1: nobody does.
static int serve_here(const char *folder, int tell_fd)
{
    mlt_names_where where = {.iface = listen_at && strcmp(listen_at, "all") == 0 ? "" : listen_at,
                             .ports = ports ? ports : ""};
    mlt_names_serve *serve = mlt_names_serve_new(folder, &where);
    if (tell_fd >= 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        bool told = write(tell_fd, "", 1) == 1;
        close(tell_fd);
        if (!told)
            return MLT_EXIT_FOUND;
        for (int fd = 0; fd < 3; fd++)
            dup2(null, fd);
        close(null);
    } else {
        printf("the name server runs: process %d, file '%s/names'\n", (int)getpid(), folder);
        fflush(stdout);
    }
    mlt_names_serve_run(serve);
    mlt_names_serve_end(serve);
    return MLT_EXIT_FINE;
}

static int serve_behind(const char *folder)
{
    int ends[2], status;
    char ready;
    if (pipe2(ends, O_CLOEXEC) != 0)
        mlt_args_failed("no pipe can be made: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        mlt_args_failed("no process can be made: %s", strerror(errno));
    if (pid == 0) {
        close(ends[0]);
        setsid();
        signal(SIGHUP, SIG_IGN);
        if (chdir("/") != 0)
            mlt_args_failed("the folder / cannot be entered: %s", strerror(errno));
        exit(serve_here(folder, ends[1]));
    }
    close(ends[1]);
    bool runs = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
    if (runs)
        printf("the name server runs: process %d, file '%s/names'\n", (int)pid, folder);
    else if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || !WEXITSTATUS(status))
        mlt_args_failed("the server ended at once");
    return runs ? MLT_EXIT_FINE : MLT_EXIT_FOUND; // else it has told why
}

static int names_start(const mlt_arg_texts *words)
{
    char folder[MLT_NAMES_PATH];
    if (ports && !listen_at)
        mlt_args_wrong("--ports needs --listen");
    if (dir) { // absolute, since clients are elsewhere
        char here[MLT_NAMES_PATH] = "";
        if (*dir != '/' && !getcwd(here, sizeof here))
            mlt_args_failed("the current folder: %s", strerror(errno));
        int n = snprintf(folder, sizeof folder, "%s%s%s", here, *here ? "/" : "", dir);
        if (n < 0 || n >= (int)sizeof folder)
            mlt_args_failed("the name of the folder is too long");
    } else if (!mlt_names_usual_folder(folder, MLT_ARGS_WHY))
        mlt_args_failed("%s", mlt_args_why);
    return foreground ? serve_here(folder, -1) : serve_behind(folder);
}

static int names_stop(const mlt_arg_texts *words)
{
    line l;
    mlt_names_message m = {.verb = MLT_NAMES_STOP, .id = 1};
    call_up(&l, false);
    names_ask(&l, &m);
    // It hangs up when it lets go of everything; then a new one may start.
    while (names_hear(&l, &m))
        ;
    close(l.fd);
    printf("the name server has stopped\n");
    return MLT_EXIT_FINE;
}

static int names_status(const mlt_arg_texts *words)
{
    line l;
    mlt_names_message m = {.verb = MLT_NAMES_STATUS, .id = 1};
    call_up(&l, true);
    names_ask(&l, &m);
    close(l.fd);
    printf("the name server runs: process %llu, for %.1f s; programs: %llu, names: %llu, waiting: "
           "%llu, strangers dropped: %llu\n",
           (unsigned long long)m.numbers[0], (double)m.numbers[4] / 1000,
           (unsigned long long)m.numbers[1], (unsigned long long)m.numbers[2],
           (unsigned long long)m.numbers[3], (unsigned long long)m.numbers[5]);
    return MLT_EXIT_FINE;
}

static void print_entry(const mlt_names_message *m)
{
    char what[MLT_NAME_TEXT + 32];
    if (m->name.kind == MLT_OBJECT_CHAN)
        snprintf(what, sizeof what, "channel of %u bytes", m->name.size);
    else if (m->name.kind == MLT_OBJECT_PORT)
        snprintf(what, sizeof what, "port");
    else
        snprintf(what, sizeof what, "text \"%s\"", m->name.text);
    for (char *c = what; *c; c++) // texts are the programs': they shall not talk to the terminal
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    printf("%-24s %-20s %s (process %llu, rank %d)\n", m->name.name, what, m->text,
           (unsigned long long)m->numbers[0], (int)m->name.node);
}

static int names_list(const mlt_arg_texts *words)
{
    line l;
    mlt_names_message ask = {.verb = MLT_NAMES_LIST, .id = 1}, m;
    int entries = MLT_NAMES_PAGE;
    for (call_up(&l, false); entries == MLT_NAMES_PAGE;) {
        names_tell(&l, &ask);
        for (entries = 0; names_answer(&l, &m), m.verb == MLT_NAMES_ENTRY; entries++) {
            print_entry(&m);
            ask.name = m.name;
        }
    }
    close(l.fd);
    return MLT_EXIT_FINE;
}

// ---- which

static const mlt_command start_command = {
    .name = "millet names start",
    .help = "start the server",
    .purpose = "Starts this user's name server in the background. Programs register channels "
               "and ports with it by name, and find those of other programs. They find the "
               "server itself by the file that it writes, DIR/names: in the default folder, or "
               "where the variable MILLET_NAMES says.",
    .groups = {{NULL, MLT_ARG_LIST(where_args)}, {NULL, MLT_ARG_LIST(start_args)}},
    .run = names_start};

static const mlt_command stop_command = {
    .name = "millet names stop",
    .help = "stop the server",
    .purpose = "Stops the name server. Programs that have found each other stay connected. The "
               "next server in the same folder gets their names back.",
    .groups = {{NULL, MLT_ARG_LIST(where_args)}},
    .run = names_stop};

static const mlt_command list_command = {
    .name = "millet names list",
    .help = "list all names",
    .purpose = "Lists all names: what each one stands for, and which program it belongs to.",
    .groups = {{NULL, MLT_ARG_LIST(where_args)}},
    .run = names_list};

static const mlt_command status_command = {
    .name = "millet names status",
    .help = "say whether the server runs",
    .purpose = "Says whether the name server runs (exit code 0) or not (1), and how many "
               "programs use it.",
    .groups = {{NULL, MLT_ARG_LIST(where_args)}},
    .run = names_status};

static const mlt_command *const names_commands[] = {&start_command, &stop_command, &list_command,
                                                    &status_command, NULL};

const mlt_command mlt_names_commands = {
    .name = "millet names",
    .help = "run the name server, by which programs find each other",
    .words = "[--dir DIR]",
    .purpose = "Runs the name server, by which programs that were started separately find each "
               "other.",
    .codes = "0: all is well; 1: no server runs, or it does not answer; 2: wrong usage",
    .more = "Start the server, see who is there, stop it:\n\n"
            "  millet names start\n"
            "  millet names list\n"
            "  millet names stop",
    .all = names_commands,
};
