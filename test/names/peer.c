// SPDX-License-Identifier: BSD-3-Clause
// A program for test/names/run, which starts several and kills some. `peer VERB NAME [NUMBER]`:
// each verb is one thing that a program does with a name; it says in lines what it has come to.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_ROOM = 4096, MESSAGE = 1000, BIG = 200000 };

// The same for all ranks of a process, which share them.
static char name[256];
static long number;

static void say(const char *what)
{
    printf("%s\n", what);
}

static int end_with(csp_status status)
{
    printf("%s: %s\n", csp_status_text(status), csp_why());
    return 0;
}

static void need(csp_status status)
{
    if (status == CSP_OK)
        return;
    end_with(status);
    exit(1);
}

// Waits for a line, as a process: what others do to this program goes on.
static void hear(void)
{
    char c = 0;
    while (c != '\n')
        if (csp_fd_read(STDIN_FILENO, &c, 1) <= 0)
            exit(3);
}

// ---- ports

static int port(void) // receives `number` messages
{
    csp_port *own = csp_port_new(name, 0);
    long sum = 0, bytes_all = 0;
    need(csp_register_port(name, own));
    say("ready");
    for (long i = 0; i < number; i++) {
        static char data[BIG];
        size_t bytes;
        long value;
        need(csp_receive(own, data, sizeof data, &bytes, NULL));
        memcpy(&value, data, sizeof value);
        sum += value;
        bytes_all += (long)bytes;
        if (data[bytes - 1] != (char)value && bytes > sizeof value)
            say("a message is not what was sent");
    }
    printf("sum %ld, bytes %ld\n", sum, bytes_all);
    csp_port_free(own);
    return 0;
}

static int send_all(void) // `number` messages 1, 2, ... of growing size
{
    csp_target *target;
    static char data[BIG];
    need(csp_find_port(name, &target, CSP_NEVER));
    for (long i = 1; i <= number; i++) {
        size_t bytes = sizeof i + (size_t)(i * i * 37) % (BIG - sizeof i);
        memset(data, (int)(char)i, bytes);
        memcpy(data, &i, sizeof i);
        need(csp_send(target, data, bytes));
    }
    csp_target_free(target);
    return 0;
}

static int full_port(void) // has little room, and nobody receives
{
    csp_port *own = csp_port_new(name, SMALL_ROOM);
    need(csp_register_port(name, own));
    say("ready");
    hear();
    csp_port_free(own);
    hear();
    return 0;
}

static int send_full(void) // sends until there is no room, then waits for room
{
    csp_target *target;
    char data[MESSAGE] = "";
    csp_status status;
    need(csp_find_port(name, &target, CSP_NEVER));
    while ((status = csp_send_by(target, data, sizeof data, csp_after(0.2))) == CSP_OK)
        ;
    if (status != CSP_LATE)
        return end_with(status);
    say("full");
    while ((status = csp_send(target, data, sizeof data)) == CSP_OK)
        ;
    return end_with(status);
}

// ---- channels

static csp_chan *own_channel(void)
{
    csp_chan *chan = csp_chan_new(name, sizeof(int));
    need(csp_register_chan(name, chan));
    return chan;
}

static int source(void) // writes 0, 1, ... to its own channel
{
    csp_out *out = csp_chan_out(own_channel());
    csp_status status = CSP_OK;
    say("ready");
    for (int i = 0; i < number && status == CSP_OK; i++)
        status = csp_write(out, &i);
    if (status == CSP_OK)
        csp_retire(out);
    say(csp_status_text(status));
    hear();
    return 0;
}

static int sink(void) // reads from its own channel, until it is retired
{
    csp_in *in = csp_chan_in(own_channel());
    long sum = 0;
    int value;
    csp_status status;
    say("ready");
    while ((status = csp_read(in, &value)) == CSP_OK)
        sum += value;
    printf("sum %ld, %s\n", sum, csp_status_text(status));
    return 0;
}

static int leave(void) // leaves `number` values in the buffer of its channel when it ends
{
    csp_chan *chan = csp_chan_buffered(name, sizeof(int), (size_t)number);
    csp_out *out = csp_chan_out(chan);
    need(csp_register_chan(name, chan));
    say("ready");
    hear();
    for (int i = 0; i < number; i++)
        need(csp_write(out, &i));
    csp_retire(out);
    return 0;
}

static int linger(void) // reads what there is when it hears a line
{
    csp_in *in;
    need(csp_find_in(name, sizeof(int), &in, CSP_NEVER));
    say("found");
    hear();
    long sum = 0;
    int value;
    csp_status status;
    while ((status = csp_read(in, &value)) == CSP_OK)
        sum += value;
    printf("sum %ld\n", sum);
    return end_with(status);
}

