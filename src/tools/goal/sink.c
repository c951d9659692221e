// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static _Noreturn void sink_cannot(const mlt_sink *sink)
{
    const char *quote = sink->path || sink->to != stdout ? "'" : "";
    mlt_args_failed("%s%s%s cannot be written: %s", quote, sink->name, quote, strerror(errno));
}

// Drafts that have a name, of a command that ends before they are whole.
static char *named_draft;

static void remove_draft(void)
{
    if (named_draft)
        unlink(named_draft);
}

// The mode that a file made by open() would get, or that of the file which is replaced.
static mode_t mode_for(const struct stat *old)
{
    if (old)
        return old->st_mode & 07777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

// A file of the folder that has no name yet; -1: this file system has none such.
static int open_nameless(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mlt_text_of("%.*s", slash == path ? 1 : (int)(slash - path), path)
                         : mlt_text_of(".");
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    return fd;
}

static void name_draft(mlt_sink *sink)
{
    static bool will_remove;
    named_draft = sink->draft;
    if (!will_remove)
        atexit(remove_draft);
    will_remove = true;
}

static void open_draft(mlt_sink *sink, const struct stat *old)
{
    if (old && access(sink->path, W_OK) != 0)
        sink_cannot(sink);
    sink->draft = mlt_text_of("%s.XXXXXX", sink->path);
    int fd = open_nameless(sink->path);
    sink->nameless = fd >= 0;
    if (fd < 0) {
        fd = mkstemp(sink->draft);
        name_draft(sink);
    }
    if (fd < 0 || fchmod(fd, mode_for(old)) != 0 || !(sink->to = fdopen(fd, "w")))
        sink_cannot(sink);
}

// Gives the file without a name the draft's: one that is free.
static bool give_name(mlt_sink *sink)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(sink->to));
    char *end = sink->draft + strlen(sink->draft) - 6;
    for (unsigned n = (unsigned)getpid() % 1000000, tries = 0; tries < 1000; n++, tries++) {
        snprintf(end, 7, "%06u", n % 1000000);
        if (linkat(AT_FDCWD, self, AT_FDCWD, sink->draft, AT_SYMLINK_FOLLOW) == 0) {
            name_draft(sink);
            return true;
        }
        if (errno != EEXIST)
            return false;
    }
    return false;
}

mlt_sink mlt_sink_open(const char *path)
{
    mlt_sink sink = {.to = stdout, .name = "standard output"};
    if (!path || strcmp(path, "-") == 0)
        return sink;
    sink.to = NULL;
    sink.name = path;
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) { // a device, a pipe: there is nothing to rename
        sink.to = fopen(path, "w");
        if (!sink.to)
            sink_cannot(&sink);
        return sink;
    }
    // A link stays one: what it leads to is replaced.
    sink.path = exists ? realpath(path, NULL) : strdup(path);
    if (!sink.path)
        sink_cannot(&sink);
    open_draft(&sink, exists ? &old : NULL);
    return sink;
}

void mlt_sink_close(mlt_sink *sink)
{
    if (fflush(sink->to) != 0 || ferror(sink->to) || (sink->nameless && !give_name(sink)))
        sink_cannot(sink);
    if (sink->to == stdout)
        return;
    if (fclose(sink->to) != 0 || (sink->draft && rename(sink->draft, sink->path) != 0))
        sink_cannot(sink);
    named_draft = NULL;
}
