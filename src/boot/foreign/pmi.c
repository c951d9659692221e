// SPDX-License-Identifier: BSD-3-Clause
// PMI-1: lines "cmd=NAME key=value ...", an answer to each. Answers are sets of keys: launchers
// differ in their order and in what else they say.
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "boot/foreign/launcher.h"
#include "boot/foreign/pmi.h"
#include "os/fd.h"

enum { LINE = 4096, LEAST_VALUE = 512 };

bool mlt_pmi_find(const char *line, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    while (*line) {
        line += strspn(line, " \t");
        size_t word = strcspn(line, " \t");
        if (word > length && strncmp(line, key, length) == 0 && line[length] == '=') {
            size_t n = word - length - 1;
            if (n >= size)
                return false;
            memcpy(value, line + length + 1, n);
            value[n] = '\0';
            return true;
        }
        line += word;
    }
    return false;
}

static mlt_status lost(const mlt_launcher *l, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_CLOSED, why, why_size,
                    "%s has closed its PMI connection to process %u%s%s", l->name, l->number,
                    errno ? ": " : "", errno ? strerror(errno) : "");
}

static mlt_status pmi_say(mlt_launcher *l, const char *line, char *why, size_t why_size)
{
    size_t length = strlen(line), done = 0;
    while (done < length) {
        ssize_t n = write(l->fd, line + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lost(l, why, why_size);
        done += (size_t)n;
    }
    return MLT_OK;
}

// The next line, without its end, into out[LINE].
static mlt_status hear(mlt_launcher *l, char *out, char *why, size_t why_size)
{
    for (;;) {
        char *end = memchr(l->got, '\n', l->got_end);
        if (end) {
            size_t n = (size_t)(end - l->got);
            memcpy(out, l->got, n);
            out[n] = '\0';
            l->got_end -= n + 1;
            memmove(l->got, end + 1, l->got_end);
            return MLT_OK;
        }
        if (l->got_end == LINE - 1)
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "%s sends a line of PMI of more than %d bytes", l->name, LINE);
        errno = 0;
        ssize_t n = read(l->fd, l->got + l->got_end, LINE - 1 - l->got_end);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return lost(l, why, why_size);
        l->got_end += (size_t)n;
    }
}

// Says a line and hears its answer, `wanted`.
static mlt_status ask(mlt_launcher *l, const char *line, const char *wanted, char answer[LINE],
                      char *why, size_t why_size)
{
    char command[64] = "", rc[32];
    mlt_status status = pmi_say(l, line, why, why_size);
    if (!status)
        status = hear(l, answer, why, why_size);
    if (status)
        return status;
    if (!mlt_pmi_find(answer, "cmd", command, sizeof command) || strcmp(command, wanted) != 0 ||
        (mlt_pmi_find(answer, "rc", rc, sizeof rc) && strtol(rc, NULL, 10) != 0))
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s answers PMI's '%.*s' with '%.200s'",
                        l->name, (int)strcspn(line, "\n"), line, answer);
    return MLT_OK;
}

static mlt_status check_fd(mlt_launcher *l, char *why, size_t why_size)
{
    long fd = mlt_launcher_env_number("PMI_FD"), number = mlt_launcher_env_number("PMI_RANK"),
         size = mlt_launcher_env_number("PMI_SIZE");
    if (fd < 0 || fcntl((int)fd, F_GETFD) < 0)
        return mlt_fail(
            MLT_ERR_INVALID, why, why_size,
            "this program was started by %s through a wrapper that closed the descriptor of "
            "PMI_FD; let it keep it (Python: subprocess.run(..., close_fds=False))",
            l->name);
    if (number < 0 || size < 1 || number >= size || size > INT32_MAX)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s has set PMI_FD, but PMI_RANK and PMI_SIZE are no numbers", l->name);
    l->fd = (int)fd;
    l->number = (uint32_t)number;
    l->size = (uint32_t)size;
    (void)fcntl(l->fd, F_SETFD, FD_CLOEXEC); // programs that the rank starts are none of the job's
    return MLT_OK;
}

// ---- PMI_PORT=host:port, and PMI_ID

static int dial(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int fd = -1;
    if (getaddrinfo(host, port, &hints, &list) != 0)
        return -1;
    for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

// "cmd=set size=4", and the like, until one says debug.
static mlt_status hear_place(mlt_launcher *l, char *why, size_t why_size)
{
    char line[LINE], value[32];
    long number = -1, size = -1;
    for (;;) {
        mlt_status status = hear(l, line, why, why_size);
        if (status)
            return status;
        if (mlt_pmi_find(line, "size", value, sizeof value))
            size = strtol(value, NULL, 10);
        if (mlt_pmi_find(line, "rank", value, sizeof value))
            number = strtol(value, NULL, 10);
        if (mlt_pmi_find(line, "debug", value, sizeof value))
            break;
    }
    if (number < 0 || size < 1 || number >= size || size > INT32_MAX)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s names no rank and size at PMI_PORT",
                        l->name);
    l->number = (uint32_t)number;
    l->size = (uint32_t)size;
    return MLT_OK;
}

