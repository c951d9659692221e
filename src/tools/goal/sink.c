// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static int sink_cannot(const mlt_sink *sink, const mlt_arg_command *command)
{
    const char *quote = sink->path || sink->to != stdout ? "'" : "";
    return mlt_args_failed(command, "%s%s%s cannot be written: %s", quote, sink->name, quote,
                           strerror(errno));
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
    free(folder);
    return fd;
}

static int open_draft(mlt_sink *sink, const mlt_arg_command *command, const struct stat *old)
{
    if (old && access(sink->path, W_OK) != 0)
        return sink_cannot(sink, command);
    sink->draft = mlt_text_of("%s.XXXXXX", sink->path);
    int fd = open_nameless(sink->path);
    sink->nameless = fd >= 0;
    if (fd < 0)
        fd = mkstemp(sink->draft);
    if (fd < 0)
        return sink_cannot(sink, command);
    if (fchmod(fd, mode_for(old)) != 0 || !(sink->to = fdopen(fd, "w"))) {
        int code = sink_cannot(sink, command);
        close(fd);
        if (!sink->nameless)
            unlink(sink->draft);
        return code;
    }
    return MLT_ARGS_GO;
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
            sink->nameless = false;
            return true;
        }
        if (errno != EEXIST)
            return false;
    }
    return false;
}

int mlt_sink_open(mlt_sink *sink, const mlt_arg_command *command, const char *path)
{
    *sink = (mlt_sink){.to = stdout, .name = "standard output"};
    if (!path || strcmp(path, "-") == 0)
        return MLT_ARGS_GO;
    sink->to = NULL;
    sink->name = path;
    struct stat old;
    bool exists = stat(path, &old) == 0;
    int code = MLT_ARGS_GO;
    if (exists && !S_ISREG(old.st_mode)) { // a device, a pipe: there is nothing to rename
        sink->to = fopen(path, "w");
        if (!sink->to)
            code = sink_cannot(sink, command);
    } else {
        // A link stays one: what it leads to is replaced.
        sink->path = exists ? realpath(path, NULL) : strdup(path);
        code = sink->path ? open_draft(sink, command, exists ? &old : NULL)
                          : sink_cannot(sink, command);
    }
    if (code != MLT_ARGS_GO) {
        free(sink->draft);
        free(sink->path);
    }
    return code;
}

int mlt_sink_close(mlt_sink *sink, const mlt_arg_command *command, bool keep)
{
    int code = MLT_EXIT_FINE;
    bool failed = fflush(sink->to) != 0 || ferror(sink->to);
    if (failed && keep)
        code = sink_cannot(sink, command);
    if (sink->to == stdout) {
        clearerr(stdout);
        return code;
    }
    if (sink->nameless && keep && !failed && !give_name(sink))
        code = sink_cannot(sink, command);
    if (fclose(sink->to) != 0 && keep && code == MLT_EXIT_FINE)
        code = sink_cannot(sink, command);
    if (sink->draft && !sink->nameless) {
        if (code == MLT_EXIT_FINE && keep && rename(sink->draft, sink->path) != 0)
            code = sink_cannot(sink, command);
        if (code != MLT_EXIT_FINE || !keep)
            unlink(sink->draft);
    }
    free(sink->draft);
    free(sink->path);
    return code;
}
