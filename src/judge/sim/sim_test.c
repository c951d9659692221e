// SPDX-License-Identifier: BSD-3-Clause
// The simulator against sums by hand. Unless a test says otherwise the machine is
//
//     L 100   o 10   g 20   G 2   O 1   S 1000   exec 0.5
//
// so a message of s bytes holds its sender's CPU for 10+(s-1), both NICs for 20+2(s-1), and its
// receiver's CPU for 10+2(s-1) ns, and comes 110 ns after it is sent. "Of 1" is a message of one
// byte: 10, 20 and 10 ns.
#include "judge/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

static const mlt_sim_options by_hand = {
    .machine = {.L = 100, .o = 10, .g = 20, .G = 2, .O = 1, .S = 1000, .exec = 0.5},
    .keep_times = true,
    .keep_path = true};

// ---- small programs

static mlt_goal_program *ranks(uint32_t count)
{
    return mlt_goal_program_new(count);
}

static uint32_t add(mlt_goal_program *p, uint32_t rank, mlt_goal_kind kind, int peer, uint64_t size)
{
    mlt_goal_action action = {.kind = (uint8_t)kind,
                              .peer = peer,
                              .op = MLT_OP_SUM,
                              .type = MLT_OP_INT8,
                              .buf = {MLT_GOAL_MEMORY, MLT_GOAL_MEMORY},
                              .size = {size, size}};
    return mlt_goal_add(p, rank, &action);
}

static uint32_t send(mlt_goal_program *p, uint32_t rank, int to, uint64_t size)
{
    return add(p, rank, MLT_GOAL_SEND, to, size);
}

static uint32_t recv(mlt_goal_program *p, uint32_t rank, int from, uint64_t size)
{
    return add(p, rank, MLT_GOAL_RECV, from, size);
}

static uint32_t calc(mlt_goal_program *p, uint32_t rank, uint64_t ns)
{
    return add(p, rank, MLT_GOAL_CALC, 0, ns);
}

static void on_cpu(mlt_goal_program *p, uint32_t rank, uint32_t action, uint8_t cpu, uint8_t nic)
{
    p->rank[rank].actions[action].cpu = cpu;
    p->rank[rank].actions[action].nic = nic;
}

static void requ(mlt_goal_program *p, uint32_t rank, uint32_t action, uint32_t on)
{
    mlt_goal_require(p, rank, action, on);
}

static mlt_sim_result *run_on(mlt_goal_program *p, const mlt_sim_options *options)
{
    mlt_sim_result *result;
    char why[1024];
    if (mlt_sim_simulate(p, options, &result, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"the simulation failed");
    }
    mlt_goal_program_free(p);
    return result;
}

static mlt_sim_result *run(mlt_goal_program *p)
{
    return run_on(p, &by_hand);
}

// An action, by its number over all ranks, was from start to finish.
static bool was(const mlt_sim_result *r, uint32_t number, uint64_t start, uint64_t finish)
{
    if (r->action_start_ps[number] == start * 1000 && r->action_end_ps[number] == finish * 1000)
        return true;
    fprintf(stderr, "action %u: %.3f to %.3f\n", number, (double)r->action_start_ps[number] / 1e3,
            (double)r->action_end_ps[number] / 1e3);
    return false;
}

static bool step_is(const mlt_sim_result *r, uint64_t i, uint32_t rank, uint32_t action,
                    mlt_sim_why why, uint64_t start, uint64_t end)
{
    const mlt_sim_step *s = &r->path[i];
    if (i < r->path_count && s->place.rank == rank && s->place.action == action &&
        s->cause == why && s->start_ps == start * 1000 && s->end_ps == end * 1000)
        return true;
    for (uint64_t k = 0; k < r->path_count; k++)
        fprintf(stderr, "step %d: rank %u action %u why %d, %.3f to %.3f\n", (int)k,
                r->path[k].place.rank, r->path[k].place.action, r->path[k].cause,
                (double)r->path[k].start_ps / 1e3, (double)r->path[k].end_ps / 1e3);
    return false;
}

// ---- one message, two, three

