// SPDX-License-Identifier: BSD-3-Clause
#include "launch/live/progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "launch/loop.h"
#include "launch/say.h"
#include "os/os.h"

static const uint64_t progress_tick_ns = UINT64_C(1000000000),
                      progress_plain_tick_ns = UINT64_C(5000000000);

struct mlt_live_progress {
    mlt_live *live;
    mlt_loop_timer timer;
    bool plain, shows;
    mlt_live_sum before;
    uint64_t before_ms; // 0: there is none
};

uint64_t mlt_live_sum_distances(const uint64_t by_distance[MLT_CTL_DISTANCES])
{
    uint64_t sum = 0;
    for (int d = 0; d < MLT_CTL_DISTANCES; d++)
        sum += by_distance[d];
    return sum;
}

static uint64_t rate(uint64_t now, uint64_t before, uint64_t ms)
{
    const double most = 1e18; // that of a damaged snapshot may be more than an integer holds
    double a_second = ms && now > before ? (double)(now - before) * 1e3 / (double)ms : 0;
    return (uint64_t)(a_second < most ? a_second : most);
}

void mlt_live_status_line(const mlt_live_job *job, const mlt_live_sum *now,
                          const mlt_live_sum *before, uint64_t ms, mlt_text *out)
{
    char n[MLT_NUMBER_BYTES];
    mlt_text_add(out, "%.1f s:", (double)job->age_ms / 1e3);
    if (now->unborn)
        mlt_text_add(out, " %s rank%s,", mlt_number(n, now->unborn),
                     now->unborn == 1 ? " starts" : "s start");
    mlt_text_add(out, " %s rank%s compute%s,", mlt_number(n, now->computing),
                 now->computing == 1 ? "" : "s", now->computing == 1 ? "s" : "");
    mlt_text_add(out, " %s wait%s", mlt_number(n, now->waiting), now->waiting == 1 ? "s" : "");
    if (now->ended)
        mlt_text_add(out, ", %s ended", mlt_number(n, now->ended));
    uint64_t messages = mlt_live_sum_distances(now->messages),
             bytes = mlt_live_sum_distances(now->bytes);
    if (ms == 0) {
        mlt_text_add(out, "; %s messages", mlt_number(n, messages));
        return;
    }
    mlt_text_add(out, "; %s messages/s",
                 mlt_number(n, rate(messages, mlt_live_sum_distances(before->messages), ms)));
    mlt_text_add(out, ", %s/s",
                 mlt_bytes(n, rate(bytes, mlt_live_sum_distances(before->bytes), ms)));
}

// mlt_live_want calls it when the snapshot is there.
static void progress_on_snapshot(void *user, const mlt_live_job *job, const mlt_live_snap *snap)
{
    mlt_live_progress *p = user;
    mlt_live_sum now = mlt_live_snap_sum(snap);
    mlt_text line = {0};
    mlt_text_add(&line, "%s: ", mlt_say_name());
    mlt_live_status_line(job, &now, &p->before, p->before_ms ? job->age_ms - p->before_ms : 0,
                         &line);
    // On a terminal the cursor stays at its beginning: what is printed next takes its place.
    mlt_text_add(&line, p->plain ? "\n" : "\033[K\r");
    mlt_say_raw(line.text, line.length);
    mlt_text_free(&line);
    p->shows = true;
    p->before = now;
    p->before_ms = job->age_ms ? job->age_ms : 1;
    mlt_loop_alarm(&p->timer,
                   mlt_os_now_ns() + (p->plain ? progress_plain_tick_ns : progress_tick_ns));
}

static void progress_on_timer(mlt_loop_timer *timer)
{
    mlt_live_progress *p = mlt_container_of(timer, mlt_live_progress, timer);
    mlt_live_want(p->live, progress_on_snapshot, p);
}

mlt_live_progress *mlt_live_progress_new(mlt_live *live, const mlt_options *options)
{
    if (options->progress == MLT_PROGRESS_NONE ||
        (options->progress == MLT_PROGRESS_LINE && !isatty(STDERR_FILENO)))
        return NULL;
    mlt_live_progress *p = mlt_xcalloc(1, sizeof *p);
    p->live = live;
    p->plain = options->progress == MLT_PROGRESS_PLAIN;
    p->timer.ring = progress_on_timer;
    mlt_loop_alarm(&p->timer, mlt_os_now_ns() + progress_tick_ns);
    return p;
}

void mlt_live_progress_free(mlt_live_progress *p)
{
    if (!p)
        return;
    if (p->shows && !p->plain)
        mlt_say_raw("\033[K", 3);
    mlt_loop_alarm(&p->timer, 0);
    free(p);
}
