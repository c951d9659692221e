// SPDX-License-Identifier: BSD-3-Clause
// Greetings through a relay of the test's own, which delivers bytes one by one, changes them, cuts
// the connection at each of them, and repeats and reflects what it has heard.
#include "net/greet.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "net/greet_int.h"
#include "net/refuse_test.h"

enum { DIALLER = 3, ANSWERER = 7, NEVER = -1, ALL = 3 * MLT_GREET_BYTES, LIMIT = 1000 };

static mlt_key key, other_key;

static mlt_greet_self self_of(uint32_t process)
{
    return (mlt_greet_self){.key = &key,
                            .job = 0x123456789abcdef0,
                            .process = process,
                            .version = mlt_greet_version(),
                            .types = mlt_greet_types_here()};
}

// What the relay does, counted in bytes of the exchange: HELLO, ANSWER, CONFIRM.
typedef struct relay {
    int cut_at;    // NEVER, or: both connections are closed after so many bytes
    int change_at; // NEVER, or: this byte arrives changed
    int piece;     // bytes at a time
} relay;

typedef struct outcome {
    mlt_greet dialler, answerer;
    mlt_status of_dialler, of_answerer;
    uint8_t said[ALL];
    int bytes;
} outcome;

static void make_pair(int ends[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
}

// One piece from one side to the other; false: nothing more comes for now.
static bool pass(outcome *out, const relay *how, int from, int to)
{
    uint8_t bytes[MLT_GREET_BYTES];
    size_t most = (size_t)how->piece;
    if (how->cut_at != NEVER && out->bytes + how->piece > how->cut_at)
        most = (size_t)(how->cut_at - out->bytes);
    ssize_t n = most ? recv(from, bytes, most, MSG_DONTWAIT) : 0;
    if (n <= 0)
        return false;
    CHECK(out->bytes + n <= ALL);
    memcpy(out->said + out->bytes, bytes, (size_t)n);
    if (how->change_at >= out->bytes && how->change_at < out->bytes + n)
        bytes[how->change_at - out->bytes] ^= 0x10;
    out->bytes += (int)n;
    (void)!send(to, bytes, (size_t)n, MSG_NOSIGNAL);
    return true;
}

static mlt_status step(mlt_greet *greet, mlt_status before)
{
    return before == MLT_PENDING ? mlt_greet_step(greet, 1) : before;
}

static void greet(outcome *out, const mlt_greet_self *dialler, const mlt_greet_self *answerer,
                  uint32_t wanted, relay how)
{
    int left[2], right[2]; // the relay has the ends 1
    make_pair(left);
    make_pair(right);
    *out = (outcome){.of_dialler = MLT_PENDING, .of_answerer = MLT_PENDING};
    mlt_greet_dial(&out->dialler, dialler, left[0], wanted, LIMIT);
    mlt_greet_answer(&out->answerer, answerer, right[0], LIMIT);
    bool open = true;
    for (bool moves = true; moves || open;) {
        out->of_dialler = step(&out->dialler, out->of_dialler);
        out->of_answerer = step(&out->answerer, out->of_answerer);
        moves = open && (pass(out, &how, left[1], right[1]) || pass(out, &how, right[1], left[1]));
        if (!moves && open) { // each reads what it was sent, and then the end
            close(left[1]);
            close(right[1]);
            open = false;
            moves = true;
        }
    }
    CHECK(out->of_dialler != MLT_PENDING && out->of_answerer != MLT_PENDING);
    close(left[0]);
    close(right[0]);
}

static const relay plain = {NEVER, NEVER, MLT_GREET_BYTES};

static void check_fault(const mlt_greet *greet, mlt_status status, mlt_greet_fault fault,
                        const char *why)
{
    static const mlt_crypt_keys no_keys;
    CHECK(status == (fault == MLT_GREET_SYSTEM ? MLT_ERR_SYSTEM : MLT_ERR_CLOSED));
    check_same_text("why", greet->why, why);
    CHECK(greet->fault == fault && memcmp(&greet->keys, &no_keys, sizeof no_keys) == 0);
}

static void test_good(bool encrypts, int piece)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome out;
    a.encrypts = b.encrypts = encrypts;
    // Hosts may differ in long double and in whether a char has a sign.
    b.types.size_long_double = 8;
    b.types.char_signed ^= 1;
    greet(&out, &a, &b, ANSWERER, (relay){NEVER, NEVER, piece});
    CHECK(out.of_dialler == MLT_OK && out.of_answerer == MLT_OK && out.bytes == ALL);
    CHECK(out.dialler.peer == ANSWERER && out.answerer.peer == DIALLER);
    CHECK(out.dialler.proven && out.answerer.proven &&
          out.dialler.peer_types.size_long_double == 8);
    mlt_crypt_keys *x = &out.dialler.keys, *y = &out.answerer.keys;
    CHECK(memcmp(&x->send, &y->receive, sizeof x->send) == 0);
    CHECK(memcmp(&x->receive, &y->send, sizeof x->send) == 0);
    CHECK((memcmp(&x->receive, &x->send, sizeof x->send) != 0) == encrypts);
    mlt_greet_fini(&out.dialler);
    CHECK(memcmp(&x->send, &(mlt_key){{0}}, sizeof x->send) == 0);
}

