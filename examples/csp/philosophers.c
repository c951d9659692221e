// SPDX-License-Identifier: BSD-3-Clause
// Five philosophers dine. A fork is a process, too: it hears from the philosopher on either side
// who takes it, and then from the same one that it is free again.
//
//     mpicc philosophers.c -o philosophers
//     ./philosophers             one of them takes the right fork first: all eat
//     ./philosophers deadlock    all take the left fork first: Millet tells who waits for whom
#include <millet/csp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SEATS = 5, MEALS = 3 };

typedef struct fork {
    csp_in *left, *right; // from the philosophers on its two sides
} fork;

static int be_fork(void *arg)
{
    fork *my = arg;
    int who;
    csp_guard guards[] = {csp_on_read(my->left, &who), csp_on_read(my->right, &who)};
    for (;;) {
        int side = csp_alt(guards, 2);
        if (guards[side].status != CSP_OK) { // that one has left: only the other one is heard
            guards[side].off = true;
            if (guards[0].off && guards[1].off)
                return 0;
        } else {
            csp_read(side == 0 ? my->left : my->right, &who);
        }
    }
}

typedef struct philosopher {
    csp_out *first, *second; // to the forks, in the order of taking
    int seat;
} philosopher;

static int be_philosopher(void *arg)
{
    philosopher *my = arg;
    csp_hold(my->first); // both are retired when this process ends
    csp_hold(my->second);
    for (int meal = 1; meal <= MEALS; meal++) {
        csp_write(my->first, &my->seat);
        csp_sleep(csp_after(0.001)); // long enough for a neighbour to do the same
        csp_write(my->second, &my->seat);
        printf("philosopher %d eats meal %d\n", my->seat, meal);
        csp_write(my->second, &my->seat);
        csp_write(my->first, &my->seat);
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool deadlock = argc > 1 && strcmp(argv[1], "deadlock") == 0;
    fork forks[SEATS];
    philosopher philosophers[SEATS];
    for (int i = 0; i < SEATS; i++) {
        // Philosopher i sits between fork i, on the left, and fork i + 1.
        int next = (i + 1) % SEATS;
        char name[32];
        snprintf(name, sizeof(name), "%d takes fork %d", i, i);
        csp_chan *left = csp_chan_new(name, sizeof(int));
        snprintf(name, sizeof(name), "%d takes fork %d", i, next);
        csp_chan *right = csp_chan_new(name, sizeof(int));
        forks[i].right = csp_chan_in(left);
        forks[next].left = csp_chan_in(right);
        csp_out *to_left = csp_chan_out(left), *to_right = csp_chan_out(right);
        bool other_way = i == 0 && !deadlock;
        philosophers[i] =
            (philosopher){other_way ? to_right : to_left, other_way ? to_left : to_right, i};
    }

    csp_proc all[2 * SEATS];
    static const char *names[] = {"fork 0", "fork 1", "fork 2", "fork 3", "fork 4",
                                  "phil 0", "phil 1", "phil 2", "phil 3", "phil 4"};
    for (int i = 0; i < SEATS; i++) {
        all[i] = (csp_proc){be_fork, &forks[i], names[i], 0};
        all[SEATS + i] = (csp_proc){be_philosopher, &philosophers[i], names[SEATS + i], 0};
    }
    int result = csp_par(all, 2 * SEATS);
    printf("all have eaten\n");
    return result;
}