static int quit(void) // has an end to write, and ends without a word
{
    csp_out *out;
    int value = 5;
    need(csp_find_out(name, sizeof(int), &out, CSP_NEVER));
    need(csp_write(out, &value));
    return 0;
}

static int quit_port(void) // receives `number` messages and ends
{
    csp_port *own = csp_port_new(name, 0);
    need(csp_register_port(name, own));
    say("ready");
    for (long i = 0; i < number; i++)
        need(csp_receive(own, NULL, 0, NULL, NULL));
    hear();
    return 0;
}

static int send_on(void) // `number` messages, then when it hears a line, until somebody minds
{
    csp_target *target;
    csp_status status;
    need(csp_find_port(name, &target, CSP_NEVER));
    for (long i = 0; i < number; i++)
        need(csp_send(target, NULL, 0));
    say("sent");
    hear();
    while ((status = csp_send(target, NULL, 0)) == CSP_OK)
        csp_sleep(csp_after(0.001));
    return end_with(status);
}

// Sends an end of its channel away, and writes while another one is held here.
static int pack(void)
{
    csp_chan *chan = csp_chan_new(name, sizeof(int));
    csp_out *out = csp_chan_out(chan);
    (void)csp_chan_in(chan);
    csp_target *target;
    csp_parcel parcel;
    int value = 0;
    need(csp_find_port(name, &target, CSP_NEVER));
    need(csp_pack_in(csp_chan_in(chan), &parcel));
    need(csp_send(target, &parcel, sizeof parcel));
    hear();
    say(csp_status_text(csp_write_by(out, &value, csp_after(0.05))));
    return 0;
}

static int unpack(void) // twice
{
    csp_port *own = csp_port_new(name, 0);
    csp_parcel parcel;
    csp_in *in, *again;
    need(csp_register_port(name, own));
    need(csp_receive(own, &parcel, sizeof parcel, NULL, NULL));
    need(csp_unpack_in(&parcel, &in));
    end_with(csp_unpack_in(&parcel, &again));
    csp_retire(in);
    say(again ? "two" : "one");
    hear();
    return 0;
}

static int silent(void) // has a channel that it neither reads nor writes
{
    csp_chan *chan = own_channel();
    (void)csp_chan_in(chan);
    (void)csp_chan_out(chan);
    say("ready");
    hear();
    return 0;
}

static int read_all(void)
{
    csp_in *in;
    long sum = 0;
    int value;
    csp_status status;
    need(csp_find_in(name, sizeof value, &in, CSP_NEVER));
    say("found");
    while ((status = csp_read(in, &value)) == CSP_OK)
        sum += value;
    printf("sum %ld\n", sum);
    return end_with(status);
}

static int write_all(void) // `number` values
{
    csp_out *out;
    csp_status status = CSP_OK;
    need(csp_find_out(name, sizeof(int), &out, CSP_NEVER));
    say("found");
    for (int i = 0; i < number && status == CSP_OK; i++)
        status = csp_write(out, &i);
    if (status != CSP_OK)
        return end_with(status);
    csp_retire(out);
    return 0;
}

static int
alt_all(void) // reads and writes by alternations, beside a channel that nothing comes from
{
    csp_in *in;
    csp_out *out;
    csp_chan *idle = csp_chan_new("idle", sizeof(int));
    int value, idle_value, mine = 7;
    (void)csp_chan_out(idle);
    need(csp_find_in(name, sizeof value, &in, CSP_NEVER));
    need(csp_find_out(name, sizeof value, &out, CSP_NEVER));
    csp_guard guards[] = {csp_on_read(csp_chan_in(idle), &idle_value), csp_on_read(in, &value),
                          csp_on_write(out, &mine)};
    say("found");
    for (;;) {
        int i = csp_alt(guards, number ? 2 : 3);
        if (guards[i].status != CSP_OK)
            return end_with(guards[i].status);
    }
}

static int ping(void) // values go round through two programs and back
{
    csp_out *out;
    csp_in *in;
    char back[300];
    snprintf(back, sizeof back, "%s-back", name);
    need(csp_find_out(name, sizeof(int), &out, CSP_NEVER));
    need(csp_find_in(back, sizeof(int), &in, CSP_NEVER));
    say("found");
    for (int i = 0; i < number; i++) {
        int value = -1;
        need(csp_write(out, &i));
        need(csp_read(in, &value));
        if (value != 2 * i)
            say("a value is not what it should be");
    }
    say("done");
    csp_retire(out);
    return 0;
}

