// SPDX-License-Identifier: BSD-3-Clause
#include "net/greet.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/log.h"
#include "base/text.h"
#include "net/greet_int.h"
#include "os/fd.h"

// What the greeting does next. The number of a message in `said` is its place in the exchange.
enum {
    SENDS_HELLO,
    READS_ANSWER,
    SENDS_CONFIRM,
    READS_HELLO,
    SENDS_ANSWER,
    READS_CONFIRM,
    SENDS_REFUSAL,
    DONE,
    FAILED,
};

enum { ENCRYPTS = 1 };

static const uint8_t magic[MLT_GREET_AT_VERSION] = {'M', 'i', 'l', 'l', 'e', 't', 0, 1};
static const char label[] = "Millet greeting";

// ---- Bytes

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

mlt_greet_types mlt_greet_types_here(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return (mlt_greet_types){.order = first ? 1 : 2,
                             .size_short = sizeof(short),
                             .size_int = sizeof(int),
                             .size_long = sizeof(long),
                             .size_long_long = sizeof(long long),
                             .size_pointer = sizeof(void *),
                             .size_bool = sizeof(bool),
                             .size_wchar = sizeof(wchar_t),
                             .size_float = sizeof(float),
                             .size_double = sizeof(double),
                             .double_digits = DBL_MANT_DIG,
                             .size_long_double = sizeof(long double),
                             .long_double_digits = LDBL_MANT_DIG,
                             .char_signed = CHAR_MIN != 0,
                             .wchar_signed = WCHAR_MIN != 0};
}

uint32_t mlt_greet_version(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    int n = sscanf(MLT_VERSION, "%u.%u.%u", &major, &minor, &patch);
    mlt_assert(n == 3 && major <= UINT16_MAX && minor <= UINT8_MAX && patch <= UINT8_MAX);
    return major << 16 | minor << 8 | patch;
}

const char *mlt_greet_version_text(char text[MLT_GREET_VERSION_TEXT], uint32_t version)
{
    snprintf(text, MLT_GREET_VERSION_TEXT, "%u.%u.%u", version >> 16, version >> 8 & 255,
             version & 255);
    return text;
}

mlt_greet_self mlt_greet_self_of(const mlt_key *key, uint64_t job, uint32_t process, bool encrypts)
{
    return (mlt_greet_self){.key = key,
                            .job = job,
                            .process = process,
                            .version = mlt_greet_version(),
                            .types = mlt_greet_types_here(),
                            .encrypts = encrypts};
}

void mlt_greet_hash(uint8_t out[MLT_CRYPT_HASH], const mlt_key *key, const void *said, int n)
{
    size_t before = (size_t)n * MLT_GREET_BYTES;
    mlt_crypt_piece pieces[] = {{label, sizeof label}, {said, before + MLT_GREET_AT_HASH}};
    mlt_crypt_hash(out, key, pieces, 2);
}

// ---- Failing

static MLT_PRINTF(3, 4) mlt_status
    greet_fail(mlt_greet *g, mlt_greet_fault fault, const char *format, ...)
{
    MLT_TEXT_PRINT(g->why, sizeof g->why, format);
    g->fault = fault;
    g->state = FAILED;
    mlt_greet_fini(g);
    return fault == MLT_GREET_SYSTEM ? MLT_ERR_SYSTEM : MLT_ERR_CLOSED;
}

// The other side's version, if it is another one, as the end of a sentence.
static const char *other_version(const mlt_greet *g, const uint8_t *message, char out[100])
{
    uint32_t version = (uint32_t)get(message + MLT_GREET_AT_VERSION, 4);
    char theirs[MLT_GREET_VERSION_TEXT], own[MLT_GREET_VERSION_TEXT];
    out[0] = 0;
    if (version != g->self->version)
        snprintf(out, 100, "; it says that it is Millet %s, and this is %s",
                 mlt_greet_version_text(theirs, version),
                 mlt_greet_version_text(own, g->self->version));
    return out;
}

// The other side, process `from`, and this one do not agree on processes.
static mlt_status tell_process(mlt_greet *g, uint32_t from, uint32_t to)
{
    if (g->dials && from == g->peer)
        return greet_fail(g, MLT_GREET_PROCESS, "it belongs to the job, but has no process %u",
                          from);
    if (g->dials)
        return greet_fail(g, MLT_GREET_PROCESS, "process %u of the job answered, not process %u",
                          from, g->peer);
    if (g->self->welcomes)
        return greet_fail(g, MLT_GREET_PROCESS,
                          "process %u of the job wanted process %u, which is not here", from, to);
    return greet_fail(g, MLT_GREET_PROCESS,
                      "process %u of the job wanted process %u, and this is process %u", from, to,
                      g->self->process);
}

