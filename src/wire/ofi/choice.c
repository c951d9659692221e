// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "wire/ofi/fabric.h"

mlt_status mlt_fabric_choose(const char *text, mlt_fabric_choice *choice)
{
    static const char prefix[] = "ofi:";
    *choice = (mlt_fabric_choice){.wanted = strcmp(text, "tcp") != 0};
    if (!choice->wanted || strcmp(text, "auto") == 0)
        return MLT_OK;
    choice->demanded = true;
    if (strcmp(text, "ofi") == 0)
        return MLT_OK;
    const char *name = text + sizeof prefix - 1;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0 || !*name ||
        strlen(name) >= sizeof choice->provider)
        return MLT_ERR_INVALID;
    strcpy(choice->provider, name);
    return MLT_OK;
}
