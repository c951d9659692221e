// SPDX-License-Identifier: BSD-3-Clause
// What docs/guide/csp.md tells, step by step.
//
//     mpicc tour.c -o tour
//     ./tour
#include <millet/csp.h>
#include <stdio.h>
#include <unistd.h>

// ---- processes

static int say(void *arg)
{
    for (int i = 1; i <= 2; i++) {
        printf("%s: %d\n", (const char *)arg, i);
        csp_yield();
    }
    return 0;
}

static void processes(void)
{
    CSP_PAR({say, "one", "first"}, {say, "two", "second"});
    printf("both have ended\n");
}

// ---- channels

static int count(void *arg)
{
    csp_out *out = arg;
    csp_hold(out);
    for (int i = 1; i <= 3; i++)
        csp_write(out, &i);
    return CSP_OK;
}

static int twice(void *arg)
{
    csp_pair *my = arg;
    int v;
    csp_status status;
    csp_hold(my->in);
    csp_hold(my->out);
    while ((status = csp_read(my->in, &v)) == CSP_OK) {
        v *= 2;
        if ((status = csp_write(my->out, &v)) != CSP_OK)
            break;
    }
    return status;
}

static int print(void *arg)
{
    csp_in *in = arg;
    int v;
    csp_status status;
    csp_hold(in);
    while ((status = csp_read(in, &v)) == CSP_OK)
        printf("%d\n", v);
    printf("%s\n", csp_status_text(status));
    return status;
}

static void channels(void)
{
    csp_chan *a = csp_chan_new("a", sizeof(int)), *b = csp_chan_new("b", sizeof(int));
    csp_pair middle = {csp_chan_in(a), csp_chan_out(b), sizeof(int)};

    CSP_PAR({count, csp_chan_out(a), "count"}, {twice, &middle, "twice"},
            {print, csp_chan_in(b), "print"});
    csp_chan_free(a);
    csp_chan_free(b);
}

// ---- a vector of processes, and what they return

static int square(void *arg)
{
    int *n = arg;
    return *n * *n;
}

static void vector(void)
{
    int numbers[100], squares[100], sum = 0;
    for (int i = 0; i < 100; i++)
        numbers[i] = i;
    csp_par_each(square, numbers, 100, sizeof(int), "square", squares);
    for (int i = 0; i < 100; i++)
        sum += squares[i];
    printf("the sum of squares is %d\n", sum);
}

static void forked(void)
{
    int seven = 7;
    csp_child *child = csp_fork(square, &seven, "square");
    printf("meanwhile\n");
    printf("7 * 7 = %d\n", csp_join(child));
}

// ---- alternation

static void alternation(void)
{
    csp_chan *numbers = csp_chan_new("numbers", sizeof(int));
    csp_in *in = csp_chan_in(numbers);
    csp_child *counter = csp_fork(count, csp_chan_out(numbers), "count");
    int v, ticks = 0;
    csp_guard guards[] = {csp_on_read(in, &v), csp_on_time(csp_after(0.001))};

    for (int more = 1; more;) {
        switch (csp_alt(guards, 2)) {
        case 0:
            more = guards[0].status == CSP_OK;
            if (more)
                printf("heard %d\n", v);
            break;
        case 1:
            ticks++;
            guards[1].at = csp_after(0.001);
            break;
        }
    }
    (void)ticks; // as many as it took milliseconds
    csp_join(counter);
    csp_chan_free(numbers);
}

// ---- an end as a value: the question carries the way back

typedef struct question {
    int n;
    csp_out *reply;
} question;

static int server(void *arg)
{
    csp_in *in = arg;
    question q;
    csp_status status;
    while ((status = csp_read(in, &q)) == CSP_OK) {
        int answer = q.n + 1;
        csp_write(q.reply, &answer);
    }
    return status;
}

static int client(void *arg)
{
    csp_out *out = arg;
    csp_chan *reply = csp_chan_new("reply", sizeof(int));
    csp_in *in = csp_chan_in(reply);
    question q = {41, csp_chan_out(reply)};
    int answer;
    csp_write(out, &q);
    csp_read(in, &answer);
    printf("the answer is %d\n", answer);
    csp_retire(out);
    csp_chan_free(reply);
    return 0;
}

static void ends(void)
{
    csp_chan *questions = csp_chan_new("questions", sizeof(question));
    CSP_PAR({server, csp_chan_in(questions), "server"},
            {client, csp_chan_out(questions), "client"});
    csp_chan_free(questions);
}

// ---- barriers

typedef struct walker {
    csp_barrier *barrier;
    int number, steps;
} walker;

static int walk(void *arg)
{
    walker *my = arg;
    for (int i = 1; i <= my->steps; i++) {
        csp_sync(my->barrier); // nobody takes step i before all have taken step i - 1
        printf("%d takes step %d\n", my->number, i);
    }
    csp_barrier_resign(my->barrier); // the others go on without this one
    return 0;
}

static void barriers(void)
{
    csp_barrier *barrier = csp_barrier_new("steps", 2);
    walker walkers[] = {{barrier, 1, 1}, {barrier, 2, 3}};
    csp_par_each(walk, walkers, 2, sizeof(walker), "walker", NULL);
    csp_barrier_free(barrier);
}

// ---- deadlines

static void deadlines(void)
{
    csp_chan *quiet = csp_chan_new("quiet", sizeof(int));
    csp_in *in = csp_chan_in(quiet);
    int v;
    if (csp_read_by(in, &v, csp_after(0.01)) == CSP_LATE)
        printf("nothing came in 10 ms\n");
    if (csp_read_by(in, &v, CSP_AT_ONCE) == CSP_LATE)
        printf("nothing is there\n");
    csp_chan_free(quiet);
}

// ---- the world outside

static int hear(void *arg)
{
    int *fd = arg;
    char text[32];
    ssize_t n = csp_fd_read(*fd, text, sizeof(text)); // blocks this process only
    printf("heard %.*s\n", (int)n, text);
    return 0;
}

static int tell(void *arg)
{
    int *fd = arg;
    csp_sleep(csp_after(0.01));
    csp_fd_write(*fd, "a word", 6);
    return 0;
}

static void outside(void)
{
    int fds[2];
    if (pipe(fds) != 0)
        return;
    CSP_PAR({hear, &fds[0], "hear"}, {tell, &fds[1], "tell"});
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    processes();
    channels();
    vector();
    forked();
    alternation();
    ends();
    barriers();
    deadlines();
    outside();
    return 0;
}