static void check_one_send(void)
{
    mlt_goal_program *p = ranks(2);
    send(p, 0, 1, 11);
    recv(p, 1, 0, 11);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 20));  // CPU 10+10
    CHECK(was(r, 1, 0, 140)); // posted at 0; comes at 110, CPU 10+max(10,20)
    CHECK(r->cpu_start_ps[1] == 110000 && r->cpu_start_ps[0] == 0);
    CHECK(r->total_ps == 140000 && r->rank_end_ps[0] == 20000 && r->rank_end_ps[1] == 140000);
    CHECK(r->events == 3 && r->messages == 1 && r->bytes == 11 && r->actions == 2 && r->ranks == 2);
    CHECK(r->unexpected == 0);
    CHECK(r->path_count == 2 && step_is(r, 0, 0, 0, MLT_SIM_FIRST, 0, 20));
    CHECK(step_is(r, 1, 1, 0, MLT_SIM_MESSAGE, 110, 140));
    mlt_sim_result_free(r);
}

static void check_back_to_back(void)
{
    mlt_goal_program *p = ranks(2);
    for (int i = 0; i < 2; i++)
        send(p, 0, 1, 11);
    for (int i = 0; i < 2; i++)
        recv(p, 1, 0, 11);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 20));
    CHECK(was(r, 1, 40, 60)); // CPU free at 20, NIC at 20+20
    CHECK(was(r, 2, 0, 140)); // 110+10+20
    CHECK(was(r, 3, 0, 180)); // comes at 40+110; CPU free at 140, NIC at 110+40=150
    CHECK(r->path_count == 3 && step_is(r, 1, 0, 1, MLT_SIM_NIC, 40, 60));
    mlt_sim_result_free(r);

    mlt_sim_options slow_cpu = by_hand; // o 50 > g 20: now the CPU decides
    slow_cpu.machine.o = 50;
    p = ranks(2);
    for (int i = 0; i < 2; i++)
        send(p, 0, 1, 1);
    for (int i = 0; i < 2; i++)
        recv(p, 1, 0, 1);
    r = run_on(p, &slow_cpu);
    CHECK(was(r, 0, 0, 50) && was(r, 1, 50, 100));
    CHECK(was(r, 2, 0, 200)); // comes at 50+100, 50 of CPU
    CHECK(was(r, 3, 0, 250)); // comes at 50+150 = 200
    CHECK(step_is(r, 1, 0, 1, MLT_SIM_CPU, 50, 100));
    mlt_sim_result_free(r);
}

static void check_relay(void)
{
    mlt_goal_program *p = ranks(3);
    send(p, 0, 1, 1);
    uint32_t in = recv(p, 1, 0, 1), out = send(p, 1, 2, 1);
    requ(p, 1, out, in);
    recv(p, 2, 1, 1);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 10) && was(r, 1, 0, 120)); // 0+10+100, then 10
    CHECK(was(r, 2, 120, 130) && was(r, 3, 0, 240));
    CHECK(r->path_count == 4 && step_is(r, 2, 1, 1, MLT_SIM_DEPENDS, 120, 130));
    mlt_sim_result_free(r);
}

// Of no bytes as of one; and to oneself as to others.
static void check_nothing_and_self(void)
{
    mlt_goal_program *p = ranks(2);
    send(p, 0, 1, 0);
    recv(p, 1, 0, 0);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 10) && was(r, 1, 0, 120));
    mlt_sim_result_free(r);
    p = ranks(1);
    send(p, 0, 0, 1);
    recv(p, 0, 0, 1);
    r = run(p);
    CHECK(was(r, 0, 0, 10) && was(r, 1, 0, 120));
    mlt_sim_result_free(r);
    p = ranks(3); // ranks without actions
    calc(p, 1, 5);
    r = run(p);
    CHECK(r->rank_end_ps[0] == 0 && r->rank_end_ps[1] == 5000 && r->rank_end_ps[2] == 0 &&
          r->events == 1);
    mlt_sim_result_free(r);
    r = run(ranks(0));
    CHECK(r->total_ps == 0 && r->path_count == 0);
    mlt_sim_result_free(r);
}

// ---- rendezvous: more than S bytes; O 0 and G 0 here, so a message holds CPUs for 10

static mlt_sim_options rendezvous_machine(void)
{
    mlt_sim_options options = by_hand;
    options.machine.O = options.machine.G = 0;
    return options;
}

