// SPDX-License-Identifier: BSD-3-Clause
// Ports: order, lengths, floods, deadlines, ports that come late and go.
#include "csp_check.h"

// Ranks may share a process, and with it globals: what each has is passed on.
typedef struct node {
    int round; // of meet
} node;

static csp_target *target_of(int node, const char *name)
{
    csp_target *target;
    CHECK(csp_target_at(node, name, &target, CSP_NEVER) == CSP_OK && target);
    return target;
}

static unsigned char pattern(int from, int to, int round, size_t i)
{
    return (unsigned char)(from * 131 + to * 17 + round * 7 + (int)i);
}

static const size_t sizes[] = {0, 1, 8, 31, 32, 33, 100, 1000, 5000, 16384, 16385, 70000, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int send_all(void *arg)
{
    int me = csp_node(), n = csp_nodes();
    (void)arg;
    for (int to = 0; to < n; to++) {
        csp_target *target = target_of(to, "sizes");
        for (int s = 0; s < SIZES; s++) {
            unsigned char *data = malloc(sizes[s] + 1);
            for (size_t i = 0; i < sizes[s]; i++)
                data[i] = pattern(me, to, s, i);
            CHECK(csp_send(target, data, sizes[s]) == CSP_OK);
            free(data);
        }
        csp_target_free(target);
    }
    return 0;
}

static int receive_all(void *arg)
{
    csp_port *own = arg;
    int me = csp_node(), n = csp_nodes();
    int *next = calloc((size_t)n, sizeof *next);
    unsigned char *buffer = malloc(1 << 20);
    for (int k = 0; k < n * SIZES; k++) {
        size_t bytes;
        int from = -2;
        csp_status status = csp_receive(own, buffer, 40, &bytes, &from);
        if (status == CSP_TOO_LONG) {
            CHECK(bytes > 40);
            status = csp_receive(own, buffer, 1 << 20, &bytes, &from);
        }
        CHECK(status == CSP_OK && from >= 0 && from < n && bytes == sizes[next[from]]);
        for (size_t i = 0; i < bytes; i++)
            CHECK(buffer[i] == pattern(from, me, next[from], i));
        next[from]++;
    }
    free(buffer);
    free(next);
    return 0;
}

static void all_sizes(node *me)
{
    csp_port *own = csp_port_new("sizes", 0);
    csp_proc both[] = {{.run = send_all, .name = "sender"},
                       {.run = receive_all, .arg = own, .name = "receiver"}};
    CHECK(csp_par(both, 2) == 0);
    meet(&me->round);
    csp_port_free(own);
}

// Many processes of each node send to one port, which takes its time; each has its order.
enum { FLOODERS = 3, FLOOD = 2000 };

typedef struct flooder_args {
    int number;
    const char *port;
} flooder_args;

static int flooder(void *arg)
{
    const flooder_args *my = arg;
    csp_target *target = target_of(0, my->port);
    for (int i = 0; i < FLOOD; i++) {
        int value[3] = {csp_node(), my->number, i};
        CHECK(csp_send(target, value, sizeof value) == CSP_OK);
    }
    csp_target_free(target);
    return 0;
}

static void flood(node *me, const char *name, size_t room)
{
    int n = csp_nodes();
    csp_port *port = csp_node() == 0 ? csp_port_new(name, room) : NULL;
    csp_child *children[FLOODERS];
    flooder_args args[FLOODERS];
    for (int i = 0; i < FLOODERS; i++) {
        args[i] = (flooder_args){i, name};
        children[i] = csp_fork(flooder, &args[i], NULL);
    }
    if (port) {
        int *next = calloc((size_t)n * FLOODERS, sizeof *next);
        for (int i = 0; i < n * FLOODERS * FLOOD; i++) {
            int value[3], from;
            size_t bytes;
            CHECK(csp_receive(port, value, sizeof value, &bytes, &from) == CSP_OK);
            CHECK(bytes == sizeof value && from == value[0] &&
                  value[2] == next[from * FLOODERS + value[1]]++);
        }
        free(next);
    }
    for (int i = 0; i < FLOODERS; i++)
        CHECK(csp_join(children[i]) == 0);
    meet(&me->round);
    csp_port_free(port);
}

// Without room a sender waits, or is late; the order of those who wait is kept.
static void no_room(node *me)
{
    char big[1000] = {0};
    size_t bytes;
    csp_port *port = csp_port_new("tight", 2000);
    csp_target *right = target_of((csp_node() + 1) % csp_nodes(), "tight");
    CHECK(csp_send_by(right, big, sizeof big, CSP_AT_ONCE) == CSP_OK);
    CHECK(csp_send_by(right, big, sizeof big, CSP_AT_ONCE) == CSP_OK);
    CHECK(csp_send_by(right, big, 1, CSP_AT_ONCE) == CSP_LATE);
    CHECK(csp_send_by(right, big, 1, csp_after(0.01)) == CSP_LATE);
    meet(&me->round);
    CHECK(csp_receive(port, big, sizeof big, &bytes, NULL) == CSP_OK && bytes == sizeof big);
    CHECK(csp_receive(port, big, sizeof big, &bytes, NULL) == CSP_OK && bytes == sizeof big);
    CHECK(csp_receive_by(port, big, sizeof big, &bytes, NULL, CSP_AT_ONCE) == CSP_LATE);
    CHECK(csp_receive_by(port, big, sizeof big, &bytes, NULL, csp_after(0.01)) == CSP_LATE);
    meet(&me->round);
    CHECK(csp_send(right, big, 1) == CSP_OK); // longer than what was given back without being asked
    CHECK(csp_send(right, big, sizeof big) == CSP_OK);
    CHECK(csp_receive(port, big, sizeof big, &bytes, NULL) == CSP_OK && bytes == 1);
    CHECK(csp_receive(port, big, sizeof big, &bytes, NULL) == CSP_OK && bytes == sizeof big);
    csp_target_free(right);
    meet(&me->round);
    csp_port_free(port);
}

// Ports in alternations, beside channels and time.
static int writes_once(void *arg)
{
    int value = 5;
    return (int)csp_write(arg, &value);
}

static void guards(node *me)
{
    int left = (csp_node() + csp_nodes() - 1) % csp_nodes(), number = 0, ports = 0, chans = 0;
    char text[8];
    csp_port *port = csp_port_new("guards", 0);
    csp_chan *chan = csp_chan_new("beside", sizeof(int));
    csp_in *in = csp_chan_in(chan);
    csp_target *target = target_of(left, "guards");
    csp_guard of[] = {csp_on_port(port, text, sizeof text), csp_on_read(in, &number),
                      csp_on_time(csp_after(0.005))};
    CHECK(csp_alt(of, 3) == 2);
    of[2] = csp_on_skip();
    CHECK(csp_pri_alt(of, 3) == 2);
    meet(&me->round);
    CHECK(csp_send(target, "a word", 7) == CSP_OK);
    csp_child *child = csp_fork(writes_once, csp_chan_out(chan), "writes");
    while (ports + chans < 2) {
        of[0] = csp_on_port(port, text, sizeof text);
        int chosen = csp_alt(of, 2);
        CHECK(of[chosen].status == CSP_OK && (chosen == 1 || of[0].size == 7));
        *(chosen ? &chans : &ports) += 1;
    }
    CHECK(ports == 1 && chans == 1 && number == 5);
    CHECK(strcmp(text, "a word") == 0 && csp_join(child) == 0);
    meet(&me->round);
    CHECK(csp_send(target, "a longer word", 14) == CSP_OK);
    of[0] = csp_on_port(port, text, sizeof text);
    CHECK(csp_alt(of, 2) == 0 && of[0].status == CSP_TOO_LONG && of[0].size == 14);
    char more[20];
    of[0] = csp_on_port(port, more, sizeof more);
    CHECK(csp_pri_alt(of, 2) == 0 && of[0].status == CSP_OK && of[0].size == 14);
    csp_target_free(target);
    meet(&me->round);
    csp_port_free(port);
    csp_chan_free(chan);
}

// Messages that are longer than the room, from several processes at once; one that is given up.
enum { LONG = 300000 };

typedef struct long_args {
    const char *port;
    char fill;
} long_args;

static int long_sender(void *arg)
{
    const long_args *my = arg;
    csp_target *target = target_of((csp_node() + 1) % csp_nodes(), my->port);
    unsigned char *data = malloc(LONG);
    memset(data, my->fill, LONG);
    for (int i = 0; i < 3; i++) {
        CHECK(csp_send(target, data, LONG - (size_t)i) == CSP_OK);
        CHECK(csp_send(target, data, 10) == CSP_OK);
    }
    csp_target_free(target);
    free(data);
    return 0;
}

static void long_messages(node *me, const char *name, size_t room)
{
    unsigned char *data = calloc(1, LONG);
    size_t bytes, longs = 0, shorts = 0;
    csp_port *port = csp_port_new(name, room);
    csp_target *right = target_of((csp_node() + 1) % csp_nodes(), name);
    long_args args[2] = {{name, 'a'}, {name, 'b'}};
    csp_child *children[2];
    for (int i = 0; i < 2; i++)
        children[i] = csp_fork(long_sender, &args[i], NULL);
    while (longs < 6 || shorts < 6) {
        CHECK(csp_receive(port, data, LONG, &bytes, NULL) == CSP_OK);
        CHECK(bytes == 10 || bytes > LONG - 3);
        CHECK((data[0] == 'a' || data[0] == 'b') && data[bytes - 1] == data[0]);
        *(bytes == 10 ? &shorts : &longs) += 1;
    }
    for (int i = 0; i < 2; i++)
        CHECK(csp_join(children[i]) == 0);
    meet(&me->round);
    while (csp_send_by(right, data, 100, CSP_AT_ONCE) == CSP_OK) {
    }
    csp_status status = csp_send_by(right, data, LONG, csp_after(0.005));
    CHECK(status == CSP_LATE);
    meet(&me->round);
    while (csp_receive_by(port, data, LONG, &bytes, NULL, CSP_AT_ONCE) == CSP_OK)
        CHECK(bytes == 100);
    meet(&me->round);
    CHECK(csp_send(right, "x", 1) == CSP_OK);
    CHECK(csp_receive(port, data, LONG, &bytes, NULL) == CSP_OK && bytes == 1);
    csp_target_free(right);
    meet(&me->round);
    csp_port_free(port);
    free(data);
}

// Two wait, and the first has no room for what comes: it is told, and the other one gets it.
typedef struct taker {
    csp_port *port;
    size_t size;
    csp_status wanted;
} taker;

static int take_one(void *arg)
{
    const taker *my = arg;
    char data[100];
    size_t bytes;
    CHECK(csp_receive(my->port, data, my->size, &bytes, NULL) == my->wanted && bytes == 50);
    return 0;
}

static void small_and_large(node *me)
{
    char data[50] = "";
    csp_port *port = csp_port_new("both", 0);
    csp_target *target = target_of((csp_node() + 1) % csp_nodes(), "both");
    taker takers[] = {{port, 4, CSP_TOO_LONG}, {port, 100, CSP_OK}};
    csp_child *children[2];
    for (int i = 0; i < 2; i++)
        children[i] = csp_fork(take_one, &takers[i], NULL);
    csp_yield(); // both wait, but for a policy that lets them come when it likes: hence two
                 // messages
    meet(&me->round);
    for (int i = 0; i < 2; i++)
        CHECK(csp_send(target, data, sizeof data) == CSP_OK);
    for (int i = 0; i < 2; i++)
        CHECK(csp_join(children[i]) == 0);
    CHECK(csp_receive(port, data, sizeof data, NULL, NULL) == CSP_OK);
    csp_target_free(target);
    meet(&me->round);
    csp_port_free(port);
}

// A target that is made anew has no more room than the one before it: floods stay bounded.
static void targets_again(node *me)
{
    enum { MESSAGE = 500, TIMES = 100 };
    char data[MESSAGE] = "";
    int sent = 0, got = 0;
    csp_port *port = csp_port_new("again", 2000);
    csp_status status = CSP_OK;
    for (int i = 0; i < TIMES; i++) {
        csp_target *target = target_of((csp_node() + 1) % csp_nodes(), "again");
        status = csp_send_by(target, data, sizeof data, CSP_AT_ONCE);
        sent += status == CSP_OK;
        csp_target_free(target);
    }
    CHECK(status == CSP_LATE && sent == 4);
    meet(&me->round);
    while (csp_receive_by(port, data, sizeof data, NULL, NULL, CSP_AT_ONCE) == CSP_OK)
        got++;
    CHECK(got == 4);
    meet(&me->round);
    csp_target *target = target_of((csp_node() + 1) % csp_nodes(), "again");
    CHECK(csp_send(target, data, sizeof data) == CSP_OK); // what was taken is room again
    CHECK(csp_receive(port, data, sizeof data, NULL, NULL) == CSP_OK);
    csp_target_free(target);
    meet(&me->round);
    csp_port_free(port);
}

// Names: a port that comes late, one that is not there, one that goes.
static int late_port(void *arg)
{
    csp_yield();
    *(csp_port **)arg = csp_port_new("late", 0);
    return 0;
}

static void come_and_go(node *me)
{
    int left = (csp_node() + csp_nodes() - 1) % csp_nodes(), value = 17, got = 0, from;
    csp_target *target;
    csp_port *port = NULL;
    CHECK(csp_target_at(left, "never", &target, CSP_AT_ONCE) == CSP_NO_NAME && !target);
    CHECK(csp_target_at(left, "never", &target, csp_after(0.01)) == CSP_LATE && !target);
    csp_child *child = csp_fork(late_port, &port, NULL);
    target = target_of(left, "late");
    CHECK(csp_join(child) == 0);
    CHECK(csp_send(target, &value, sizeof value) == CSP_OK);
    CHECK(csp_receive(port, &got, sizeof got, NULL, &from) == CSP_OK && got == 17);
    CHECK(from == (csp_node() + 1) % csp_nodes());
    meet(&me->round);
    csp_port_free(port);
    csp_status status;
    while ((status = csp_send(target, &value, sizeof value)) == CSP_OK) {
    } // room ends, or it hears of it
    CHECK(status == CSP_RETIRED);
    CHECK(csp_send(target, &value, sizeof value) == CSP_RETIRED);
    csp_target_free(target);
    meet(&me->round);
}

static void registered(node *me)
{
    int value = csp_node(), from;
    csp_target *target;
    csp_port *port = csp_node() == 0 ? csp_port_new(NULL, 0) : NULL;
    CHECK(csp_find_port("nothing", &target, CSP_AT_ONCE) == CSP_NO_NAME);
    CHECK(csp_find_port("nothing", &target, csp_after(0.01)) == CSP_LATE);
    if (port) {
        CHECK(csp_register_port("the port", port) == CSP_OK);
        CHECK(csp_register_port("the port", port) == CSP_TAKEN);
        CHECK(strstr(csp_why(), "rank 0"));
    }
    CHECK(csp_find_port("the port", &target, CSP_NEVER) == CSP_OK);
    csp_in *in;
    CHECK(csp_find_in("the port", 4, &in, CSP_AT_ONCE) == CSP_NO_NAME);
    CHECK(csp_send(target, &value, sizeof value) == CSP_OK);
    for (int i = 0; port && i < csp_nodes(); i++)
        CHECK(csp_receive(port, &value, sizeof value, NULL, &from) == CSP_OK && from == value);
    csp_target_free(target);
    meet(&me->round);
    if (port) {
        CHECK(csp_unregister("the port") == CSP_OK);
        CHECK(csp_unregister("the port") == CSP_NO_NAME);
        CHECK(csp_register_port("again", port) == CSP_OK);
        csp_port_free(port);
    }
    meet(&me->round);
    CHECK(csp_find_port("again", &target, CSP_AT_ONCE) == CSP_NO_NAME);
    CHECK(csp_find_port("the port", &target, CSP_AT_ONCE) == CSP_NO_NAME);
    meet(&me->round);
}

int main(void)
{
    node me = {0};
    meet(&me.round);
    all_sizes(&me);
    flood(&me, "flood", 0);
    flood(&me, "flood of single messages", 1);
    flood(&me, "tight flood", 5000);
    no_room(&me);
    guards(&me);
    long_messages(&me, "long", 20000);
    long_messages(&me, "long and tight", 1000);
    small_and_large(&me);
    targets_again(&me);
    come_and_go(&me);
    registered(&me);
    if (csp_node() == 0)
        puts("ports are fine");
    return 0;
}
