// SPDX-License-Identifier: BSD-3-Clause
int of_late = 70;

int late(int x)
{
    of_late += x;
    return of_late; // line 7
}