static void check_rendezvous_early(void)
{
    mlt_sim_options options = rendezvous_machine();
    mlt_goal_program *p = ranks(2);
    uint32_t s = send(p, 0, 1, 1001), after = calc(p, 0, 5);
    requ(p, 0, after, s);
    recv(p, 1, 0, 1001);
    mlt_sim_result *r = run_on(p, &options);
    CHECK(was(r, 0, 0, 110)); // matched when it comes
    CHECK(was(r, 1, 110, 115));
    CHECK(was(r, 2, 0, 120));
    mlt_sim_result_free(r);

    p = ranks(2); // exactly S bytes: eager
    send(p, 0, 1, 1000);
    recv(p, 1, 0, 1000);
    r = run_on(p, &options);
    CHECK(was(r, 0, 0, 10));
    mlt_sim_result_free(r);

    options.machine.O = 1; // the CPU has 10+1000 to do, and is not done when it is matched
    p = ranks(2);
    send(p, 0, 1, 1001);
    recv(p, 1, 0, 1001);
    r = run_on(p, &options);
    CHECK(was(r, 0, 0, 1010) && was(r, 1, 0, 110 + 10 + 1000));
    mlt_sim_result_free(r);
}

static void check_rendezvous_late(void)
{
    mlt_sim_options options = rendezvous_machine();
    mlt_goal_program *p = ranks(2);
    uint32_t s = send(p, 0, 1, 1001), after = calc(p, 0, 400);
    requ(p, 0, after, s);
    uint32_t work = calc(p, 1, 500), in = recv(p, 1, 0, 1001);
    requ(p, 1, in, work);
    on_cpu(p, 1, work, 1, 0); // so CPU 0 takes up the message at 110
    mlt_sim_result *r = run_on(p, &options);
    CHECK(was(r, 0, 0, 500)); // matched when the receive is posted
    CHECK(was(r, 1, 500, 900));
    CHECK(was(r, 3, 500, 500) && r->cpu_start_ps[3] == 110000); // all is there
    CHECK(r->unexpected == 1 && r->unexpected_ps == 390000);
    CHECK(r->path_count == 4 && step_is(r, 0, 1, 0, MLT_SIM_FIRST, 0, 500));
    CHECK(step_is(r, 1, 1, 1, MLT_SIM_DEPENDS, 500, 500)); // posted
    CHECK(step_is(r, 2, 0, 0, MLT_SIM_MATCHED, 500, 500)); // so the send ended
    CHECK(step_is(r, 3, 0, 1, MLT_SIM_DEPENDS, 500, 900));
    mlt_sim_result_free(r);

    p = ranks(2); // a small one that is synchronous all the same
    s = send(p, 0, 1, 1);
    p->rank[0].actions[s].flags = MLT_GOAL_SYNCHRONOUS;
    recv(p, 1, 0, 1);
    r = run(p);
    CHECK(was(r, 0, 0, 110));
    mlt_sim_result_free(r);
}

// ---- dependencies, CPUs, NICs

static void check_irequires(void)
{
    mlt_goal_program *p = ranks(2);
    uint32_t work = calc(p, 0, 1000), s = send(p, 0, 1, 1);
    on_cpu(p, 0, work, 1, 0);
    requ(p, 0, s, work | MLT_GOAL_STARTED);
    recv(p, 1, 0, 1);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 1000) && was(r, 1, 0, 10) && was(r, 2, 0, 120));
    mlt_sim_result_free(r);

    p = ranks(2); // and after its end
    work = calc(p, 0, 1000), s = send(p, 0, 1, 1);
    on_cpu(p, 0, work, 1, 0);
    requ(p, 0, s, work);
    recv(p, 1, 0, 1);
    r = run(p);
    CHECK(was(r, 1, 1000, 1010) && was(r, 2, 0, 1120));
    mlt_sim_result_free(r);

    p = ranks(2); // a receive has started when it is posted; then the CPU is there for the send
    uint32_t in = recv(p, 1, 0, 1);
    s = send(p, 1, 0, 1);
    requ(p, 1, s, in | MLT_GOAL_STARTED);
    send(p, 0, 1, 1);
    recv(p, 0, 1, 1);
    r = run(p);
    CHECK(was(r, 0, 0, 10) && was(r, 1, 0, 120) && was(r, 2, 0, 120) && was(r, 3, 0, 10));
    mlt_sim_result_free(r);
}