static int pong(void)
{
    char back[300];
    csp_in *in = csp_chan_in(own_channel());
    snprintf(back, sizeof back, "%s-back", name);
    csp_chan *chan = csp_chan_new(back, sizeof(int));
    csp_out *out = csp_chan_out(chan);
    need(csp_register_chan(back, chan));
    int value;
    say("ready");
    while (csp_read(in, &value) == CSP_OK) {
        value *= 2;
        need(csp_write(out, &value));
    }
    return 0;
}

// ---- names

static int hold(void) // has the name until it hears a line, then gives it back
{
    csp_port *own = csp_port_new(name, 0);
    csp_status status = csp_register_port(name, own);
    if (status != CSP_OK)
        return end_with(status);
    say("ready");
    hear();
    status = csp_unregister(name);
    end_with(status);
    hear();
    return 0;
}

static int find(void) // `number` hundredths of a second; 0: at once
{
    csp_target *target;
    return end_with(csp_find_port(
        name, &target, number ? csp_after((double)number / 100) : (csp_time)CSP_AT_ONCE));
}

static int find_again(void) // `number` hundredths of a second, the second time
{
    csp_target *target;
    need(csp_find_port(name, &target, CSP_NEVER));
    csp_target_free(target);
    say("found");
    hear();
    return end_with(csp_find_port(name, &target, csp_after((double)number / 100)));
}

static int find_size(void)
{
    csp_in *in;
    return end_with(csp_find_in(name, (size_t)number, &in, CSP_AT_ONCE));
}

static int cross(void) // both of two programs find each other at once, `number` times
{
    char mine[300], other[300], data[8] = "";
    for (long i = 0; i < number; i++) {
        const char *side = strchr(name, '/'); // "x/a" and "x/b"
        snprintf(mine, sizeof mine, "%s %ld", name, i);
        snprintf(other, sizeof other, "%.*s/%c %ld", (int)(side - name), name,
                 side[1] == 'a' ? 'b' : 'a', i);
        csp_port *own = csp_port_new(mine, 0);
        csp_target *target;
        need(csp_register_port(mine, own));
        need(csp_find_port(other, &target, CSP_NEVER));
        need(csp_send(target, data, sizeof data));
        need(csp_receive(own, data, sizeof data, NULL, NULL));
        csp_target_free(target);
        csp_port_free(own);
    }
    say("done");
    return 0;
}

static long first; // of those that the ranks of this job are, of `number` in all

static int mesh(void) // everybody sends to everybody
{
    long self = first + csp_node(), sum = 0;
    char text[300];
    snprintf(text, sizeof text, "%s %ld", name, self);
    csp_port *own = csp_port_new(text, 0);
    need(csp_register_port(text, own));
    for (long i = 0; i < number; i++) {
        csp_target *target;
        snprintf(text, sizeof text, "%s %ld", name, (self + i) % number);
        need(csp_find_port(text, &target, CSP_NEVER));
        need(csp_send(target, &self, sizeof self));
        csp_target_free(target);
    }
    for (long i = 0, value; i < number; i++) {
        int from;
        need(csp_receive(own, &value, sizeof value, NULL, &from));
        if (from != (value >= first && value < first + csp_nodes() ? value - first : -1))
            say("a message is from somebody else");
        sum += value;
    }
    printf("sum %ld\n", sum);
    csp_port_free(own);
    return 0;
}

static const struct {
    const char *verb;
    int (*run)(void);
} verbs[] = {
    {"port", port},
    {"send", send_all},
    {"full_port", full_port},
    {"send_full", send_full},
    {"source", source},
    {"sink", sink},
    {"silent", silent},
    {"read", read_all},
    {"write", write_all},
    {"alt", alt_all},
    {"ping", ping},
    {"pong", pong},
    {"hold", hold},
    {"find", find},
    {"cross", cross},
    {"leave", leave},
    {"linger", linger},
    {"quit", quit},
    {"quit_port", quit_port},
    {"send_on", send_on},
    {"pack", pack},
    {"unpack", unpack},
    {"find_size", find_size},
    {"mesh", mesh},
    {"find_again", find_again},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 3)
        return 2;
    snprintf(name, sizeof name, "%s", argv[2]);
    number = argc > 3 ? atol(argv[3]) : 0;
    first = argc > 4 ? atol(argv[4]) : 0;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[1], verbs[i].verb) == 0)
            return verbs[i].run();
    return 2;
}
