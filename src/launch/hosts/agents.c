// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/agents.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "launch/program/program.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "os/fd.h"
#include "os/os.h"

extern char **environ;

enum {
    AGENTS_LINE_BYTES = 1024, // of a remote shell; longer lines are cut
    FIRST_LINES = 8,          // of what it prints before the agent begins: these
    LAST_LINES = 8,           // ... and these are kept
    SHOWN_LINES = 100,        // of a remote shell
    PIPE_READS = 64,          // of 4 KiB: more than a pipe holds; others may have it, and print on
    BEGIN_TICKS = 60,         // until an agent has begun
    LINGER_TICKS = 2,         // between the end of a channel and that of its shell
    EXIT_NOT_FOUND = 127,     // of a shell
};

typedef struct agents_lines { // of a stream, one after the other
    char text[AGENTS_LINE_BYTES];
    size_t length;
} agents_lines;

typedef struct member {
    mlt_agents *agents;
    mlt_channel channel;
    mlt_loop_source errors; // the shell's standard error; fd -1: it has ended
    uint32_t first, last;
    pid_t pid; // of the remote shell; 0: it has ended
    int status;
    bool over;        // its end has been told
    uint32_t silent;  // ticks
    uint32_t lingers; // ticks since the channel has ended
    char why[256];    // of the channel's end
    agents_lines error, preface;
    char *kept[FIRST_LINES + LAST_LINES]; // lines until the agent begins
    uint32_t kept_count;
    uint64_t left_out; // lines between the first and the last ones
    uint32_t shown;    // lines
} member;

struct mlt_agents {
    mlt_agents_conf conf;
    member *members;
    uint32_t count;
    mlt_loop_timer timer;
    bool ending;
};

// ---- The order of hosts

uint32_t mlt_agents_hosts(const mlt_placement *plan, uint32_t head_host)
{
    return plan->host_count - (head_host < plan->host_count);
}

static uint32_t host_at(uint32_t place, uint32_t head_host)
{
    return place < head_host ? place : place + 1;
}

uint32_t mlt_agents_place_of(uint32_t host, uint32_t head_host)
{
    return host < head_host ? host : host - 1;
}

uint32_t mlt_agents_patience(int64_t silent_ms)
{
    // A tick may have begun when the last word came: one less, so that it is not later than said.
    int64_t ticks = silent_ms / MLT_AGENTS_BEAT_MS - 1;
    return ticks < 3 ? 3 : (uint32_t)ticks;
}

static uint32_t agents_host_of(const member *m)
{
    return host_at(m->first, m->agents->conf.head_host);
}

bool mlt_agents_has(const mlt_agents *c, uint32_t host)
{
    if (host >= c->conf.plan->host_count || host == c->conf.head_host)
        return false;
    uint32_t place = mlt_agents_place_of(host, c->conf.head_host);
    return place >= c->conf.first && place < c->conf.last;
}

// ---- Ends

static void agents_tell(member *m, mlt_frame_type type, uint32_t host, int64_t value,
                        const char *text)
{
    char *body = mlt_text_of("%s", text);
    mlt_frame frame = mlt_frame_up(type, agents_host_of(m), host, value, strlen(body));
    m->agents->conf.take(m->agents->conf.user, &frame, body);
    free(body);
}

static void agents_show(member *m, const char *text)
{
    static const char own[] = "mpirun: "; // said by a guard, or before the channel was there
    if (m->shown++ == SHOWN_LINES)
        text = "... (what the remote shell prints from here on is left out)";
    if (m->shown > SHOWN_LINES + 1)
        return;
    text += strncmp(text, own, sizeof own - 1) == 0 ? sizeof own - 1 : 0;
    agents_tell(m, MLT_FRAME_SAY, agents_host_of(m), 0, text);
}

// What was said before the agent began; all but the last line, if that is part of a message.
static void show_kept(member *m, bool but_last)
{
    char gap[64];
    snprintf(gap, sizeof gap, "... (%" PRIu64 " more lines)", m->left_out);
    for (uint32_t i = 0; i < m->kept_count; i++) {
        if (i == FIRST_LINES && m->left_out && !m->agents->ending)
            agents_show(m, gap);
        if ((i + 1 < m->kept_count || !but_last) && !m->agents->ending)
            agents_show(m, m->kept[i]);
        free(m->kept[i]);
    }
    m->kept_count = 0;
}