static void check_two_cpus(void)
{
    mlt_goal_program *p = ranks(1);
    calc(p, 0, 100);
    calc(p, 0, 100);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 100) && was(r, 1, 100, 200)); // one CPU: one after the other
    CHECK(step_is(r, 1, 0, 1, MLT_SIM_CPU, 100, 200));
    mlt_sim_result_free(r);

    p = ranks(1); // two: at once; and what waits for both starts when both have ended
    uint32_t a = calc(p, 0, 100), b = calc(p, 0, 70), c = calc(p, 0, 50);
    on_cpu(p, 0, b, 1, 0);
    on_cpu(p, 0, c, 1, 0);
    requ(p, 0, c, a);
    requ(p, 0, c, b);
    r = run(p);
    CHECK(was(r, 0, 0, 100) && was(r, 1, 0, 70) && was(r, 2, 100, 150));
    CHECK(r->rank_end_ps[0] == 150000 && step_is(r, 0, 0, 0, MLT_SIM_FIRST, 0, 100));
    mlt_sim_result_free(r);

    p = ranks(2); // CPU 0 computes for long; the receive names CPU 1, which takes up the message
    calc(p, 1, 1000);
    uint32_t in = recv(p, 1, 0, 1);
    on_cpu(p, 1, in, 1, 0);
    send(p, 0, 1, 1);
    r = run(p);
    CHECK(was(r, 1, 0, 1000) && was(r, 2, 0, 120));
    mlt_sim_result_free(r);
}

static void check_two_nics(void)
{
    mlt_sim_options options = by_hand;
    options.machine.O = 0;
    mlt_goal_program *p = ranks(2);
    send(p, 0, 1, 11);
    on_cpu(p, 0, send(p, 0, 1, 11), 0, 1);
    recv(p, 1, 0, 11);
    on_cpu(p, 1, recv(p, 1, 0, 11), 0, 1);
    mlt_sim_result *r = run_on(p, &options);
    CHECK(was(r, 0, 0, 10));
    CHECK(was(r, 1, 10, 20)); // its NIC is free, so the CPU decides
    CHECK(was(r, 2, 0, 140)); // 110 + 10+20
    CHECK(was(r, 3, 0, 170)); // comes at 120, CPU free at 140
    mlt_sim_result_free(r);
}

// A NIC's two directions do not disturb each other.
static void check_both_directions(void)
{
    mlt_sim_options options = by_hand;
    options.machine.g = 500;
    options.machine.L = 0;
    mlt_goal_program *p = ranks(2);
    for (int i = 0; i < 2; i++) {
        send(p, (uint32_t)i, 1 - i, 1);
        recv(p, (uint32_t)i, 1 - i, 1);
    }
    mlt_sim_result *r = run_on(p, &options);
    CHECK(was(r, 0, 0, 10) && was(r, 1, 0, 20) && was(r, 2, 0, 10) && was(r, 3, 0, 20));
    mlt_sim_result_free(r);
}

// ---- messages before their receives, wildcards

static void check_unexpected(void)
{
    mlt_goal_program *p = ranks(2);
    send(p, 0, 1, 1);
    uint32_t work = calc(p, 1, 50), more = calc(p, 1, 200), in = recv(p, 1, 0, 1);
    requ(p, 1, more, work);
    requ(p, 1, in, more);
    mlt_sim_result *r = run(p);
    // It comes at 110, when CPU 0 computes until 250; then the message, first put in, goes first,
    // though it is unexpected; at once the receive is posted. The CPU is done with it at 260.
    CHECK(was(r, 2, 50, 250) && was(r, 3, 250, 260) && r->cpu_start_ps[3] == 250000);
    CHECK(r->unexpected == 1 && r->unexpected_ps == 0);
    CHECK(step_is(r, r->path_count - 1, 1, 2, MLT_SIM_CPU, 250, 260));
    mlt_sim_result_free(r);

    p = ranks(2); // it comes at 110 and costs CPU 0 10 ns; the receive waits for a calc on CPU 1
    send(p, 0, 1, 1);
    work = calc(p, 1, 300), in = recv(p, 1, 0, 1), more = calc(p, 1, 7);
    uint32_t other = calc(p, 1, 100), third = calc(p, 1, 30);
    on_cpu(p, 1, work, 1, 0);
    requ(p, 1, in, work);
    requ(p, 1, more, in);
    requ(p, 1, third, other);
    r = run(p);
    CHECK(was(r, 4, 0, 100) && was(r, 5, 100, 130));   // CPU 0: 100, then 30 ...
    CHECK(r->cpu_start_ps[2] == 130000);               // ... so it waits from 110 to 130
    CHECK(was(r, 2, 300, 300) && was(r, 3, 300, 307)); // received long ago
    CHECK(r->unexpected == 1 && r->unexpected_ps == 170000);
    mlt_sim_result_free(r);
}

