// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static int cannot(const mlt_sink *sink, const mlt_arg_command *command)
{
    return mlt_args_failed(command, "'%s' cannot be written: %s", sink->name, strerror(errno));
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

static int open_draft(mlt_sink *sink, const mlt_arg_command *command, const struct stat *old)
{
    if (old && access(sink->path, W_OK) != 0)
        return cannot(sink, command);
    if (asprintf(&sink->draft, "%s.XXXXXX", sink->path) < 0)
        mlt_fatal("there is no memory for a file's name");
    int fd = mkstemp(sink->draft);
    if (fd < 0) {
        int code = cannot(sink, command);
        free(sink->draft);
        sink->draft = NULL;
        return code;
    }
    if (fchmod(fd, mode_for(old)) != 0 || !(sink->to = fdopen(fd, "w"))) {
        int code = cannot(sink, command);
        close(fd);
        unlink(sink->draft);
        return code;
    }
    return MLT_ARGS_GO;
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
            code = cannot(sink, command);
    } else {
        // A link stays one: what it leads to is replaced.
        sink->path = exists ? realpath(path, NULL) : strdup(path);
        code = sink->path ? open_draft(sink, command, exists ? &old : NULL) : cannot(sink, command);
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
        code = cannot(sink, command);
    if (sink->to == stdout) {
        clearerr(stdout);
        return code;
    }
    if (fclose(sink->to) != 0 && keep && !failed)
        code = cannot(sink, command);
    if (sink->draft) {
        if (code == MLT_EXIT_FINE && keep && rename(sink->draft, sink->path) != 0)
            code = cannot(sink, command);
        if (code != MLT_EXIT_FINE || !keep)
            unlink(sink->draft);
    }
    free(sink->draft);
    free(sink->path);
    return code;
}