// Cut or changed at each byte: a side that ended well has had all that it needs.
static void test_each_byte(bool encrypts)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome out;
    a.encrypts = b.encrypts = encrypts;
    for (int at = 0; at < ALL; at++) {
        snprintf(now_testing, sizeof now_testing, "byte %d", at);
        greet(&out, &a, &b, ANSWERER, (relay){at, NEVER, 50});
        CHECK((out.of_dialler == MLT_OK) == (at >= 2 * MLT_GREET_BYTES));
        CHECK(out.of_answerer == MLT_ERR_CLOSED && out.answerer.fault == MLT_GREET_CUT);
        CHECK(out.of_dialler == MLT_OK || out.dialler.fault == MLT_GREET_CUT);
        greet(&out, &a, &b, ANSWERER, (relay){NEVER, at, 50});
        CHECK((out.of_dialler == MLT_OK) == (at >= 2 * MLT_GREET_BYTES));
        CHECK(out.of_answerer != MLT_OK && out.answerer.why[0]);
        mlt_greet_fault fault = at < MLT_GREET_BYTES       ? out.answerer.fault
                                : at < 2 * MLT_GREET_BYTES ? out.dialler.fault
                                                           : out.answerer.fault;
        CHECK(fault == (at % MLT_GREET_BYTES < 8   ? MLT_GREET_GARBAGE
                        : at < 2 * MLT_GREET_BYTES ? MLT_GREET_KEY
                                                   : MLT_GREET_REPLAY));
    }
    now_testing[0] = 0;
}

#define CLOSED_MUTE                                                                                \
    "it closed the connection without an answer: it is no Millet, or belongs to another job"

static void test_wrong_key(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome out;
    b.key = &other_key;
    greet(&out, &a, &b, ANSWERER, plain);
    CHECK(out.bytes == MLT_GREET_BYTES && !out.answerer.proven); // no word to a stranger
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_KEY,
                "it does not know the key of this job");
    check_fault(&out.dialler, out.of_dialler, MLT_GREET_CUT, CLOSED_MUTE);
    b.version = 0x10203;
    greet(&out, &a, &b, ANSWERER, plain);
    CHECK(strstr(out.answerer.why, "the key of this job; it says that it is Millet " MLT_VERSION
                                   ", and this is 1.2.3"));
}

// An answerer for several processes: the odd ones are here.
static bool odd_are_here(const mlt_greet_self *self, uint32_t from, uint32_t to)
{
    CHECK(self->process == 0);
    return to % 2 == 1 && from < 100;
}

static void test_several(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(0);
    outcome out;
    b.welcomes = odd_are_here;
    greet(&out, &a, &b, 9, plain);
    CHECK(out.of_dialler == MLT_OK && out.of_answerer == MLT_OK);
    CHECK(out.dialler.own == DIALLER && out.dialler.peer == 9);
    CHECK(out.answerer.own == 9 && out.answerer.peer == DIALLER);
    greet(&out, &a, &b, 8, plain);
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_PROCESS,
                "process 3 of the job wanted process 8, which is not here");
    check_fault(&out.dialler, out.of_dialler, MLT_GREET_PROCESS,
                "it belongs to the job, but has no process 8");
    greet(&out, &a, &b, DIALLER, plain); // from 3 to 3
    CHECK(out.answerer.fault == MLT_GREET_PROCESS && out.dialler.fault == MLT_GREET_PROCESS);
    a.process = 100;
    greet(&out, &a, &b, 9, plain);
    CHECK(out.answerer.fault == MLT_GREET_PROCESS);
}

