// SPDX-License-Identifier: BSD-3-Clause
// A server in C for squares.py: it makes two channels and gives them names, reads numbers from one, and writes each with its root
// to the other, until its clients have retired.
//
//     mpicc squares.c -o squares
//     mpirun -n 1 ./squares : -n 1 python3 squares.py
#include <math.h>
#include <millet/csp.h>
#include <stdio.h>

typedef struct answer { // in Python: type="id"
    int number;
    double root;
} answer;

int main(void)
{
    csp_chan *questions = csp_chan_new("questions", sizeof(int));
    csp_chan *answers = csp_chan_new("answers", sizeof(answer));
    csp_in *in = csp_chan_in(questions);
    csp_out *out = csp_chan_out(answers);
    if (csp_register_chan("questions", questions) != CSP_OK ||
        csp_register_chan("answers", answers) != CSP_OK) {
        fprintf(stderr, "squares: %s\n", csp_why());
        return 1;
    }
    answer a;
    while (csp_read(in, &a.number) == CSP_OK) {
        a.root = sqrt(a.number);
        if (csp_write(out, &a) != CSP_OK)
            break;
    }
    csp_retire(in);
    csp_retire(out);
    return 0;
}
