// SPDX-License-Identifier: BSD-3-Clause
// Texts of schedules: what they say, and those that say nothing.
#include "trace/schedule.h"

#include "base/unit_test.h"

static void check_tree(void)
{
    mlt_trace_schedule s;
    CHECK(mlt_trace_schedule_read(&s, "r0,1,8,20 s5,0,8<1 s6,2,9<2^1 c7<3"));
    CHECK(s.actions == 4 && s.messages == 3 && s.sources == 4);
    const mlt_trace_action *a = s.action;
    CHECK(a[0].kind == 'r' && a[0].peer == 0 && a[0].slot == 1 && a[0].bytes == 8);
    CHECK(a[0].work_ns == 20 && a[0].sources == 0 && !a[0].last);
    CHECK(a[1].kind == 's' && a[1].peer == 5 && a[1].sources == 1 && a[1].last);
    CHECK(a[2].bytes == 9 && a[2].slot == 2 && a[2].sources == 2 && a[2].last);
    CHECK(s.source[a[2].first_source].action == 0 && !s.source[a[2].first_source].start);
    CHECK(s.source[a[2].first_source + 1].action == 1 && s.source[a[2].first_source + 1].start);
    CHECK(a[3].kind == 'c' && a[3].work_ns == 7 && a[3].last);
    mlt_trace_schedule_free(&s);
}

static void check_wrong(void)
{
    static const char *const wrong[] = {"x1",
                                        "s",
                                        "s1",
                                        "s1,2",
                                        "r1,2,3",
                                        "s1,2,3,4",
                                        "c",
                                        "c1<1",
                                        "c1 c1<0",
                                        "c1 c1<2",
                                        "c1 c1<",
                                        "c1  c1",
                                        " c1",
                                        "c1;c1",
                                        "s2147483648,0,1",
                                        "s0,4294967296,1",
                                        "c99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mlt_trace_schedule s;
        CHECK(!mlt_trace_schedule_read(&s, wrong[i]));
        mlt_trace_schedule_free(&s);
    }
}

int main(void)
{
    mlt_trace_schedule nothing;
    CHECK(mlt_trace_schedule_read(&nothing, "") && nothing.actions == 0);
    mlt_trace_schedule_free(&nothing);
    check_tree();
    check_wrong();
    return 0;
}