static void test_disagreements(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome out;
    b.version = 0x10203;
    greet(&out, &a, &b, ANSWERER, plain);
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_VERSION,
                "it is Millet " MLT_VERSION ", and this is 1.2.3: all hosts need the same version");
    check_fault(&out.dialler, out.of_dialler, MLT_GREET_VERSION,
                "it is Millet 1.2.3, and this is " MLT_VERSION ": all hosts need the same version");
    b = self_of(ANSWERER);
    b.job = 5;
    a.job = 4;
    greet(&out, &a, &b, ANSWERER, plain);
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_JOB,
                "it belongs to job 4, and this is job 5");
    check_fault(&out.dialler, out.of_dialler, MLT_GREET_JOB,
                "it belongs to job 5, and this is job 4");
    a.job = 5;
    greet(&out, &a, &b, ANSWERER + 1, plain);
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_PROCESS,
                "process 3 of the job wanted process 8, and this is process 7");
    check_fault(&out.dialler, out.of_dialler, MLT_GREET_PROCESS,
                "process 7 of the job answered, not process 8");
    greet(&out, &a, &a, DIALLER, plain); // itself
    CHECK(out.answerer.fault == MLT_GREET_PROCESS && out.dialler.fault == MLT_GREET_PROCESS);
    b.types.order = 3 - b.types.order;
    greet(&out, &a, &b, ANSWERER, plain);
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_TYPES_DIFFER,
                "its byte order or the sizes of its types differ from this host's");
    CHECK(out.dialler.fault == MLT_GREET_TYPES_DIFFER);
    b.types = a.types;
    b.types.size_long = 4;
    greet(&out, &a, &b, ANSWERER, plain);
    CHECK(out.dialler.fault == MLT_GREET_TYPES_DIFFER);
    b.types = a.types;
    b.encrypts = true;
    greet(&out, &a, &b, ANSWERER, plain);
    check_fault(&out.answerer, out.of_answerer, MLT_GREET_ENCRYPT,
                "it does not encrypt, and this side does");
    check_fault(&out.dialler, out.of_dialler, MLT_GREET_ENCRYPT,
                "it encrypts, and this side does not");
}

// One side against bytes that the test has made; `then` come after its first message.
static void play(mlt_greet *greet, const mlt_greet_self *self, bool dials, const uint8_t *first,
                 size_t bytes, const uint8_t *then, mlt_status wanted)
{
    int ends[2];
    uint8_t said[MLT_GREET_BYTES];
    make_pair(ends);
    if (dials)
        mlt_greet_dial(greet, self, ends[0], ANSWERER, LIMIT);
    else
        mlt_greet_answer(greet, self, ends[0], LIMIT);
    CHECK(write(ends[1], first, bytes) == (ssize_t)bytes);
    mlt_status status = mlt_greet_step(greet, 1);
    if (then) {
        CHECK(status == MLT_PENDING && read(ends[1], said, sizeof said) == sizeof said);
        CHECK(write(ends[1], then, MLT_GREET_BYTES) == MLT_GREET_BYTES);
        status = mlt_greet_step(greet, 1);
    }
    CHECK(status == wanted);
    if (status < 0)
        CHECK(mlt_greet_step(greet, 1) == status); // stays so
    close(ends[0]);
    close(ends[1]);
}

static void test_replay(bool encrypts)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome heard;
    mlt_greet g;
    a.encrypts = b.encrypts = encrypts;
    greet(&heard, &a, &b, ANSWERER, plain);
    const uint8_t *hello = heard.said, *answer = hello + MLT_GREET_BYTES,
                  *confirm = answer + MLT_GREET_BYTES;
    play(&g, &b, false, hello, MLT_GREET_BYTES, confirm, MLT_ERR_CLOSED);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_REPLAY,
                "its greeting was a repetition of an older one");
    play(&g, &b, false, hello, MLT_GREET_BYTES, hello, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_REPLAY);
    play(&g, &a, true, answer, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_KEY,
                "what answered does not know the key of this job");
    play(&g, &b, false, answer, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_KEY);
    play(&g, &b, false, confirm, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_KEY);
    // The dialler's own hello, heard on another connection of its own; and to its own listener.
    play(&g, &a, true, hello, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_KEY);
    play(&g, &a, false, hello, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_PROCESS);
}

static void test_reflection(void)
{
    mlt_greet_self a = self_of(DIALLER);
    int ends[2];
    uint8_t bytes[MLT_GREET_BYTES];
    mlt_greet g;
    make_pair(ends);
    mlt_greet_dial(&g, &a, ends[0], ANSWERER, LIMIT);
    CHECK(mlt_greet_step(&g, 1) == MLT_PENDING &&
          read(ends[1], bytes, sizeof bytes) == sizeof bytes);
    CHECK(write(ends[1], bytes, sizeof bytes) == sizeof bytes);
    CHECK(mlt_greet_step(&g, 1) == MLT_ERR_CLOSED && g.fault == MLT_GREET_KEY && !g.proven);
    close(ends[0]);
    close(ends[1]);
}

