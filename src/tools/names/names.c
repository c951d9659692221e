// SPDX-License-Identifier: BSD-3-Clause
#include "tools/names/names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csp/names/file.h"
#include "csp/names/text.h"
#include "csp/net/far.h"
#include "csp/net/remote.h"
#include "os/line.h"
#include "os/os.h"
#include "tools/args.h"
#include "tools/names/serve.h"

enum { NAMES_WHY_BYTES = 1024, PATIENCE_MS = 10000 }; // for an answer of the server

// ---- where it is

// The file that a question goes by: --dir, then MILLET_NAMES, then the usual place.
static bool file_of(const char *dir, char path[MLT_NAMES_PATH], char *why, size_t why_size)
{
    const char *told = getenv("MILLET_NAMES");
    char folder[MLT_NAMES_PATH];
    int n;
    if (!dir && told && *told && strcmp(told, "job") != 0)
        n = snprintf(path, MLT_NAMES_PATH, "%s", told);
    else {
        if (!dir && !mlt_names_usual_folder(folder, why, why_size))
            return false;
        n = snprintf(path, MLT_NAMES_PATH, "%s/names", dir ? dir : folder);
    }
    if (n > 0 && n < MLT_NAMES_PATH)
        return true;
    snprintf(why, why_size, "the name of the folder is too long");
    return false;
}

// ---- asking

typedef struct line {
    int fd;
    size_t held;
    unsigned char in[MLT_NAMES_FRAME];
} line;

static bool names_wait_for(int fd, bool writes, char *why, size_t why_size)
{
    if (mlt_os_line_wait(fd, writes, PATIENCE_MS))
        return true;
    snprintf(why, why_size, "the name server does not answer");
    return false;
}

static bool names_hear(line *l, mlt_names_message *m, char *why, size_t why_size)
{
    for (;;) {
        int bytes = mlt_names_decode(l->in, l->held, m);
        if (bytes > 0) {
            l->held -= (size_t)bytes;
            memmove(l->in, l->in + bytes, l->held);
            if (m->verb != MLT_NAMES_REFUSED)
                return true;
            snprintf(why, why_size, "%s", m->text);
            return false;
        }
        if (bytes < 0) {
            snprintf(why, why_size, "the process that listens there is no name server");
            return false;
        }
        if (!names_wait_for(l->fd, false, why, why_size))
            return false;
        ssize_t n = mlt_os_line_read(l->fd, l->in + l->held, sizeof l->in - l->held);
        if (n < 0 && errno == EAGAIN)
            continue;
        if (n <= 0) {
            snprintf(why, why_size, "the name server has hung up");
            return false;
        }
        l->held += (size_t)n;
    }
}

static bool names_tell(line *l, const mlt_names_message *m, char *why, size_t why_size)
{
    unsigned char frame[MLT_NAMES_FRAME];
    size_t bytes = mlt_names_encode(m, frame);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = mlt_os_line_write(l->fd, frame + at, bytes - at);
        if (n >= 0)
            at += (size_t)n;
        else if (errno == EAGAIN) {
            if (!names_wait_for(l->fd, true, why, why_size))
                return false;
        } else
            return true; // hearing tells why: it said so before it hung up
    }
    return true;
}

// Dials a server on another host. -1: a message in why.
static int dial_far(const mlt_names_file *file, char *why, size_t why_size)
{
    mlt_far far;
    mlt_dial *dial = NULL;
    mlt_net_peer peer = {.fd = -1};
    char wrong[NAMES_WHY_BYTES - 200] = "";
    if (!file->place.port) {
        snprintf(why, why_size, "the name server runs on host %s, and listens there only",
                 file->host);
        return -1;
    }
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
    if (status == MLT_OK)
        return peer.fd;
    snprintf(why, why_size, "the name server on host %s cannot be reached: %s", file->host, wrong);
    return -1;
}

// Opens a line to the server of that folder. On failure a message; *absent: there is none.
static bool call_up(const char *dir, line *l, bool *absent, char *why, size_t why_size)
{
    char path[MLT_NAMES_PATH];
    mlt_names_file file;
    l->held = 0;
    l->fd = -1;
    *absent = false;
    if (!file_of(dir, path, why, why_size))
        return false;
    mlt_status status = mlt_names_file_read(path, &file, why, why_size);
    if (status == MLT_ERR_NOT_FOUND) {
        *absent = true;
        snprintf(why, why_size,
                 "no name server runs: there is no file '%s' (millet names start makes it)", path);
    }
    if (status != MLT_OK)
        return false;
    bool far = !mlt_names_file_is_here(&file);
    if (!far) {
        l->fd = mlt_os_line_connect(file.socket);
        far = l->fd < 0 && (errno == ECONNREFUSED || errno == ENOENT) && file.place.port;
    }
    if (far) {
        l->fd = dial_far(&file, why, why_size);
        if (l->fd < 0)
            return false;
    }
    if (l->fd < 0) {
        *absent = errno == ECONNREFUSED || errno == ENOENT;
        if (*absent)
            snprintf(why, why_size, "no name server runs: nobody listens at '%s'", file.socket);
        else
            snprintf(why, why_size, "'%s': %s", file.socket, strerror(errno));
        return false;
    }
    if (!far && !mlt_os_line_own(l->fd, NULL)) {
        snprintf(why, why_size, "another user's server listens at '%s'", file.socket);
        close(l->fd);
        return false;
    }
    mlt_names_message m = {.verb = MLT_NAMES_HELLO, .version = MLT_NAMES_VERSION};
    if (!far)
        memcpy(m.key, file.key, sizeof m.key);
    m.numbers[0] = (uint64_t)getpid();
    snprintf(m.text, sizeof m.text, "millet names");
    if (names_tell(l, &m, why, why_size) && names_hear(l, &m, why, why_size) &&
        m.verb == MLT_NAMES_WELCOME)
        return true;
    close(l->fd);
    l->fd = -1;
    return false;
}