static void check_wildcard(void)
{
    mlt_goal_program *p = ranks(3);
    uint32_t late = calc(p, 1, 50), s = send(p, 1, 0, 1);
    requ(p, 1, s, late);
    uint32_t from2 = send(p, 2, 0, 1);
    p->rank[2].actions[from2].tag = 7;
    recv(p, 0, MLT_GOAL_ANY, 1); // posted first: gets what comes first, from 2
    recv(p, 0, 1, 1);
    p->rank[0].actions[0].tag = MLT_GOAL_ANY;
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 120)); // from 2 at 110
    CHECK(was(r, 1, 0, 170)); // from 1 at 160
    CHECK(r->path[r->path_count - 1].place.action == 1);
    mlt_sim_result_free(r);

    p = ranks(3); // a receive from 1 alone leaves the message of 2 to the later one
    send(p, 1, 0, 1);
    send(p, 2, 0, 1);
    uint32_t wait = calc(p, 0, 500), one = recv(p, 0, 2, 1), any = recv(p, 0, MLT_GOAL_ANY, 1);
    on_cpu(p, 0, wait, 1, 0);
    requ(p, 0, any, wait);
    requ(p, 0, one, wait);
    r = run(p);
    CHECK(was(r, 1, 500, 500) && was(r, 2, 500, 500) && r->unexpected == 2);
    // 110 for the first, 130 for the second, whose NIC is busy until 110+20
    CHECK(r->cpu_start_ps[2] == 110000 && r->cpu_start_ps[1] == 130000);
    CHECK(r->unexpected_ps == 390000 + 370000);
    mlt_sim_result_free(r);
}

// Without wildcards the order of the program decides who meets whom: here the second send starts
// first, and yet its message is for the second receive, of 3 bytes.
static void check_fixed_partners(void)
{
    mlt_goal_program *p = ranks(2);
    uint32_t first = send(p, 0, 1, 1), second = send(p, 0, 1, 3);
    requ(p, 0, first, second);
    recv(p, 1, 0, 1);
    recv(p, 1, 0, 3);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 1, 0, 12) && was(r, 0, 24, 34));  // NIC until 20+2*2
    CHECK(was(r, 3, 0, 124) && was(r, 2, 0, 144)); // 110+10+4; 134+10
    CHECK(r->other[0].rank == 1 && r->other[0].action == 0 && r->other[3].action == 1);
    mlt_sim_result_free(r);
}

// ---- local work

static void check_exec(void)
{
    mlt_goal_program *p = ranks(1);
    uint32_t a = add(p, 0, MLT_GOAL_EXEC, 0, 100), b = calc(p, 0, 25),
             n = add(p, 0, MLT_GOAL_NOP, 0, 9);
    uint32_t u = add(p, 0, MLT_GOAL_USER, 0, 10);
    requ(p, 0, b, a);
    requ(p, 0, n, b | MLT_GOAL_STARTED);
    requ(p, 0, u, n);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 0, 0, 50)); // 0.5 ns a byte
    CHECK(was(r, 1, 50, 75));
    CHECK(was(r, 2, 50, 50)); // a no-op needs no CPU
    CHECK(was(r, 3, 75, 80));
    CHECK(r->events == 4 && r->messages == 0);
    mlt_sim_result_free(r);

    p = ranks(2); // received by 140, then 11 bytes of work: 5.5
    send(p, 0, 1, 11);
    uint32_t in = add(p, 1, MLT_GOAL_RECV_EXEC, 0, 11), after = calc(p, 1, 4);
    requ(p, 1, after, in);
    r = run(p);
    CHECK(r->action_end_ps[1] == 145500 && r->action_start_ps[2] == 145500 &&
          r->action_end_ps[2] == 149500);
    CHECK(r->events == 5 && r->cpu_start_ps[1] == 110000);
    CHECK(r->path_count == 4 && r->path[2].cause == MLT_SIM_DEPENDS && r->path[2].place.rank == 1 &&
          r->path[2].start_ps == 140000 && r->path[2].end_ps == 145500);
    mlt_sim_result_free(r);

    p = ranks(2); // the same with a calc that is ready when the message is there: the CPU is free
    send(p, 0, 1, 1); // at 120, the calc was put in first
    in = add(p, 1, MLT_GOAL_RECV_USER, 0, 1);
    p->rank[1].actions[in].size[0] = 40; // 20 ns
    uint32_t w = calc(p, 1, 115), c = calc(p, 1, 30);
    on_cpu(p, 1, w, 1, 0);
    requ(p, 1, c, w);
    r = run(p);
    CHECK(was(r, 3, 120, 150) && was(r, 1, 0, 170));
    mlt_sim_result_free(r);
}

