// SPDX-License-Identifier: BSD-3-Clause
#include "launch/globals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/elf.h"
#include "launch/numbers.h"
#include "launch/say.h"

enum { MOST_NAMED = 8 };

void mlt_globals_note(const char *path, const char *dir, const char *name, uint32_t ranks)
{
    char *whole =
        dir && path[0] != '/' ? mlt_need_text("%s/%s", dir, path) : mlt_need_text("%s", path);
    int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(whole);
    if (fd < 0)
        return; // executable but not readable: nothing to tell
    mlt_elf_globals globals;
    mlt_elf_read(fd, MOST_NAMED, &globals);
    close(fd);
    char number[MLT_NUMBER_BYTES], bytes[MLT_NUMBER_BYTES];
    mlt_number(number, ranks);
    if (!globals.mpi) {
        // not a program of ours: it will start one, or none
    } else if (globals.stripped && globals.bytes) {
        mlt_say(
            "note: %s ranks share one process, and with it %s of writable data of %s, which has no "
            "names (it is stripped)",
            number, mlt_bytes(bytes, globals.bytes), name);
    } else if (globals.count) {
        char *list = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&list, &size);
        for (size_t i = 0; out && i < globals.kept; i++)
            fprintf(out, "%s%s (%s)", i ? ", " : "", globals.first[i].name,
                    mlt_bytes(bytes, globals.first[i].bytes));
        if (out && globals.count > globals.kept)
            fprintf(out, " and %s more", mlt_number(bytes, globals.count - globals.kept));
        if (out)
            fclose(out);
        mlt_say("note: %s ranks share one process, and with it these globals of %s: %s", number,
                name, list ? list : "");
        free(list);
    }
    mlt_elf_fini(&globals);
}