static const char *shell_name(const mlt_agents *c)
{
    static char name[64];
    const char *rsh = c->conf.options->rsh + strspn(c->conf.options->rsh, " \t");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(rsh, " \t"), rsh);
    return *name ? name : "ssh";
}

// Why there is no agent, in one sentence.
static void tell_failed(member *m)
{
    const mlt_agents *c = m->agents;
    const char *last = m->kept_count ? m->kept[m->kept_count - 1] : "";
    mlt_text why = {0};
    int code = m->pid == 0 && WIFEXITED(m->status) ? WEXITSTATUS(m->status) : -1;
    if (strcmp(m->why, "ended") != 0)
        mlt_text_add(&why, "%s", m->why);
    else if (code == EXIT_NOT_FOUND || code == 126)
        mlt_text_add(&why, "it has no agent '%s' that can be started; --launch-agent names another",
                     c->conf.options->agent);
    else if (code >= 0)
        mlt_text_add(&why, "its agent cannot be started: %s ended with exit status %d",
                     shell_name(c), code);
    else if (m->pid == 0)
        mlt_text_add(&why, "its agent cannot be started: %s was killed by signal %d", shell_name(c),
                     WTERMSIG(m->status));
    else
        mlt_text_add(&why, "its agent cannot be started: %s has closed its output", shell_name(c));
    if (*last)
        mlt_text_add(&why, ": %s", last);
    char *text = mlt_text_of("%s", mlt_text_so_far(&why));
    show_kept(m, true);
    agents_tell(m, MLT_FRAME_FAILED, agents_host_of(m), MLT_EXIT_SYSTEM, text);
    free(text);
    mlt_text_free(&why);
}

static void tell_lost(member *m)
{
    const uint32_t head_host = m->agents->conf.head_host;
    char why[320];
    snprintf(why, sizeof why, "%s",
             strcmp(m->why, "ended") == 0 ? "is lost: its agent, or the connection to it, has ended"
                                          : m->why);
    for (uint32_t place = m->first; place < m->last; place++)
        agents_tell(m, MLT_FRAME_LOST, host_at(place, head_host), 0, place == m->first ? why : "");
}

// The channel has ended, and the shell too, or it had its time.
static void conclude(member *m)
{
    if (m->over)
        return;
    m->over = true;
    bool began = m->channel.greeted;
    mlt_channel_close(&m->channel);
    if (m->pid > 0)
        (void)kill(m->pid, SIGKILL);
    if (m->agents->ending)
        return;
    if (!began)
        tell_failed(m);
    tell_lost(m);
}

static void agents_channel_ended(mlt_channel *channel, const char *why)
{
    member *m = mlt_container_of(channel, member, channel);
    snprintf(m->why, sizeof m->why, "%s", why);
    if (m->pid == 0 || strcmp(why, "ended") != 0)
        conclude(m);
}

// ---- What shells print

static void agents_keep_line(member *m, const char *text)
{
    if (!*text)
        return;
    if (m->channel.greeted) {
        agents_show(m, text);
        return;
    }
    if (m->kept_count == FIRST_LINES + LAST_LINES) { // the last one is often the reason
        free(m->kept[FIRST_LINES]);
        memmove(m->kept + FIRST_LINES, m->kept + FIRST_LINES + 1,
                (LAST_LINES - 1) * sizeof *m->kept);
        m->kept_count--;
        m->left_out++;
    }
    m->kept[m->kept_count++] = mlt_text_of("%s", text);
}

static void add_text(member *m, agents_lines *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (c != '\n' && c != '\r' && to->length < sizeof to->text - 1)
            to->text[to->length++] = iscntrl((unsigned char)c) && c != '\t' ? '?' : c;
        if (c != '\n')
            continue;
        to->text[to->length] = '\0';
        to->length = 0;
        agents_keep_line(m, to->text);
    }
}

static void end_text(member *m, agents_lines *of)
{
    if (of->length > 0)
        add_text(m, of, "\n", 1);
}

static void close_errors(member *m)
{
    mlt_loop_close(&m->errors);
    end_text(m, &m->error);
}

static void read_errors(member *m, int most)
{
    char text[4096];
    for (int i = 0; i < most; i++) {
        ssize_t n = read(m->errors.fd, text, sizeof text);
        if (n < 0)
            return;
        if (n == 0) {
            close_errors(m);
            return;
        }
        add_text(m, &m->error, text, (size_t)n);
    }
}