// What is ready at once: sends, then receives, then work, whatever their order in the program.
static void check_order(void)
{
    mlt_goal_program *p = ranks(2);
    calc(p, 0, 30);
    send(p, 0, 1, 1);
    recv(p, 1, 0, 1);
    mlt_sim_result *r = run(p);
    CHECK(was(r, 1, 0, 10) && was(r, 0, 10, 40));
    mlt_sim_result_free(r);

    p = ranks(2);
    uint32_t first = calc(p, 0, 5), work = calc(p, 0, 30), s = send(p, 0, 1, 1);
    requ(p, 0, work, first);
    requ(p, 0, s, first);
    recv(p, 1, 0, 1);
    r = run(p);
    CHECK(was(r, 2, 5, 15) && was(r, 1, 15, 45));
    mlt_sim_result_free(r);

    p = ranks(1); // three wait for the CPU; those that were ready earlier go first
    uint32_t a = calc(p, 0, 100), b = calc(p, 0, 10), c = calc(p, 0, 1), d = calc(p, 0, 2);
    on_cpu(p, 0, b, 1, 0);
    requ(p, 0, c, b); // put in when b runs, ready at 10
    r = run(p);
    CHECK(was(r, a, 0, 100) && was(r, d, 100, 102) && was(r, c, 102, 103));
    mlt_sim_result_free(r);
}

// ---- collectives in closed form

static mlt_goal_program *binomial(uint32_t count, uint64_t size)
{
    mlt_goal_program *p = ranks(count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t in = MLT_GOAL_NONE, bit = 1;
        if (i) {
            while (2 * bit <= i)
                bit *= 2;
            in = recv(p, i, (int)(i - bit), size);
            bit *= 2;
        }
        for (; i + bit < count; bit *= 2) {
            uint32_t out = send(p, i, (int)(i + bit), size);
            if (in != MLT_GOAL_NONE)
                requ(p, i, out, in);
        }
    }
    return p;
}

static void check_binomial(void)
{
    // A hop is 2o+L = 120, sends of a rank are g = 20 apart. Rank 0 sends to 1, 2, 4 at 0, 20, 40;
    // 1 to 3 and 5 at 120 and 140; 2 to 6 at 140; 3 to 7 at 240.
    static const uint64_t end[8] = {50, 150, 150, 250, 160, 260, 260, 360};
    mlt_sim_result *r = run(binomial(8, 1));
    for (int i = 0; i < 8; i++)
        CHECK(r->rank_end_ps[i] == end[i] * 1000);
    CHECK(r->total_ps == 360000 && r->events == 21 && r->messages == 7 && r->path_count == 6);
    mlt_sim_result_free(r);
    // Closed form: the last leaf of 2^k ranks has k hops, if sends are not further apart than that.
    for (uint32_t k = 1; k <= 12; k++) {
        r = run(binomial(1u << k, 5));
        CHECK(r->total_ps == k * (10 + 100 + 10 + 2 * 4) * 1000);
        CHECK(r->events == 3 * ((UINT64_C(1) << k) - 1) &&
              r->bytes == 5 * ((UINT64_C(1) << k) - 1));
        mlt_sim_result_free(r);
    }
}

static void check_ring(void)
{
    mlt_goal_program *p = ranks(10);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t out = send(p, i, (int)((i + 1) % 10), 3), in = recv(p, i, (int)((i + 9) % 10), 3);
        if (i)
            requ(p, i, out, in);
    }
    mlt_sim_result *r = run(p);
    CHECK(r->total_ps == 10 * (110 + 10 + 2 * 2) * 1000); // a hop: o+L, then o+(s-1)G
    CHECK(r->rank_end_ps[0] == r->total_ps && r->path_count == 20);
    mlt_sim_result_free(r);
}

static void check_gather(void)
{
    mlt_goal_program *p = ranks(33);
    for (uint32_t i = 1; i < 33; i++) {
        send(p, i, 0, 11);
        recv(p, 0, (int)i, 11);
    }
    mlt_sim_result *r = run(p);
    // All 32 come at 110; CPU 30 and NIC 40 each, in the order of their senders.
    CHECK(r->total_ps == (110 + 31 * 40 + 30) * 1000);
    for (uint32_t i = 0; i < 32; i++)
        CHECK(r->cpu_start_ps[i] == (110 + i * 40) * 1000);
    CHECK(r->path_count == 33);
    for (uint32_t i = 1; i < 33; i++)
        CHECK(step_is(r, i, 0, i - 1, i == 1 ? MLT_SIM_MESSAGE : MLT_SIM_NIC, 110 + (i - 1) * 40,
                      140 + (i - 1) * 40));
    mlt_sim_result_free(r);
}

// ---- prices

