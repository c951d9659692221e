// SPDX-License-Identifier: BSD-3-Clause
// As many elements as the program's argument says.
#include <stdlib.h>

#include "Pour.flow.h"

int Pour_run(Pour *my)
{
    long most = my->flow.argc > 1 ? atol(my->flow.argv[1]) : 2000;
    size_t count = (size_t)flow_const(my, "KIB") * 1024 / sizeof(long);

    for (long i = 0; i < most; i++) {
        long *v = flow_new(my, count);
        v[0] = v[count - 1] = i;
        flow_give(my, v, count);
    }
    return 0;
}