static void agents_errors_ready(mlt_loop_source *source, uint32_t events)
{
    read_errors(mlt_container_of(source, member, errors), 4);
}

static void preface_came(mlt_channel *channel, const char *text, size_t bytes)
{
    member *m = mlt_container_of(channel, member, channel);
    add_text(m, &m->preface, text, bytes);
}

// ---- Frames

static void agents_frame_came(mlt_channel *channel, const mlt_frame *frame, char *body)
{
    member *m = mlt_container_of(channel, member, channel);
    mlt_agents *c = m->agents;
    mlt_frame named = *frame;
    if (frame->from == MLT_FRAME_HEAD) { // it has not heard yet which host it is
        named.from = named.about = agents_host_of(m);
        frame = &named;
    }
    uint32_t place = frame->from < c->conf.plan->host_count && frame->from != c->conf.head_host
                         ? mlt_agents_place_of(frame->from, c->conf.head_host)
                         : UINT32_MAX;
    if (m->kept_count)
        show_kept(m, false);
    end_text(m, &m->preface);
    if (frame->type == MLT_FRAME_BEAT || place < m->first || place >= m->last)
        return;
    c->conf.take(c->conf.user, frame, body);
}

static void send_to(member *m, const mlt_frame *frame, const void *body)
{
    if (!m->over)
        mlt_channel_send(&m->channel, frame, body);
}

void mlt_agents_send(mlt_agents *c, const mlt_frame *frame, const void *body)
{
    bool all = frame->to == MLT_FRAME_ALL;
    if (!all && !mlt_agents_has(c, frame->to))
        return;
    uint32_t place = all ? 0 : mlt_agents_place_of(frame->to, c->conf.head_host);
    for (uint32_t i = 0; i < c->count; i++)
        if (all || (place >= c->members[i].first && place < c->members[i].last))
            send_to(&c->members[i], frame, body);
}

void mlt_agents_flush(mlt_agents *c, int limit_ms)
{
    uint64_t now, until = mlt_os_now_ns() + (uint64_t)limit_ms * 1000000;
    for (uint32_t i = 0; i < c->count && (now = mlt_os_now_ns()) < until; i++)
        mlt_channel_flush(&c->members[i].channel, (int)((until - now) / 1000000) + 1);
}

static void send_first(member *m)
{
    const mlt_agents_conf *conf = &m->agents->conf;
    uint32_t host = agents_host_of(m);
    mlt_frame frame = mlt_frame_down(MLT_FRAME_PLACE, host, host, m->last, 0);
    send_to(m, &frame, NULL);
    frame = mlt_frame_down(MLT_FRAME_KEY, host, 0, 0, sizeof conf->key->bytes);
    if (!conf->waits) // agents that come by themselves have it, and the network may hear this
        send_to(m, &frame, conf->key->bytes);
    frame = mlt_frame_down(MLT_FRAME_TASK, host, 0, 0, conf->task_size);
    send_to(m, &frame, conf->task);
}

// ---- Starting a shell

// A word as the other side's shell takes it.
static char *quote(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./+,:@%";
    if (*text && text[strspn(text, plain)] == '\0')
        return mlt_text_of("%s", text);
    mlt_text quoted = {0};
    mlt_text_add(&quoted, "'");
    for (; *text; text++)
        mlt_text_add(&quoted, *text == '\'' ? "'\\''" : "%c", *text);
    mlt_text_add(&quoted, "'");
    return quoted.text;
}

