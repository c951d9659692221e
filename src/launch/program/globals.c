// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program/globals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/text.h"
#include "image/elf.h"
#include "launch/say.h"

enum { MOST_NAMED = 8 };

static void list_names(const mlt_elf_globals *globals, FILE *out)
{
    char text[MLT_NUMBER_BYTES];
    for (size_t i = 0; i < globals->kept; i++)
        fprintf(out, "%s%s (%s)", i ? ", " : "", globals->first[i].name,
                mlt_bytes(text, globals->first[i].bytes));
    if (globals->count > globals->kept)
        fprintf(out, " and %s more; -v names all",
                mlt_number(text, globals->count - globals->kept));
}

// Writes what there is to say of one file, "" if nothing.
static char *describe(const char *path, const char *name, bool library, bool all)
{
    char *text = NULL, bytes[MLT_NUMBER_BYTES];
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL; // executable but not readable: nothing to tell
    mlt_elf_globals globals;
    mlt_elf_read(fd, all ? SIZE_MAX : MOST_NAMED, &globals);
    close(fd);
    FILE *out = open_memstream(&text, &size);
    if (out && globals.stripped && globals.bytes && !library) {
        fprintf(out, "%s of writable data of %s, which has no names (it is stripped)",
                mlt_bytes(bytes, globals.bytes), name);
    } else if (out && globals.count) {
        fprintf(out, "these globals of %s%s: ", library ? "its library " : "", name);
        list_names(&globals, out);
    }
    if (out)
        fclose(out);
    mlt_elf_fini(&globals);
    return text;
}

void mlt_globals_note(const char *path, const char *dir, const char *name, uint32_t ranks,
                      const mlt_libraries *libraries, bool all, const char *why)
{
    bool any = false;
    char number[MLT_NUMBER_BYTES];
    mlt_number(number, ranks);
    char *whole = dir && path[0] != '/' ? mlt_text_of("%s/%s", dir, path) : mlt_text_of("%s", path);
    // Otherwise what mpirun starts is none of ours, but has started one.
    for (size_t i = 0; libraries->mpi && i <= libraries->count; i++) {
        const char *file = i ? libraries->paths[i - 1] : whole, *slash = strrchr(file, '/');
        char *text = describe(file, !i ? name : slash ? slash + 1 : file, i > 0, all);
        if (text && *text)
            mlt_say("note: %s ranks share one process, and with it %s", number, text);
        any |= text && *text;
        free(text);
    }
    if (any)
        mlt_say("note: they share these because %s", why);
    else
        mlt_say("note: %s ranks share one process and its globals, because %s", number, why);
    free(whole);
}
