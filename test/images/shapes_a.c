// SPDX-License-Identifier: BSD-3-Clause
// A library with a version script, which needs libshapes_b.so, which needs this one.
int copied = 40, copied_table[3] = {1, 2, 3};
static int inner = 70;
int *copied_pointer = &inner;
static int old_count, new_count;
int b_value(int x);

int versioned_1(void);
int versioned_2(void);
__asm__(".symver versioned_1, versioned@OLD");
__asm__(".symver versioned_2, versioned@@NEW");

int versioned_1(void)
{
    return 100 + old_count++;
}

int versioned_2(void)
{
    return 200 + new_count++;
}

// In data that may change, so that it is looked up for every rank.
static int (*of_old)(void) = versioned_1;

int old_inside(void)
{
    return of_old();
}

__attribute__((visibility("protected"))) int guarded(void)
{
    return 300 + copied;
}

static int (*of_guarded)(void) = guarded;

int protected_inside(void)
{
    return of_guarded();
}

static int doubled(int x)
{
    return 2 * x + old_count;
}

static int (*choose(void))(int)
{
    return doubled;
}

int chosen_in_library(int x) __attribute__((ifunc("choose")));

int *where_copied(void)
{
    return &copied;
}

int **where_copied_pointer(void)
{
    return &copied_pointer;
}

int a_value(int x)
{
    return x + copied;
}

int a_calls_b(int x)
{
    return x > 0 ? b_value(x - 1) : copied;
}