// ssh asks nobody, gives up in time, and takes no port that the user forwards. It may use a master
// connection of the user's, but must not become one: others would end with the job.
static void add_ssh_words(mlt_texts *words)
{
    const char *name = strrchr(words->items[0], '/');
    name = name ? name + 1 : words->items[0];
    if (strcmp(name, "ssh") != 0)
        return;
    static char *const more[] = {"-x",
                                 "-T",
                                 "-oBatchMode=yes",
                                 "-oConnectTimeout=10",
                                 "-oClearAllForwardings=yes",
                                 "-oControlMaster=no"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        mlt_texts_add(words, mlt_text_of("%s", more[i]));
}

// rsh [options] [-l user] host agent --agent, or of --rsh local a shell that becomes the agent; the caller frees the
// words.
static mlt_texts shell_words(const member *m)
{
    const mlt_options *o = m->agents->conf.options;
    if (strcmp(o->rsh, "local") == 0) {
        mlt_texts here = {NULL, 0};
        char *agent = quote(o->agent);
        mlt_texts_add(&here, mlt_text_of("sh"));
        mlt_texts_add(&here, mlt_text_of("-c"));
        mlt_texts_add(&here, mlt_text_of("exec %s --agent", agent));
        free(agent);
        return here;
    }
    const mlt_hosts_entry *host = &m->agents->conf.plan->hosts[agents_host_of(m)].host;
    mlt_texts words = {NULL, 0};
    char *copy = mlt_text_of("%s", o->rsh), *rest = copy, *word;
    while ((word = strsep(&rest, " \t")))
        if (*word)
            mlt_texts_add(&words, mlt_text_of("%s", word));
    free(copy);
    if (words.count == 0)
        mlt_texts_add(&words, mlt_text_of("ssh"));
    add_ssh_words(&words);
    if (host->user) {
        mlt_texts_add(&words, mlt_text_of("-l"));
        mlt_texts_add(&words, mlt_text_of("%s", host->user));
    }
    mlt_texts_add(&words, mlt_text_of("%s", host->name));
    mlt_texts_add(&words, quote(o->agent));
    mlt_texts_add(&words, mlt_text_of("--agent"));
    return words;
}

// The ends are the shell's; `own` are this side's of its standard streams.
static bool open_pipes(int ends[3], int own[3])
{
    for (int i = 0; i < 3; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) != 0) {
            while (i-- > 0) {
                close(ends[i]);
                close(own[i]);
            }
            return false;
        }
        ends[i] = pair[i != 0];
        own[i] = pair[i == 0];
    }
    return true;
}

static pid_t spawn_shell(const member *m, const int ends[3], char *why, size_t why_size)
{
    int code;
    mlt_texts words = shell_words(m);
    if (!mlt_program_is_there(words.items[0], NULL, NULL))
        mlt_quit(MLT_EXIT_NOT_FOUND,
                 "there is no remote shell '%s', which starts agents on other hosts; --rsh names "
                 "another",
                 words.items[0]);
    const char *path = mlt_program_find(words.items[0], NULL, NULL);
    mlt_spawn spawn = {.path = path,
                       .argv = words.items,
                       .env = environ,
                       .job_fd = -1,
                       .ctl_fd = -1,
                       .session = true};
    for (int i = 0; i < 3; i++)
        spawn.streams[i] = (mlt_spawn_stream){.fd = ends[i]};
    pid_t pid = mlt_spawn_start(&spawn, &code, why, why_size);
    mlt_texts_free(&words);
    return pid;
}

// False: a message in why.
static bool agents_start(member *m, char *why, size_t why_size)
{
    int ends[3], own[3];
    if (!open_pipes(ends, own))
        return mlt_deny(why, why_size, "no more descriptors: %s", mlt_os_no_descriptor(errno));
    m->pid = spawn_shell(m, ends, why, why_size);
    for (int i = 0; i < 3; i++)
        close(ends[i]);
    m->errors = (mlt_loop_source){.fd = own[2], .ready = agents_errors_ready};
    (void)fcntl(own[2], F_SETFL, O_NONBLOCK);
    if (m->pid < 0 || !mlt_loop_add(&m->errors, EPOLLIN) ||
        !mlt_channel_open(&m->channel, own[1], own[0])) {
        m->pid = 0;
        return false;
    }
    return true;
}

// ---- Time

static void tick(member *m)
{
    const mlt_options *o = m->agents->conf.options;
    if (m->over)
        return;
    if (m->channel.dead) {
        if (++m->lingers >= LINGER_TICKS)
            conclude(m);
        return;
    }
    m->silent = m->channel.heard ? 0 : m->silent + 1;
    m->channel.heard = false;
    uint32_t most = m->channel.greeted ? mlt_agents_patience(o->silent_ms) : BEGIN_TICKS;
    if (m->silent < most || m->agents->ending)
        return;
    if (m->channel.greeted)
        snprintf(m->why, sizeof m->why, "has not answered for %g s", (double)o->silent_ms / 1000);
    else
        snprintf(m->why, sizeof m->why, "no agent has begun there within %d s",
                 BEGIN_TICKS * MLT_AGENTS_BEAT_MS / 1000);
    conclude(m);
}

static void agents_ring(mlt_loop_timer *timer)
{
    mlt_agents *c = mlt_container_of(timer, mlt_agents, timer);
    static const mlt_frame beat = {.type = MLT_FRAME_BEAT};
    for (uint32_t i = 0; i < c->count; i++) {
        tick(&c->members[i]);
        send_to(&c->members[i], &beat, NULL);
    }
}

