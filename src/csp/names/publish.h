// SPDX-License-Identifier: BSD-3-Clause
// Names of texts, for a layer that has no processes (mlt_upcalls.publish, look_up, unpublish): among
// the names that csp_register and csp_find speak to.
#pragma once

#include "base/upcalls.h"

struct mlt_rank;

mlt_publish_status mlt_publish_put(struct mlt_rank *rank, const char *call, const char *name,
                                   const char *text, char why[MLT_PUBLISH_WHY]);
mlt_publish_status mlt_publish_find(struct mlt_rank *rank, const char *call, const char *name,
                                    char text[MLT_PUBLISH_TEXT], char why[MLT_PUBLISH_WHY]);
mlt_publish_status mlt_publish_drop(struct mlt_rank *rank, const char *call, const char *name,
                                    char why[MLT_PUBLISH_WHY]);