// A member of the job that breaks the rules: its hashes are right.
static void forge(uint8_t *said, int n, int at, uint8_t byte)
{
    said[n * MLT_GREET_BYTES + at] = byte;
    mlt_greet_hash(said + n * MLT_GREET_BYTES + MLT_GREET_AT_HASH, &key, said, n);
}

static void forged_answer(int at, uint8_t byte, bool encrypts, mlt_greet *g)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    int ends[2];
    outcome heard;
    a.encrypts = b.encrypts = encrypts;
    greet(&heard, &a, &b, ANSWERER, plain);
    make_pair(ends);
    mlt_greet_dial(g, &a, ends[0], ANSWERER, LIMIT);
    CHECK(mlt_greet_step(g, 1) == MLT_PENDING);
    CHECK(read(ends[1], heard.said, MLT_GREET_BYTES) == MLT_GREET_BYTES);
    if (encrypts) // the point through which every exchange leads to the same key
        memset(heard.said + MLT_GREET_BYTES + MLT_GREET_AT_NONCE, 0, MLT_CRYPT_POINT);
    forge(heard.said, 1, at, byte);
    CHECK(write(ends[1], heard.said + MLT_GREET_BYTES, MLT_GREET_BYTES) == MLT_GREET_BYTES);
    CHECK(mlt_greet_step(g, 1) == MLT_ERR_CLOSED && g->proven);
    close(ends[0]);
    close(ends[1]);
}

static void test_forged(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome heard;
    mlt_greet g;
    forged_answer(MLT_GREET_AT_KIND, MLT_GREET_HELLO, false, &g);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_GARBAGE,
                "it knows the job's key, but does not answer");
    forged_answer(MLT_GREET_AT_KIND, MLT_GREET_REFUSAL, false, &g); // for no reason
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_KEY,
                "it refused the greeting for a reason that is not known");
    forged_answer(MLT_GREET_AT_FROM, ANSWERER + 1, false, &g);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_PROCESS,
                "process 8 of the job answered, not process 7");
    forged_answer(MLT_GREET_AT_KIND, MLT_GREET_IS_ANSWER, true, &g);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_KEY,
                "its part of the exchange of keys is no point of the curve");
    greet(&heard, &a, &b, ANSWERER, plain);
    forge(heard.said, 0, MLT_GREET_AT_KIND, MLT_GREET_CONFIRM);
    play(&g, &b, false, heard.said, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_GARBAGE,
                "it knows the job's key, but does not say hello");
    forge(heard.said, 0, MLT_GREET_AT_KIND, MLT_GREET_HELLO);
    memset(heard.said + MLT_GREET_AT_NONCE, 0, MLT_CRYPT_POINT);
    forge(heard.said, 0, MLT_GREET_AT_FLAGS, 1);
    b.encrypts = true;
    play(&g, &b, false, heard.said, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_KEY && strstr(g.why, "no point of the curve"));
    b.encrypts = false;
    // A later version with other kinds is named all the same.
    forge(heard.said, 0, MLT_GREET_AT_KIND, 99);
    forge(heard.said, 0, MLT_GREET_AT_VERSION + 2, 9);
    play(&g, &b, false, heard.said, MLT_GREET_BYTES, NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_VERSION && strstr(g.why, "it is Millet 9."));
}

static void test_strangers(void)
{
    static const char *const texts[] = {"GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH", "M1",
                                        "\x16\x03\x01"};
    mlt_greet_self b = self_of(ANSWERER);
    mlt_greet g;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        play(&g, &b, false, (const uint8_t *)texts[i], strlen(texts[i]), NULL, MLT_ERR_CLOSED);
        check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_GARBAGE, "what it sent is no greeting of Millet");
    }
    play(&g, &b, true, (const uint8_t *)texts[0], strlen(texts[0]), NULL, MLT_ERR_CLOSED);
    CHECK(g.fault == MLT_GREET_GARBAGE);
}

static void test_slow(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    int ends[2], more[2];
    mlt_greet g, d;
    make_pair(ends);
    make_pair(more);
    mlt_greet_answer(&g, &b, ends[0], 100);
    CHECK(mlt_greet_step(&g, 99) == MLT_PENDING && g.poll.events == POLLIN &&
          g.poll.fd == ends[0] && g.poll.deadline_ns == 100);
    CHECK(mlt_greet_step(&g, 100) == MLT_ERR_CLOSED);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_SLOW, "the time was up before a greeting came");
    // It says hello, and then nothing.
    mlt_greet_dial(&d, &a, more[0], ANSWERER, 100);
    mlt_greet_answer(&g, &b, more[1], 100);
    CHECK(mlt_greet_step(&d, 1) == MLT_PENDING && mlt_greet_step(&g, 1) == MLT_PENDING);
    CHECK(mlt_greet_step(&g, 100) == MLT_ERR_CLOSED);
    check_fault(&g, MLT_ERR_CLOSED, MLT_GREET_SLOW,
                "the time was up in the middle of the greeting");
    // What has come in time counts, even if nobody looked.
    CHECK(mlt_greet_step(&d, 1000) == MLT_OK);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(more[i]);
    }
}

