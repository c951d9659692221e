// SPDX-License-Identifier: BSD-3-Clause
// Ranks whose processes wait for each other, in the way that the first argument says: nobody ever
// goes on.
#include <millet/csp.h>
#include <stdio.h>
#include <string.h>

static int me, size;

// Both receive from the other, once more than was sent.
static void ports(void)
{
    char c;
    csp_target *right;
    csp_port *in = csp_port_new("in", 0);
    csp_target_at((me + 1) % size, "in", &right, CSP_NEVER);
    csp_send(right, "x", 1);
    csp_receive(in, &c, 1, NULL, NULL);
    csp_receive(in, &c, 1, NULL, NULL);
}

static void silent(void)
{
    char c;
    csp_receive(csp_port_new("in", 0), &c, 1, NULL, NULL);
}

// Both send until there is no room, and nobody receives.
static void full(void)
{
    char data[64] = "";
    csp_target *right;
    csp_port_new("in", sizeof data);
    csp_target_at((me + 1) % size, "in", &right, CSP_NEVER);
    for (;;)
        csp_send(right, data, sizeof data);
}

static void name(void)
{
    csp_in *in;
    csp_find_in("nothing", sizeof(int), &in, CSP_NEVER);
}

// Rank 1 reads once more than rank 0 writes.
static void channel(void)
{
    int v = 0;
    if (me == 0) {
        csp_chan *numbers = csp_chan_new("numbers", sizeof v);
        csp_register_chan("numbers", numbers);
        csp_write(csp_chan_out(numbers), &v);
        csp_read(csp_chan_in(csp_chan_new("answers", sizeof v)), &v);
        return;
    }
    csp_in *in;
    csp_find_in("numbers", sizeof v, &in, CSP_NEVER);
    csp_read(in, &v);
    csp_read(in, &v);
}

// Rank 1 reads what rank 2 does not write; rank 0 has the channel, and waits to write to another
// one that rank 2 could read. Everybody has its end before rank 0 tells the others to go on.
static void ends(void)
{
    int v = 0;
    char c;
    csp_port *go = csp_port_new("go", 0);
    csp_chan *both[] = {csp_chan_new("numbers", sizeof v), csp_chan_new("answers", sizeof v)};
    csp_in *in = NULL;
    csp_out *out;
    if (me == 0) {
        csp_register_chan("numbers", both[0]);
        csp_register_chan("answers", both[1]);
    } else if (me == 1) {
        csp_find_in("numbers", sizeof v, &in, CSP_NEVER);
    } else {
        csp_find_out("numbers", sizeof v, &out, CSP_NEVER);
        csp_find_in("answers", sizeof v, &in, CSP_NEVER);
    }
    for (int i = 1; i < size; i++) {
        csp_target *to;
        csp_target_at((me + i) % size, "go", &to, CSP_NEVER);
        csp_send(to, "x", 1);
    }
    for (int i = 1; i < size; i++)
        csp_receive(go, &c, 1, NULL, NULL);
    if (me == 0)
        csp_write(csp_chan_out(both[1]), &v);
    else if (me == 1)
        csp_read(in, &v);
    else
        csp_receive(go, &c, 1, NULL, NULL);
}

// The end that rank 1 waits for is in a parcel that nobody unpacks.
static void parcel(void)
{
    int v = 0;
    csp_parcel lost;
    csp_in *in;
    if (me == 0) {
        csp_chan *numbers = csp_chan_new("numbers", sizeof v);
        csp_register_chan("numbers", numbers);
        csp_pack_out(csp_chan_out(numbers), &lost);
        silent();
    }
    csp_find_in("numbers", sizeof v, &in, CSP_NEVER);
    csp_read(in, &v);
}

// One member of a group does not come.
typedef struct member {
    csp_group *group;
    int number;
} member;

static int meets(void *arg)
{
    member *my = arg;
    return csp_group_barrier(my->group, my->number);
}

static int stays_away(void *arg)
{
    member *my = arg;
    int v;
    if (my->number != csp_group_first(my->group) + 1)
        return meets(arg);
    return csp_read(csp_chan_in(csp_chan_new("lost", sizeof v)), &v);
}

static void group(void)
{
    csp_group *all = csp_group_of_nodes("all", 2);
    int first = csp_group_first(all);
    member members[] = {{all, first}, {all, first + 1}};
    csp_par_each(me == 0 ? meets : stays_away, members, 2, sizeof *members, "member", NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"ports", ports},     {"silent", silent}, {"full", full}, {"name", name},
               {"channel", channel}, {"group", group},   {"ends", ends}, {"parcel", parcel}};
    me = csp_node();
    size = csp_nodes();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && strcmp(argv[1], all[i].name) == 0)
            all[i].run();
    return 0;
}
