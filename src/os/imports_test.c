// SPDX-License-Identifier: BSD-3-Clause
// Functions that this program calls are found, others are not.
#include "os/imports.h"

#include <stdio.h>
#include <unistd.h>

#include "base/unit_test.h"

int main(void)
{
    static const char *const called[] = {"mlt_no_such_function", "getppid"};
    static const char *const own[] = {"mlt_os_imports", "mlt_no_such_function", "getppi"};
    CHECK(getppid() >= 0);
    CHECK(mlt_os_imports(called, 2));
    CHECK(!mlt_os_imports(called, 1));
    CHECK(!mlt_os_imports(own, 3));
    return 0;
}
