// SPDX-License-Identifier: BSD-3-Clause
// Sources of events. All have the monotonic clock of the host, in nanoseconds, and give their events
// in the order of time.
#pragma once

enum {
    MLT_SOURCE_MESSAGES,    // messages, and waiting for them
    MLT_SOURCE_COLLECTIVES, // plans
    MLT_SOURCE_HOSTS,       // connections
    MLT_SOURCES,
};