// ---- the commands

static const char *dir, *listen_at, *ports;
static bool foreground;

static const mlt_arg where_args[] = {
    {"dir", 0, MLT_ARG_TEXT, &dir, "DIR",
     .help = "the server's folder ($XDG_RUNTIME_DIR/millet, or else ~/.millet)"},
};
static const mlt_arg start_args[] = {
    {"foreground", 0, MLT_ARG_FLAG, &foreground, NULL,
     .help = "stay in the foreground until SIGTERM, SIGINT or `millet names stop`"},
    {"listen", 0, MLT_ARG_TEXT, &listen_at, "WHERE",
     .help = "be there for other hosts too: `all`, or interfaces, subnets and addresses of this "
             "host (eth0,10.0.0.0/8). Their programs need a copy of DIR/names, mode 0600"},
    {"ports", 0, MLT_ARG_TEXT, &ports, "RANGE",
     .help = "with --listen: one of these ports (40000-40100, or 40000)"},
};
static const mlt_arg_group where_groups[] = {{NULL, where_args, 1}};
static const mlt_arg_group start_groups[] = {{NULL, where_args, 1}, {NULL, start_args, 3}};

static int serve_here(const mlt_arg_command *command, const char *folder, int tell_fd)
{
    char why[NAMES_WHY_BYTES] = "";
    mlt_names_serve *serve;
    mlt_names_where where = {.iface = listen_at && strcmp(listen_at, "all") == 0 ? "" : listen_at,
                             .ports = ports ? ports : ""};
    mlt_status status = mlt_names_serve_new(folder, &where, &serve, why, sizeof why);
    if (status != MLT_OK && tell_fd < 0)
        return mlt_args_failed(command, "%s", why);
    if (tell_fd >= 0) { // whoever started it waits for this
        size_t bytes = strlen(why) + 1;
        bool told = write(tell_fd, why, bytes) == (ssize_t)bytes;
        close(tell_fd);
        if (status != MLT_OK || !told)
            return MLT_EXIT_FOUND;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; fd < 3; fd++)
            dup2(null, fd);
        close(null);
    } else {
        printf("the name server runs: process %d, file '%s/names'\n", (int)getpid(), folder);
        fflush(stdout);
    }
    mlt_names_serve_run(serve);
    mlt_names_serve_free(serve);
    return MLT_EXIT_FINE;
}