void mlt_agents_woke(mlt_agents *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        c->members[i].silent = 0;
}

// ---- The whole

static void agents_begin(member *m)
{
    char why[512] = "";
    m->channel = (mlt_channel){.in = {.fd = -1},
                               .out = {.fd = -1},
                               .take = agents_frame_came,
                               .preface = preface_came,
                               .ended = agents_channel_ended};
    m->errors.fd = -1;
    if (m->agents->conf.waits)
        return;
    if (agents_start(m, why, sizeof why)) {
        send_first(m);
        return;
    }
    m->over = true;
    mlt_channel_close(&m->channel);
    agents_tell(m, MLT_FRAME_FAILED, agents_host_of(m), MLT_EXIT_SYSTEM, why);
    tell_lost(m);
}

bool mlt_agents_came(mlt_agents *c, uint32_t host, mlt_net_peer *peer)
{
    uint32_t place = mlt_agents_place_of(host, c->conf.head_host);
    member *m = mlt_agents_has(c, host) ? &c->members[place - c->conf.first] : NULL;
    int out = m && !m->over && m->channel.in.fd < 0 ? fcntl(peer->fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (out < 0) {
        close(peer->fd);
        return false;
    }
    m->silent = 0;
    mlt_channel_seal(&m->channel, &peer->keys);
    if (!mlt_channel_open(&m->channel, peer->fd, out)) {
        snprintf(m->why, sizeof m->why, "no more descriptors: %s", mlt_os_no_descriptor(errno));
        conclude(m);
        return false;
    }
    send_first(m);
    return true;
}

mlt_agents *mlt_agents_new(const mlt_agents_conf *conf)
{
    mlt_agents *c = mlt_xcalloc(1, sizeof *c);
    uint32_t hosts = conf->last - conf->first;
    uint32_t most = conf->waits ? hosts : (uint32_t)conf->options->fan_out;
    c->conf = *conf;
    c->count = hosts < most ? hosts : most;
    c->members = mlt_xcalloc(c->count, sizeof *c->members);
    c->timer.ring = agents_ring;
    mlt_loop_alarm_every(&c->timer, MLT_AGENTS_BEAT_MS * UINT64_C(1000000));
    uint32_t first = conf->first;
    for (uint32_t i = 0; i < c->count; i++) { // each is responsible for as many hosts as the others
        uint32_t last = conf->first + (uint32_t)((uint64_t)hosts * (i + 1) / c->count);
        c->members[i] = (member){.agents = c, .first = first, .last = last};
        first = last;
    }
    for (uint32_t i = 0; i < c->count; i++)
        agents_begin(&c->members[i]);
    return c;
}

bool mlt_agents_reaped(mlt_agents *c, pid_t pid, int status)
{
    for (uint32_t i = 0; i < c->count; i++) {
        member *m = &c->members[i];
        if (m->pid != pid)
            continue;
        m->pid = 0;
        m->status = status;
        if (m->errors.fd >= 0)
            read_errors(m, PIPE_READS);
        end_text(m, &m->error);
        if (m->channel.dead)
            conclude(m);
        return true;
    }
    return false;
}

void mlt_agents_end(mlt_agents *c)
{
    c->ending = true;
    for (uint32_t i = 0; i < c->count; i++)
        if (!c->members[i].channel.greeted) // it has not begun, and shall not
            conclude(&c->members[i]);
}

bool mlt_agents_busy(const mlt_agents *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->members[i].pid > 0 || !c->members[i].channel.dead)
            return true;
    return false;
}

void mlt_agents_close(mlt_agents *c)
{
    c->ending = true;
    for (uint32_t i = 0; i < c->count; i++)
        mlt_channel_close(&c->members[i].channel);
}

void mlt_agents_kill(mlt_agents *c)
{
    mlt_agents_close(c);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->members[i].pid > 0)
            (void)kill(c->members[i].pid, SIGKILL);
}

void mlt_agents_free(mlt_agents *c)
{
    if (!c)
        return;
    mlt_agents_kill(c);
    for (uint32_t i = 0; i < c->count; i++) {
        close_errors(&c->members[i]);
        show_kept(&c->members[i], false);
    }
    mlt_loop_alarm(&c->timer, 0);
    free(c->members);
    free(c);
}
