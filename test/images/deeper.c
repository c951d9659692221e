// SPDX-License-Identifier: BSD-3-Clause
// A library that a plug-in needs.
static int count;

int deeper_count(int by)
{
    count += by;
    return count;
}
