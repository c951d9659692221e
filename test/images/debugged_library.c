// SPDX-License-Identifier: BSD-3-Clause
int of_library = 7;

int step(int x)
{
    of_library += x;
    return of_library;
}