// Says, in terms of this side, why the two cannot talk. `theirs` is a message with a right hash.
static mlt_status tell(mlt_greet *g, mlt_greet_fault fault, const uint8_t *theirs)
{
    char version[MLT_GREET_VERSION_TEXT], own[MLT_GREET_VERSION_TEXT];
    uint32_t from = (uint32_t)get(theirs + MLT_GREET_AT_FROM, 4);
    switch (fault) {
    case MLT_GREET_VERSION:
        return greet_fail(
            g, fault, "it is Millet %s, and this is %s: all hosts need the same version",
            mlt_greet_version_text(version, (uint32_t)get(theirs + MLT_GREET_AT_VERSION, 4)),
            mlt_greet_version_text(own, g->self->version));
    case MLT_GREET_JOB:
        return greet_fail(g, fault, "it belongs to job %" PRIu64 ", and this is job %" PRIu64,
                          get(theirs + MLT_GREET_AT_JOB, 8), g->self->job);
    case MLT_GREET_PROCESS:
        return tell_process(g, from, (uint32_t)get(theirs + MLT_GREET_AT_TO, 4));
    case MLT_GREET_TYPES_DIFFER:
        return greet_fail(g, fault,
                          "its byte order or the sizes of its types differ from this host's");
    case MLT_GREET_ENCRYPT:
        return greet_fail(g, fault, "%s",
                          g->self->encrypts ? "it does not encrypt, and this side does"
                                            : "it encrypts, and this side does not");
    default:
        return greet_fail(g, MLT_GREET_KEY,
                          "it refused the greeting for a reason that is not known");
    }
}

// ---- Messages

// A message of this side, with its hash.
static void compose(mlt_greet *g, int n, int kind, mlt_greet_fault reason)
{
    uint8_t *to = g->said[n];
    memset(to, 0, MLT_GREET_BYTES);
    memcpy(to, magic, sizeof magic);
    put(to + MLT_GREET_AT_VERSION, g->self->version, 4);
    put(to + MLT_GREET_AT_KIND, (uint64_t)kind, 1);
    put(to + MLT_GREET_AT_FLAGS, g->self->encrypts ? ENCRYPTS : 0, 1);
    put(to + MLT_GREET_AT_REASON, reason, 2);
    put(to + MLT_GREET_AT_JOB, g->self->job, 8);
    put(to + MLT_GREET_AT_FROM, g->own, 4);
    put(to + MLT_GREET_AT_TO, g->peer, 4);
    memcpy(to + MLT_GREET_AT_TYPES, &g->self->types, MLT_GREET_TYPES);
    if (kind == MLT_GREET_HELLO || kind == MLT_GREET_IS_ANSWER)
        memcpy(to + MLT_GREET_AT_NONCE, g->pair.open, sizeof g->pair.open);
    mlt_greet_hash(to + MLT_GREET_AT_HASH, g->self->key, g->said, n);
}

static bool make_nonce(mlt_greet *g)
{
    if (!g->self->encrypts)
        return mlt_os_random(g->pair.open, sizeof g->pair.open) == MLT_OK;
    mlt_crypt_pair_new(&g->pair);
    return true;
}

static bool processes_fit(const mlt_greet *g, uint32_t from, uint32_t to)
{
    if (from == to)
        return false;
    if (g->dials)
        return from == g->peer && to == g->own;
    return g->self->welcomes ? g->self->welcomes(g->self, from, to) : to == g->own;
}

// What is wrong with a HELLO or ANSWER that has the right hash.
static mlt_greet_fault judge(const mlt_greet *g, const uint8_t *theirs)
{
    const mlt_greet_self *self = g->self;
    uint32_t from = (uint32_t)get(theirs + MLT_GREET_AT_FROM, 4);
    uint32_t to = (uint32_t)get(theirs + MLT_GREET_AT_TO, 4);
    bool encrypts = theirs[MLT_GREET_AT_FLAGS] & ENCRYPTS;
    if (get(theirs + MLT_GREET_AT_VERSION, 4) != self->version)
        return MLT_GREET_VERSION;
    if (get(theirs + MLT_GREET_AT_JOB, 8) != self->job)
        return MLT_GREET_JOB;
    if (!processes_fit(g, from, to))
        return MLT_GREET_PROCESS;
    // In what comes behind these in mlt_greet_types both sides may differ.
    if (memcmp(theirs + MLT_GREET_AT_TYPES, &self->types,
               offsetof(mlt_greet_types, size_long_double)) != 0)
        return MLT_GREET_TYPES_DIFFER;
    return encrypts != self->encrypts ? MLT_GREET_ENCRYPT : MLT_GREET_FINE;
}

