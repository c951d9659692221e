// SPDX-License-Identifier: BSD-3-Clause
// Host lists and host files. Only this host can be used so far; anything else ends mpirun with a
// message.
#ifndef MLT_LAUNCH_PLAN_HOSTS_H
#define MLT_LAUNCH_PLAN_HOSTS_H

#include <stdint.h>

// This host's name, as messages and %h show it.
const char *mlt_hosts_own(void);

// Each returns the number of slots that were stated (":n", "slots=n"), 0 if none.
uint32_t mlt_hosts_list(const char *option, const char *list); // "a:4,b,user@c"
uint32_t mlt_hosts_file(const char *path);

#endif
