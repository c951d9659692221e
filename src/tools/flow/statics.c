// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/statics.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "image/elf.h"

enum { STATICS_NAMED = 4 }; // of a file

bool mlt_flow_statics_none(const char *object, const char *source)
{
    mlt_elf_globals found;
    int fd = open(object, O_RDONLY | O_CLOEXEC);
    mlt_elf_read_object(fd, &found);
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < found.kept && i < STATICS_NAMED; i++)
        fprintf(stderr,
                "%s: error: instances would share the %svariable '%s': put it into the "
                "data_section of its module, make it const, or build with --shared-statics\n",
                source, found.first[i].thread ? "thread-local " : "", found.first[i].name);
    if (found.kept > STATICS_NAMED)
        fprintf(stderr, "%s: error: ... and %zu more\n", source, found.count - STATICS_NAMED);
    bool none = found.kept == 0;
    mlt_elf_fini(&found);
    return none;
}