static bool hash_is_right(const mlt_greet *g, int n)
{
    uint8_t right[MLT_CRYPT_HASH];
    mlt_greet_hash(right, g->self->key, g->said, n);
    return mlt_crypt_same(right, g->said[n] + MLT_GREET_AT_HASH, sizeof right);
}

// ---- States

static void enter(mlt_greet *g, int state)
{
    bool reads = state == READS_ANSWER || state == READS_HELLO || state == READS_CONFIRM;
    g->state = (uint8_t)state;
    g->moved = 0;
    g->poll.events = reads ? POLLIN : POLLOUT;
}

static void learn(mlt_greet *g, const uint8_t *theirs)
{
    g->peer = (uint32_t)get(theirs + MLT_GREET_AT_FROM, 4);
    memcpy(&g->peer_types, theirs + MLT_GREET_AT_TYPES, MLT_GREET_TYPES);
}

static bool exchange(mlt_greet *g, const uint8_t *theirs)
{
    if (!g->self->encrypts)
        return true;
    mlt_status status =
        mlt_crypt_exchange(&g->keys, &g->pair, theirs + MLT_GREET_AT_NONCE, g->dials);
    explicit_bzero(g->pair.secret, sizeof g->pair.secret);
    return status == MLT_OK;
}

static mlt_status no_random(mlt_greet *g)
{
    return greet_fail(g, MLT_GREET_SYSTEM, "the system has no random bytes (%s)", strerror(errno));
}

static mlt_status greet_refuse(mlt_greet *g, mlt_greet_fault fault)
{
    compose(g, 1, MLT_GREET_REFUSAL, fault);
    g->fault = fault;
    enter(g, SENDS_REFUSAL);
    return MLT_OK;
}

static mlt_status got_hello(mlt_greet *g)
{
    const uint8_t *theirs = g->said[0];
    char version[100];
    if (!hash_is_right(g, 0))
        return greet_fail(g, MLT_GREET_KEY, "it does not know the key of this job%s",
                          other_version(g, theirs, version));
    // Another version may have other kinds; whether it is one is judged first.
    mlt_greet_fault fault = judge(g, theirs);
    if (fault != MLT_GREET_VERSION && theirs[MLT_GREET_AT_KIND] != MLT_GREET_HELLO)
        return greet_fail(g, MLT_GREET_GARBAGE, "it knows the job's key, but does not say hello");
    g->proven = true;
    learn(g, theirs);
    if (g->self->welcomes)
        g->own = (uint32_t)get(theirs + MLT_GREET_AT_TO, 4);
    if (fault != MLT_GREET_FINE)
        return greet_refuse(g, fault);
    if (!make_nonce(g))
        return no_random(g);
    if (!exchange(g, theirs))
        return greet_fail(g, MLT_GREET_KEY,
                          "its part of the exchange of keys is no point of the curve");
    compose(g, 1, MLT_GREET_IS_ANSWER, 0);
    enter(g, SENDS_ANSWER);
    return MLT_OK;
}

static mlt_status got_answer(mlt_greet *g)
{
    const uint8_t *theirs = g->said[1];
    char version[100];
    int kind = theirs[MLT_GREET_AT_KIND];
    if (!hash_is_right(g, 1))
        return greet_fail(g, MLT_GREET_KEY, "what answered does not know the key of this job%s",
                          other_version(g, theirs, version));
    g->proven = true;
    mlt_greet_fault fault = judge(g, theirs);
    if (fault == MLT_GREET_VERSION)
        return tell(g, fault, theirs);
    if (kind == MLT_GREET_REFUSAL)
        return tell(g, (mlt_greet_fault)get(theirs + MLT_GREET_AT_REASON, 2), theirs);
    if (kind != MLT_GREET_IS_ANSWER)
        return greet_fail(g, MLT_GREET_GARBAGE, "it knows the job's key, but does not answer");
    if (fault != MLT_GREET_FINE)
        return tell(g, fault, theirs);
    if (!exchange(g, theirs))
        return greet_fail(g, MLT_GREET_KEY,
                          "its part of the exchange of keys is no point of the curve");
    learn(g, theirs);
    compose(g, 2, MLT_GREET_CONFIRM, 0);
    enter(g, SENDS_CONFIRM);
    return MLT_OK;
}

static mlt_status got_confirm(mlt_greet *g)
{
    if (!hash_is_right(g, 2) || g->said[2][MLT_GREET_AT_KIND] != MLT_GREET_CONFIRM)
        return greet_fail(g, MLT_GREET_REPLAY, "its greeting was a repetition of an older one");
    enter(g, DONE);
    return MLT_OK;
}

