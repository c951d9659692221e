// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of ports, names and ends of other nodes: one message, and the program ends.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static csp_port *port;

static int waits(void *arg)
{
    (void)arg;
    csp_receive(port, NULL, 0, NULL, NULL);
    return 0;
}

static int sends(void *arg)
{
    static const char much[200000];
    csp_send(arg, much, sizeof much);
    csp_send(arg, much, sizeof much); // there is no room for it
    return 0;
}

static csp_target *target_at(int node)
{
    csp_target *target;
    if (csp_target_at(node, "bad", &target, CSP_NEVER) != CSP_OK)
        exit(3);
    return target;
}

// One process only: node 0 is alone.
static void alone(const char *what)
{
    csp_target *target;
    if (strcmp(what, "registered") == 0) { // nobody will ever write
        int value;
        csp_chan *chan = csp_chan_new("bad", sizeof value);
        csp_register_chan("bad", chan);
        csp_read(csp_chan_in(chan), &value);
    }
    if (strcmp(what, "null") == 0)
        csp_receive(NULL, NULL, 0, NULL, NULL);
    if (strcmp(what, "node") == 0)
        csp_target_at(1000, "bad", &target, CSP_NEVER);
    if (strcmp(what, "unnamed") == 0)
        csp_target_at(0, NULL, &target, CSP_NEVER);
    if (strcmp(what, "send") == 0)
        csp_send(NULL, NULL, 0);
    if (strcmp(what, "find") == 0)
        csp_find_port(NULL, &target, CSP_NEVER);
    if (strcmp(what, "waits") == 0) {
        csp_fork(waits, NULL, "waits");
        csp_yield();
        csp_port_free(port);
    }
    if (strcmp(what, "target") == 0) {
        target = target_at(0);
        csp_target *other = target_at(0);
        csp_target_free(target);
        csp_target_free(other);
        csp_send(other, NULL, 0);
    }
    if (strcmp(what, "sends") == 0) {
        target = target_at(0);
        csp_fork(sends, target, "sends");
        csp_yield();
        csp_target_free(target);
    }
    if (strcmp(what, "freed") == 0) {
        csp_port_free(port);
        csp_receive(port, NULL, 0, NULL, NULL);
    }
    if (strcmp(what, "guard") == 0) {
        csp_guard guard = csp_on_port(NULL, NULL, 0);
        csp_alt(&guard, 1);
    }
}

// Two nodes: what node 1 does with the channel of node 0.
static void together(const char *what)
{
    csp_chan *chan = csp_node() == 0 ? csp_chan_new("bad", 4) : NULL;
    csp_in *in;
    csp_out *out;
    csp_parcel parcel;
    if (chan) {
        csp_register_chan("bad", chan);
        csp_read(csp_chan_in(chan), &chan);
        return;
    }
    if (csp_find_in("bad", 4, &in, CSP_NEVER) != CSP_OK ||
        csp_find_out("bad", 4, &out, CSP_NEVER) != CSP_OK)
        exit(3);
    if (strcmp(what, "retired") == 0) {
        csp_retire(in);
        csp_retire(in);
    }
    if (strcmp(what, "packed") == 0) {
        csp_pack_in(in, &parcel);
        csp_pack_in(in, &parcel);
    }
    if (strcmp(what, "wrong") == 0)
        csp_write((csp_out *)in, &what);
    if (strcmp(what, "alt") == 0) {
        csp_guard guards[] = {csp_on_read(in, &what), csp_on_read(NULL, &what)};
        csp_pri_alt(guards, 2);
    }
    if (strcmp(what, "free") == 0)
        csp_chan_free((csp_chan *)in);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (csp_nodes() == 1) {
        port = csp_port_new("bad", 0);
        alone(what);
    } else {
        together(what);
    }
    puts("nobody complained");
    return 0;
}
