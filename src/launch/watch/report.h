// SPDX-License-Identifier: BSD-3-Clause
// --report: one screen at the end of the job.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "boot/ctl.h"
#include "launch/plan/plan.h"

typedef struct mlt_report mlt_report;

mlt_report *mlt_report_new(const mlt_placement *plan);

void mlt_report_add_cores(mlt_report *report, uint32_t cores); // of a host
void mlt_report_free(mlt_report *report);

void mlt_report_calls(mlt_report *report, const mlt_ctl_call *calls, size_t count);
void mlt_report_stats(mlt_report *report, uint32_t worker, const mlt_ctl_stats *stats);
// Of a flow program; once. more: queues that are not among them.
void mlt_report_queues(mlt_report *report, const mlt_ctl_queue *queues, size_t count,
                       uint32_t more);
// A process has ended, whose memory was `peak_bytes` at most.
void mlt_report_ended(mlt_report *report, uint64_t peak_bytes);

// grains: how mpirun laid out the ranks, and why (launch/plan/grain.h).
void mlt_report_print(mlt_report *report, const char *program, const mlt_texts *grains,
                      uint64_t wall_ns, FILE *out);

// One line on what a larger -nfg would bring, if the numbers say so; else nothing. After
// mlt_report_print.
void mlt_report_advise(const mlt_report *report, FILE *out);