// What the message that has come or gone leads to.
static mlt_status greet_go_on(mlt_greet *g)
{
    switch (g->state) {
    case SENDS_HELLO:
        enter(g, READS_ANSWER);
        return MLT_OK;
    case SENDS_ANSWER:
        enter(g, READS_CONFIRM);
        return MLT_OK;
    case SENDS_CONFIRM:
        enter(g, DONE);
        return MLT_OK;
    case SENDS_REFUSAL:
        return tell(g, g->fault, g->said[0]);
    case READS_HELLO:
        return got_hello(g);
    case READS_ANSWER:
        return got_answer(g);
    default:
        return got_confirm(g);
    }
}

static int message_of(int state)
{
    static const uint8_t number[] = {[READS_ANSWER] = 1,  [SENDS_CONFIRM] = 2, [SENDS_ANSWER] = 1,
                                     [READS_CONFIRM] = 2, [SENDS_REFUSAL] = 1, [DONE] = 0};
    return number[state];
}

static mlt_status closed(mlt_greet *g)
{
    if (g->state == READS_ANSWER && g->moved == 0)
        return greet_fail(g, MLT_GREET_CUT,
                          "it closed the connection without an answer: "
                          "it is no Millet, or belongs to another job");
    return greet_fail(g, MLT_GREET_CUT, "it closed the connection in the middle of the greeting");
}

// The bytes so far may be the beginning of a greeting: a stranger's are known by the first one.
static mlt_status look(mlt_greet *g, const uint8_t *message)
{
    size_t n = g->moved < sizeof magic ? g->moved : sizeof magic;
    if (memcmp(message, magic, n) == 0)
        return MLT_OK;
    return greet_fail(g, MLT_GREET_GARBAGE, "what it sent is no greeting of Millet");
}

// Moves bytes of the message. MLT_OK: all of it.
static mlt_status greet_move(mlt_greet *g)
{
    uint8_t *message = g->said[message_of(g->state)];
    bool reads = g->poll.events == POLLIN;
    while (g->moved < MLT_GREET_BYTES) {
        size_t left = MLT_GREET_BYTES - g->moved;
        ssize_t n = reads ? mlt_os_try_read(g->poll.fd, message + g->moved, left)
                          : mlt_os_try_write(g->poll.fd, message + g->moved, left);
        if (n < 0 && errno == EAGAIN)
            return MLT_PENDING;
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 || (n < 0 && (errno == ECONNRESET || errno == EPIPE)))
            return closed(g);
        if (n < 0)
            return greet_fail(g, MLT_GREET_SYSTEM, "%s", strerror(errno));
        g->moved = (uint8_t)(g->moved + n);
        if (reads && look(g, message) != MLT_OK)
            return MLT_ERR_CLOSED;
    }
    return MLT_OK;
}

mlt_status mlt_greet_step(mlt_greet *g, uint64_t now_ns)
{
    mlt_status status = MLT_OK;
    while (status == MLT_OK && g->state < DONE) {
        status = greet_move(g);
        if (status == MLT_OK)
            status = greet_go_on(g);
    }
    if (g->state == FAILED && status == MLT_OK) // failed in an earlier step, or at the beginning
        return g->fault == MLT_GREET_SYSTEM ? MLT_ERR_SYSTEM : MLT_ERR_CLOSED;
    if (status == MLT_PENDING && now_ns >= g->poll.deadline_ns)
        return greet_fail(g, MLT_GREET_SLOW, "the time was up %s",
                          g->proven ? "in the middle of the greeting" : "before a greeting came");
    return status;
}

static void greet_begin(mlt_greet *g, const mlt_greet_self *self, int fd, uint64_t deadline_ns)
{
    *g = (mlt_greet){
        .self = self, .own = self->process, .poll = {.fd = fd, .deadline_ns = deadline_ns}};
}

void mlt_greet_dial(mlt_greet *g, const mlt_greet_self *self, int fd, uint32_t wanted,
                    uint64_t deadline_ns)
{
    greet_begin(g, self, fd, deadline_ns);
    g->dials = true;
    g->peer = wanted;
    enter(g, SENDS_HELLO);
    if (make_nonce(g))
        compose(g, 0, MLT_GREET_HELLO, 0);
    else
        (void)no_random(g);
}

void mlt_greet_answer(mlt_greet *g, const mlt_greet_self *self, int fd, uint64_t deadline_ns)
{
    greet_begin(g, self, fd, deadline_ns);
    enter(g, READS_HELLO);
}

void mlt_greet_fini(mlt_greet *g)
{
    explicit_bzero(&g->pair, sizeof g->pair);
    explicit_bzero(&g->keys, sizeof g->keys);
}
