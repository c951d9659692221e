// SPDX-License-Identifier: BSD-3-Clause
// Predefined operations: what they are for, and that they compute.
#include "flow/graph/ops.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"

static bool combine(const char *op, flow_type kind, void *into, const void *with)
{
    mlt_reduction r;
    char why[200] = "";
    if (!mlt_flow_op_find(op, kind, &r, why, sizeof why))
        return false;
    CHECK(r.element == mlt_flow_type_bytes(kind) && r.commutes);
    r.kernel(into, with, 1);
    return true;
}

#define IS(op, kind, type, a, b, wanted)                                                           \
    do {                                                                                           \
        type into = (a), with = (b);                                                               \
        CHECK(combine(op, kind, &into, &with) && into == (type)(wanted));                          \
    } while (0)

static void refused(const char *op, flow_type kind, const char *wanted)
{
    mlt_reduction r;
    char why[200] = "";
    snprintf(now_testing, sizeof now_testing, "%s for type %d", op, (int)kind);
    CHECK(!mlt_flow_op_find(op, kind, &r, why, sizeof why));
    check_same_text("why", why, wanted);
}

int main(void)
{
    IS("sum", FLOW_DOUBLE, double, 1.5, 2, 3.5);
    IS("multiply", FLOW_FLOAT, float, 1.5f, 2, 3);
    IS("product", FLOW_LDOUBLE, long double, 1.5L, 2, 3);
    IS("prod", FLOW_DOUBLE_COMPLEX, double _Complex, 3, 2, 6);
    IS("sum", FLOW_FLOAT_COMPLEX, float _Complex, 3, 2, 5);
    IS("max", FLOW_CHAR, char, 'a', 'b', 'b');
    IS("max", FLOW_SCHAR, signed char, -1, 1, 1);
    IS("max", FLOW_UCHAR, unsigned char, 255, 1, 255);
    IS("min", FLOW_SHORT, short, -3, 4, -3);
    IS("min", FLOW_USHORT, unsigned short, 65535, 4, 4);
    IS("and", FLOW_INT, int, 4, 2, 1);
    IS("band", FLOW_UINT, unsigned, 6, 3, 2);
    IS("or", FLOW_BOOL, _Bool, 0, 1, 1);
    IS("bor", FLOW_LONG, long, 4, 3, 7);
    IS("xor", FLOW_ULONG, unsigned long, 4, 3, 0);
    IS("bxor", FLOW_LLONG, long long, 7, 2, 5);
    IS("sum", FLOW_ULLONG, unsigned long long, UINT64_MAX, 2, 1);
    refused("sum", FLOW_BOOL, "sum works on numbers, not on _Bool");
    refused("max", FLOW_DOUBLE_COMPLEX,
            "max works on integers and real numbers, not on double _Complex");
    refused("band", FLOW_DOUBLE, "band works on integers, not on double");
    refused("or", FLOW_FLOAT, "or works on integers and _Bool, not on float");
    refused("sum", FLOW_ANY, "sum works on numbers, not on bytes");
    refused("average", FLOW_INT,
            "there is no operation average; predefined are sum, product, max, min, and, or, xor, "
            "band, bor, bxor");
    CHECK(mlt_flow_op_known("multiply") && !mlt_flow_op_known("Sum"));
    CHECK(strcmp(mlt_flow_op_near("Sum"), "sum") == 0 && !mlt_flow_op_near("average"));
    return 0;
}
