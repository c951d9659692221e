// SPDX-License-Identifier: BSD-3-Clause
// The collective modules. They have a default queue on each side, untyped, and no code: lower.h
// makes parts of them.
#include <millet/flow.h>

#include "base/export.h"

static const flow_queue_decl both[] = {
    {.name = "in", .input = true, .optional = true},
    {.name = "out", .optional = true},
};

MLT_EXPORT const flow_module flow_Reduce = {.name = "Reduce", .queues = both, .queue_count = 2};
MLT_EXPORT const flow_module flow_Broadcast = {
    .name = "Broadcast", .queues = both, .queue_count = 2};
MLT_EXPORT const flow_module flow_Deal = {.name = "Deal", .queues = both, .queue_count = 2};
MLT_EXPORT const flow_module flow_Collect = {.name = "Collect", .queues = both, .queue_count = 2};
