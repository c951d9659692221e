// SPDX-License-Identifier: BSD-3-Clause
// A library of the program's own, with globals, that calls back into it.
extern int of_program;
extern int (*of_program_too)(int);
int of_library = 10;
static int hidden;

int *library_where(void)
{
    return &of_library;
}

int library_add(int x)
{
    hidden += x;
    of_library += hidden;
    of_program++;
    return of_program_too ? of_program_too(of_library) : -1;
}