static mlt_status open_port(mlt_launcher *l, char *why, size_t why_size)
{
    char line[LINE], host[256];
    const char *where = getenv("PMI_PORT"), *colon = strrchr(where, ':');
    long id = mlt_launcher_env_number("PMI_ID");
    if (!colon || (size_t)(colon - where) >= sizeof host || id < 0)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "PMI_PORT is '%s' instead of HOST:PORT, or PMI_ID is no number", where);
    snprintf(host, sizeof host, "%.*s", (int)(colon - where), where);
    l->fd = dial(host, colon + 1);
    if (l->fd < 0)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "%s cannot be reached at PMI_PORT=%s: %s",
                        l->name, where, strerror(errno));
    char answer[LINE];
    snprintf(line, sizeof line, "cmd=initack pmiid=%ld\n", id);
    mlt_status status = ask(l, line, "initack", answer, why, why_size);
    return status ? status : hear_place(l, why, why_size);
}

// ---- The protocol

static mlt_status open_pmi(mlt_launcher *l, char *why, size_t why_size)
{
    char answer[LINE], value[32];
    l->got = mlt_xcalloc(LINE, 1);
    mlt_status status = getenv("PMI_FD") ? check_fd(l, why, why_size) : open_port(l, why, why_size);
    if (!status)
        status = ask(l, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", answer,
                     why, why_size);
    if (!status)
        status = ask(l, "cmd=get_maxes\n", "maxes", answer, why, why_size);
    if (status)
        return status;
    l->most =
        mlt_pmi_find(answer, "vallen_max", value, sizeof value) ? strtoul(value, NULL, 10) : 0;
    if (l->most > MLT_LAUNCHER_VALUE)
        l->most = MLT_LAUNCHER_VALUE;
    if (l->most < LEAST_VALUE)
        return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size,
                        "%s offers %zu bytes for a value of PMI; Millet needs %d", l->name, l->most,
                        LEAST_VALUE);
    status = ask(l, "cmd=get_my_kvsname\n", "my_kvsname", answer, why, why_size);
    if (!status && !mlt_pmi_find(answer, "kvsname", l->job, sizeof l->job))
        status = mlt_fail(MLT_ERR_INVALID, why, why_size, "%s names no space of keys: '%.200s'",
                          l->name, answer);
    if (!status)
        status = ask(l, "cmd=get_appnum\n", "appnum", answer, why, why_size);
    if (!status && mlt_pmi_find(answer, "appnum", value, sizeof value) && value[0] != '-')
        l->app = (uint32_t)strtoul(value, NULL, 10);
    return status;
}

static mlt_status pmi_put(mlt_launcher *l, const char *card, char *why, size_t why_size)
{
    char line[LINE], answer[LINE];
    if (strlen(card) >= l->most)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "a card of %zu bytes is too long for %s, which takes %zu", strlen(card),
                        l->name, l->most - 1);
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=millet-%u value=%s\n", l->job, l->number,
             card);
    return ask(l, line, "put_result", answer, why, why_size);
}

static mlt_status pmi_fence(mlt_launcher *l, char *why, size_t why_size)
{
    char answer[LINE];
    return ask(l, "cmd=barrier_in\n", "barrier_out", answer, why, why_size);
}

static mlt_status pmi_get(mlt_launcher *l, uint32_t of, char card[MLT_LAUNCHER_VALUE], char *why,
                          size_t why_size)
{
    char line[LINE], answer[LINE];
    snprintf(line, sizeof line, "cmd=get kvsname=%s key=millet-%u\n", l->job, of);
    mlt_status status = ask(l, line, "get_result", answer, why, why_size);
    if (!status && !mlt_pmi_find(answer, "value", card, MLT_LAUNCHER_VALUE))
        status = mlt_fail(MLT_ERR_INVALID, why, why_size, "%s has no card of process %u: '%.200s'",
                          l->name, of, answer);
    return status;
}

static void pmi_end_all(mlt_launcher *l, int status)
{
    char line[64], ignored[256];
    snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", status);
    (void)!pmi_say(l, line, ignored, sizeof ignored);
}

static void close_pmi(mlt_launcher *l)
{
    char answer[LINE], ignored[512];
    if (l->fd >= 0)
        (void)!ask(l, "cmd=finalize\n", "finalize_ack", answer, ignored, sizeof ignored);
    mlt_os_close_once(&l->fd);
    free(l->got);
    l->got = NULL;
}

const mlt_protocol mlt_protocol_pmi = {
    .name = "PMI-1",
    .open = open_pmi,
    .put = pmi_put,
    .fence = pmi_fence,
    .get = pmi_get,
    .abort = pmi_end_all,
    .close = close_pmi,
};