static int serve_behind(const mlt_arg_command *command, const char *folder)
{
    int ends[2];
    char why[NAMES_WHY_BYTES] = "the server ended at once";
    if (pipe2(ends, O_CLOEXEC) != 0)
        return mlt_args_failed(command, "no pipe can be made: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return mlt_args_failed(command, "no process can be made: %s", strerror(errno));
    if (pid == 0) {
        close(ends[0]);
        setsid();
        signal(SIGHUP, SIG_IGN);
        if (chdir("/") != 0)
            _exit(MLT_EXIT_FOUND);
        _exit(serve_here(command, folder, ends[1]));
    }
    close(ends[1]);
    size_t held = 0;
    for (ssize_t n; held < sizeof why - 1; held += (size_t)n) {
        n = read(ends[0], why + held, sizeof why - 1 - held);
        if (n <= 0)
            break;
    }
    close(ends[0]);
    if (held > 0)
        why[held] = '\0';
    if (*why)
        return mlt_args_failed(command, "%s", why);
    printf("the name server runs: process %d, file '%s/names'\n", (int)pid, folder);
    return MLT_EXIT_FINE;
}

static int run_start(const mlt_arg_command *command)
{
    char folder[MLT_NAMES_PATH], why[NAMES_WHY_BYTES];
    if (ports && !listen_at)
        return mlt_args_wrong(command, "--ports needs --listen");
    if (dir) { // absolute, since clients are elsewhere
        char here[MLT_NAMES_PATH] = "";
        if (*dir != '/' && !getcwd(here, sizeof here))
            return mlt_args_failed(command, "the current folder: %s", strerror(errno));
        int n = snprintf(folder, sizeof folder, "%s%s%s", here, *here ? "/" : "", dir);
        if (n < 0 || n >= (int)sizeof folder)
            return mlt_args_failed(command, "the name of the folder is too long");
    } else if (!mlt_names_usual_folder(folder, why, sizeof why))
        return mlt_args_failed(command, "%s", why);
    return foreground ? serve_here(command, folder, -1) : serve_behind(command, folder);
}

static int run_stop(const mlt_arg_command *command)
{
    char why[NAMES_WHY_BYTES];
    line l;
    bool absent;
    mlt_names_message m = {.verb = MLT_NAMES_STOP, .id = 1};
    if (!call_up(dir, &l, &absent, why, sizeof why))
        return mlt_args_failed(command, "%s", why);
    bool good = names_tell(&l, &m, why, sizeof why) && names_hear(&l, &m, why, sizeof why);
    // It hangs up when it lets go of everything; then a new one may start.
    while (good && names_hear(&l, &m, why, sizeof why))
        ;
    close(l.fd);
    if (!good)
        return mlt_args_failed(command, "%s", why);
    printf("the name server has stopped\n");
    return MLT_EXIT_FINE;
}

static int run_status(const mlt_arg_command *command)
{
    char why[NAMES_WHY_BYTES];
    line l;
    bool absent;
    mlt_names_message m = {.verb = MLT_NAMES_STATUS, .id = 1};
    if (!call_up(dir, &l, &absent, why, sizeof why)) {
        if (absent)
            printf("%s\n", why);
        return absent ? MLT_EXIT_FOUND : mlt_args_failed(command, "%s", why);
    }
    bool good = names_tell(&l, &m, why, sizeof why) && names_hear(&l, &m, why, sizeof why);
    close(l.fd);
    if (!good)
        return mlt_args_failed(command, "%s", why);
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

static int run_list(const mlt_arg_command *command)
{
    char why[NAMES_WHY_BYTES];
    line l;
    bool absent, good = true, more = true;
    mlt_names_message ask = {.verb = MLT_NAMES_LIST, .id = 1}, m;
    if (!call_up(dir, &l, &absent, why, sizeof why))
        return mlt_args_failed(command, "%s", why);
    while (good && more) {
        int entries = 0;
        good = names_tell(&l, &ask, why, sizeof why);
        while (good && (good = names_hear(&l, &m, why, sizeof why)) && m.verb == MLT_NAMES_ENTRY) {
            print_entry(&m);
            ask.name = m.name;
            entries++;
        }
        more = entries == MLT_NAMES_PAGE;
    }
    close(l.fd);
    return good ? MLT_EXIT_FINE : mlt_args_failed(command, "%s", why);
}

// ---- which

static int read_and_run(const mlt_arg_command *command, int (*run)(const mlt_arg_command *command),
                        int argc, char **argv)
{
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(command, argc, argv, &words, NULL);
    mlt_arg_texts_free(&words);
    return code == MLT_ARGS_GO ? run(command) : code;
}

static int start_main(int argc, char **argv)
{
    static const mlt_arg_command command = {
        .name = "millet names start",
        .words = "",
        .purpose = "Starts this user's name server in the background. Programs register channels "
                   "and ports with it by name, and find those of other programs. They find the "
                   "server itself by the file that it writes, DIR/names: in the default folder, or "
                   "where the variable MILLET_NAMES says.",
        .groups = start_groups,
        .count = 2};
    return read_and_run(&command, run_start, argc, argv);
}

static int stop_main(int argc, char **argv)
{
    static const mlt_arg_command command = {
        .name = "millet names stop",
        .words = "",
        .purpose = "Stops the name server. Programs that have found each other stay connected. The "
                   "next server in the same folder gets their names back.",
        .groups = where_groups,
        .count = 1};
    return read_and_run(&command, run_stop, argc, argv);
}

static int list_main(int argc, char **argv)
{
    static const mlt_arg_command command = {
        .name = "millet names list",
        .words = "",
        .purpose = "Lists all names: what each one stands for, and which program it belongs to.",
        .groups = where_groups,
        .count = 1};
    return read_and_run(&command, run_list, argc, argv);
}

static int status_main(int argc, char **argv)
{
    static const mlt_arg_command command = {
        .name = "millet names status",
        .words = "",
        .purpose = "Says whether the name server runs (exit code 0) or not (1), and how many "
                   "programs use it.",
        .groups = where_groups,
        .count = 1};
    return read_and_run(&command, run_status, argc, argv);
}

static const mlt_command names_commands[] = {
    {"start", start_main, .help = "start the server"},
    {"stop", stop_main, .help = "stop the server"},
    {"list", list_main, .help = "list all names"},
    {"status", status_main, .help = "say whether the server runs"},
};

const mlt_commands mlt_names_commands = {
    .name = "millet names",
    .usage = "[--dir DIR]",
    .purpose = "Runs the name server, by which programs that were started separately find each "
               "other.",
    .codes = "0: all is well; 1: no server runs, or it does not answer; 2: wrong usage",
    .more = "Start the server, see who is there, stop it:\n\n"
            "  millet names start\n"
            "  millet names list\n"
            "  millet names stop",
    .all = names_commands,
    .count = sizeof names_commands / sizeof *names_commands,
};