// No room for the hello at first; then for a part of it at a time.
static void test_full(void)
{
    mlt_greet_self a = self_of(DIALLER);
    int ends[2], small = 1;
    char junk[4096] = "";
    mlt_greet g;
    make_pair(ends);
    CHECK(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    while (send(ends[0], junk, sizeof junk, MSG_DONTWAIT) > 0)
        ;
    mlt_greet_dial(&g, &a, ends[0], ANSWERER, 100);
    CHECK(mlt_greet_step(&g, 1) == MLT_PENDING && g.poll.events == POLLOUT && g.moved == 0);
    while (recv(ends[1], junk, sizeof junk, MSG_DONTWAIT) > 0)
        ;
    CHECK(mlt_greet_step(&g, 1) == MLT_PENDING && g.poll.events == POLLIN);
    CHECK(recv(ends[1], junk, sizeof junk, MSG_DONTWAIT) == MLT_GREET_BYTES);
    close(ends[0]);
    close(ends[1]);
    mlt_greet_dial(&g, &a, ends[0], ANSWERER, 100); // it is closed
    CHECK(mlt_greet_step(&g, 1) == MLT_ERR_SYSTEM);
    check_fault(&g, MLT_ERR_SYSTEM, MLT_GREET_SYSTEM, "Bad file descriptor");
}

// What follows the greeting at once is not read with it.
static void test_behind(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    int ends[2];
    char behind = 0;
    mlt_greet d, g;
    make_pair(ends);
    mlt_greet_dial(&d, &a, ends[0], ANSWERER, 100);
    mlt_greet_answer(&g, &b, ends[1], 100);
    CHECK(mlt_greet_step(&d, 1) == MLT_PENDING && mlt_greet_step(&g, 1) == MLT_PENDING);
    CHECK(mlt_greet_step(&d, 1) == MLT_OK && write(ends[0], "x", 1) == 1);
    CHECK(mlt_greet_step(&g, 1) == MLT_OK && mlt_greet_step(&g, 1) == MLT_OK);
    CHECK(read(ends[1], &behind, 1) == 1 && behind == 'x');
    close(ends[0]);
    close(ends[1]);
}

// In the place of libc's, which may have random bytes without asking the kernel (glibc 2.41), so that
// no filter of system calls takes them away.
static bool no_random;

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    errno = EAGAIN;
    return no_random ? -1 : syscall(SYS_getrandom, to, bytes, flags);
}

static void without_random(void)
{
    mlt_greet_self a = self_of(DIALLER), b = self_of(ANSWERER);
    outcome heard;
    mlt_greet g;
    mlt_key none;
    char why[200];
    greet(&heard, &a, &b, ANSWERER, plain);
    no_random = true;
    play(&g, &b, false, heard.said, MLT_GREET_BYTES, NULL, MLT_ERR_SYSTEM);
    CHECK(g.fault == MLT_GREET_SYSTEM && strstr(g.why, "the system has no random bytes ("));
    play(&g, &a, true, heard.said, MLT_GREET_BYTES, NULL, MLT_ERR_SYSTEM);
    CHECK(strstr(g.why, "the system has no random bytes ("));
    CHECK(mlt_key_new(&none, why, sizeof why) == MLT_ERR_SYSTEM);
    CHECK(strstr(why, "no random bytes for the job's key (Resource temporarily"));
}

int main(void)
{
    char why[400];
    if (mlt_crypt_load(why, sizeof why) != MLT_OK) {
        fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    CHECK(mlt_key_new(&key, why, sizeof why) == 0 && mlt_key_new(&other_key, why, sizeof why) == 0);
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        test_good(encrypts, MLT_GREET_BYTES);
        test_good(encrypts, 1);
        test_each_byte(encrypts);
        test_replay(encrypts);
    }
    test_wrong_key();
    test_several();
    test_disagreements();
    test_reflection();
    test_forged();
    test_strangers();
    test_slow();
    test_full();
    test_behind();
    in_child(without_random);
    puts("all right");
    return 0;
}
