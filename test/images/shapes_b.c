// SPDX-License-Identifier: BSD-3-Clause
// Linked with -Bsymbolic; needs libshapes_a.so, which needs this one.
int a_calls_b(int x);
int a_value(int x);
int symbolic = 1;
static int (*to_a[])(int) = {a_calls_b, a_value};
static int seen;

__attribute__((constructor(150))) static void begin(void)
{
    seen = 1;
}

__attribute__((constructor)) static void then(void)
{
    seen = 10 * seen + 2;
}

int order_seen(void)
{
    return seen;
}

int symbolic_inside(void)
{
    return symbolic++;
}

int b_value(int x)
{
    symbolic += x;
    return to_a[x % 2](x) + symbolic;
}

int b_calls_a(int x)
{
    return to_a[1](x);
}