static void check_prices(void)
{
    CHECK(mlt_loggops_default.L == 2500 && mlt_loggops_default.o == 1500);
    CHECK(mlt_loggops_default.g == 1000 && mlt_loggops_default.G == 6);
    CHECK(mlt_loggops_default.O == 0 && mlt_loggops_default.S == 65535);
    mlt_sim_options options = {.machine = mlt_loggops_default};
    mlt_goal_program *p = ranks(2);
    send(p, 0, 1, 1001);
    recv(p, 1, 0, 1001);
    mlt_sim_result *r = run_on(p, &options);
    CHECK(r->rank_end_ps[0] == 1500000 && r->rank_end_ps[1] == (1500 + 2500 + 1500 + 6000) * 1000);
    CHECK(!r->action_start_ps && !r->path);
    mlt_sim_result_free(r);
    options.machine.G = 0.0125; // parts of a ns count
    p = ranks(2);
    send(p, 0, 1, 1001);
    recv(p, 1, 0, 1001);
    r = run_on(p, &options);
    CHECK(r->rank_end_ps[1] == 5512500);
    mlt_sim_result_free(r);
}

// The example of docs/reference/goal-simulator.md.
static void check_documented(void)
{
    mlt_sim_options options = {.machine = mlt_loggops_default, .keep_times = true};
    mlt_goal_program *p = ranks(3);
    send(p, 0, 1, 101);
    send(p, 0, 2, 101);
    calc(p, 0, 1000);
    uint32_t r = recv(p, 1, 0, 101), s = send(p, 1, 2, 1);
    requ(p, 1, s, r);
    calc(p, 2, 9000);
    recv(p, 2, 0, 101);
    recv(p, 2, 1, 1);
    mlt_sim_result *result = run_on(p, &options);
    CHECK(was(result, 0, 0, 1500) && was(result, 1, 2500, 4000) && was(result, 2, 1500, 2500));
    CHECK(was(result, 3, 0, 6100) && was(result, 4, 6100, 7600));
    CHECK(was(result, 5, 0, 9000) && was(result, 6, 0, 11100) && was(result, 7, 0, 12600));
    mlt_sim_result_free(result);
}

// ---- what cannot be simulated

static void refused(mlt_goal_program *p, const mlt_sim_options *options, const char *expected)
{
    mlt_sim_result *result = (mlt_sim_result *)p;
    char why[1024] = "";
    mlt_status status = mlt_sim_simulate(p, options, &result, why, sizeof why);
    if (status == MLT_OK || result || strcmp(why, expected) != 0) {
        fprintf(stderr, "said: %s\n", why);
        failed(__FILE__, __LINE__, expected);
    }
    char little[20]; // a short place for the sentence gets its beginning
    CHECK(mlt_sim_simulate(p, options, &result, little, sizeof little) == status);
    CHECK(strncmp(little, expected, sizeof little - 1) == 0 && strlen(little) == 19);
    mlt_goal_program_free(p);
}

static void check_deadlocks(void)
{
    mlt_goal_program *p = ranks(2); // both receive first
    for (int i = 0; i < 2; i++) {
        uint32_t in = recv(p, (uint32_t)i, 1 - i, 1), out = send(p, (uint32_t)i, 1 - i, 1);
        requ(p, (uint32_t)i, out, in);
    }
    refused(p, &by_hand,
            "deadlock: 4 of 4 actions never end: rank 0, action 0 (recv 0,1 from 1) waits for a "
            "message of rank 1; rank 1, action 0 (recv 0,1 from 0) waits for a message of rank 0; "
            "and 2 more");
    p = ranks(2); // both send first, too much
    for (int i = 0; i < 2; i++) {
        uint32_t out = send(p, (uint32_t)i, 1 - i, 1001), in = recv(p, (uint32_t)i, 1 - i, 1001);
        requ(p, (uint32_t)i, in, out);
    }
    refused(
        p, &by_hand,
        "deadlock: 4 of 4 actions never end: rank 0, action 0 (send 0,1001 to 1) waits for rank "
        "1 to receive it; rank 1, action 0 (send 0,1001 to 0) waits for rank 0 to receive it; "
        "and 2 more");
    p = ranks(1);
    for (int i = 0; i < 5; i++)
        recv(p, 0, MLT_GOAL_ANY, 1);
    refused(
        p, &by_hand,
        "deadlock: 5 of 5 actions never end: rank 0, action 0 (recv 0,1 from any) waits for a "
        "message of any rank; rank 0, action 1 (recv 0,1 from any) waits for a message of any "
        "rank; rank 0, action 2 (recv 0,1 from any) waits for a message of any rank; and 2 more");
    p = ranks(1); // round within a rank
    calc(p, 0, 1);
    calc(p, 0, 2);
    calc(p, 0, 3);
    requ(p, 0, 1, 2);
    requ(p, 0, 2, 1);
    refused(p, &by_hand,
            "deadlock: 2 of 3 actions never end: rank 0, action 1 (calc 2) waits for action 2 of "
            "the same rank; rank 0, action 2 (calc 3) waits for action 1 of the same rank");
    p = ranks(1); // starting round
    calc(p, 0, 2);
    calc(p, 0, 3);
    requ(p, 0, 0, 1 | MLT_GOAL_STARTED);
    requ(p, 0, 1, 0);
    refused(p, &by_hand,
            "deadlock: 2 of 2 actions never end: rank 0, action 0 (calc 2) waits for action 1 of "
            "the same rank; rank 0, action 1 (calc 3) waits for action 0 of the same rank");
}

static void check_refusals(void)
{
    mlt_goal_program *p = ranks(2);
    send(p, 0, 1, 1);
    send(p, 0, 1, 2);
    recv(p, 1, 0, 1);
    refused(p, &by_hand, "rank 0, action 1 (send 0,2 to 1) is received by nobody");
    p = ranks(2); // the same if there are wildcards
    send(p, 0, 1, 1);
    send(p, 0, 1, 2);
    recv(p, 1, MLT_GOAL_ANY, 1);
    refused(p, &by_hand, "rank 0, action 1 (send 0,2 to 1) is received by nobody");
    p = ranks(2);
    send(p, 0, 2, 1);
    refused(p, &by_hand, "action 0 of rank 0 is not valid: its peer is no rank of the program");
    p = ranks(2);
    calc(p, 1, 1);
    p->rank[1].actions[0].kind = 77;
    refused(p, &by_hand, "action 0 of rank 1 is not valid: there is no such kind of action");
    p = ranks(2);
    recv(p, 1, -2, 1);
    refused(p, &by_hand, "action 0 of rank 1 is not valid: its peer is no rank of the program");
    p = ranks(2);
    recv(p, 1, 0, 1);
    p->rank[1].actions[0].tag = -2;
    refused(p, &by_hand, "action 0 of rank 1 is not valid: its tag is negative");
    p = ranks(2);
    calc(p, 1, 1);
    calc(p, 1, 1);
    requ(p, 1, 0, 1);
    p->rank[1].deps[0].on = 5;
    refused(p, &by_hand, "dependency 0 of rank 1 names an action that is not there");
    p = ranks(2);
    calc(p, 1, UINT64_C(1) << 53);
    refused(p, &by_hand,
            "an action of rank 1 has more than 1125899906842623 bytes or ns, the most that can be "
            "simulated");
    p = ranks(1);
    for (uint32_t i = 0; i < 20; i++)
        if (calc(p, 0, UINT64_C(500000000000000)))
            requ(p, 0, i, i - 1);
    refused(p, &by_hand, "the simulated time goes beyond 2^62 ps (53 days)");
    mlt_sim_options options = by_hand;
    options.machine.L = NAN;
    refused(ranks(1), &options, "L is nan, but must be a number of ns from 0 to 5.76461e+14");
    options = by_hand;
    options.machine.exec = -1;
    refused(ranks(1), &options, "exec is -1, but must be a number of ns from 0 to 5.76461e+14");
}

// ---- progress

static void saw(void *user, double done)
{
    double *last = user;
    CHECK(done >= *last && done <= 1);
    *last = done;
}

static void check_progress(void)
{
    double last = 0;
    mlt_sim_options options = {.machine = by_hand.machine, .progress = saw, .user = &last};
    mlt_sim_result *r = run_on(binomial(1 << 15, 1), &options);
    CHECK(last == 1 && r->seconds > 0);
    mlt_sim_result_free(r);
}

int main(void)
{
    check_one_send();
    check_back_to_back();
    check_relay();
    check_nothing_and_self();
    check_rendezvous_early();
    check_rendezvous_late();
    check_irequires();
    check_two_cpus();
    check_two_nics();
    check_both_directions();
    check_unexpected();
    check_wildcard();
    check_fixed_partners();
    check_exec();
    check_order();
    check_binomial();
    check_ring();
    check_gather();
    check_prices();
    check_documented();
    check_deadlocks();
    check_refusals();
    check_progress();
    return 0;
}
