// SPDX-License-Identifier: BSD-3-Clause
// Schedules from text and from files, and into them. Every rank reads the whole and takes its own
// part; a rank that the program does not know has nothing to do.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal/regular/regular.h"
#include "goal/text/loggopsim.h"
#include "goal/text/text.h"
#include "goal_bodies.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/settings.h"

enum { FILE_WHY = 2048, PIECE = 1 << 16 };

// ---- programs

// Names of the rank's own actions, for reports; NULL: none has one.
static mlt_goal_program *keep_names(const mlt_goal_program *program, uint32_t rank)
{
    const mlt_goal_rank *r = &program->rank[rank];
    uint32_t named = 0;
    for (uint32_t a = 0; a < r->count; a++)
        named += r->actions[a].label != 0;
    if (!named)
        return NULL;
    mlt_goal_program *own = mlt_goal_program_new(1);
    for (uint32_t a = 0; a < r->count; a++) {
        const char *text = mlt_goal_name_text(program, r->actions[a].label);
        mlt_goal_action action = {.kind = MLT_GOAL_NOP,
                                  .label = mlt_goal_name(own, text, strlen(text))};
        mlt_goal_add(own, 0, &action);
    }
    return own;
}

static int check_ranks(mlt_rank *me, mlt_comm *comm, const char *name, uint32_t ranks)
{
    if (ranks <= (uint32_t)comm->size)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                         "%s is a program of %u ranks, but %s has %d", name, (unsigned)ranks,
                         mlt_comm_name(me, comm), (int)comm->size);
}

static int file_finish(mlt_rank *me, struct GOAL_Sched_s *s, GOAL_Sched *out)
{
    if (!mlt_goal_sched_furnish(s)) {
        int code = mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_NO_MEM,
                                 MLT_NO_ROOM "the buffers of the schedule");
        mlt_goal_sched_drop(s);
        return code;
    }
    *out = s;
    return MPI_SUCCESS;
}

// Makes the schedule of the caller's rank of the program.
static int take_rank(mlt_rank *me, mlt_comm *comm, const char *name,
                     const mlt_goal_program *program, bool plain, GOAL_Sched *out)
{
    char why[FILE_WHY];
    int code = MPI_SUCCESS;
    mlt_goal_sched_options options = {.window = (uint32_t)mlt_mpi_settings.goal_window,
                                      .plain = plain};
    mlt_goal_sched *sched;
    mlt_goal_program *names = keep_names(program, (uint32_t)comm->rank);
    mlt_status status = mlt_goal_rank_in_bounds(program, (uint32_t)comm->rank, why, sizeof why);
    if (status == MLT_OK)
        status = mlt_goal_sched_compile(program, (uint32_t)comm->rank, &options, &sched, why,
                                        sizeof why);
    struct GOAL_Sched_s *s = NULL;
    if (status == MLT_OK)
        s = mlt_goal_sched_make(me, comm, sched, NULL, NULL, &code);
    else
        code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s: %s", name, why);
    if (!s) {
        mlt_goal_program_free(names);
        return code;
    }
    s->program = names;
    return file_finish(me, s, out);
}

// Takes the program over.
static int take_program(mlt_rank *me, mlt_comm *comm, const char *name, mlt_goal_program *program,
                        GOAL_Sched *out)
{
    int code = check_ranks(me, comm, name, program->ranks);
    mlt_goal_program_grow(program, (uint32_t)comm->rank + 1);
    if (code == MPI_SUCCESS)
        code = take_rank(me, comm, name, program, mlt_goal_has_wildcards(program), out);
    mlt_goal_program_free(program);
    return code;
}

// Of a compressed program only the caller's rank is expanded.
static int take_regular(mlt_rank *me, mlt_comm *comm, const char *path, const void *bytes,
                        size_t size, GOAL_Sched *out)
{
    char why[FILE_WHY];
    mlt_goal_regular *regular;
    if (mlt_goal_regular_open(path, bytes, size, &regular, why, sizeof why) != MLT_OK)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    int code = check_ranks(me, comm, path, mlt_goal_regular_ranks(regular));
    mlt_goal_program *own = mlt_goal_program_new(1);
    if (code == MPI_SUCCESS && (uint32_t)comm->rank < mlt_goal_regular_ranks(regular) &&
        mlt_goal_regular_rank(regular, (uint32_t)comm->rank, own, why, sizeof why) != MLT_OK)
        code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    mlt_goal_program view =
        mlt_goal_program_as_rank(own, (uint32_t)comm->rank, (uint32_t)comm->size);
    if (code == MPI_SUCCESS)
        code = take_rank(me, comm, path, &view, mlt_goal_regular_has_wildcards(regular), out);
    mlt_goal_program_free(own);
    mlt_goal_regular_free(regular);
    return code;
}

static int take_text(mlt_rank *me, mlt_comm *comm, const char *name, const char *text,
                     size_t length, GOAL_Sched *out)
{
    char why[FILE_WHY];
    mlt_goal_program *program;
    mlt_goal_dialect dialect;
    if (mlt_goal_read(name, text, length, &program, &dialect, why, sizeof why) != MLT_OK)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    return take_program(me, comm, name, program, out);
}

int mlt_goal_Sched_text(mlt_rank *me, const char *text, mlt_comm *comm, GOAL_Sched *out)
{
    if (!text || !out)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, text ? "sched" : "text",
                            text ? "where the schedule goes" : "a GOAL text");
    *out = NULL;
    return take_text(me, comm, "the text", text, strlen(text), out);
}

// ---- files

static int raise_file(mlt_rank *me, mlt_comm *comm, const char *path, const char *what)
{
    int class = errno == ENOENT   ? MPI_ERR_NO_SUCH_FILE
                : errno == EACCES ? MPI_ERR_ACCESS
                                  : MPI_ERR_IO;
    return mlt_mpi_raise(me, comm, me->fn, class, "the file '%s' cannot be %s: %s", path, what,
                         strerror(errno));
}

// The whole file, malloc's. NULL: errno tells.
static unsigned char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    size_t room = 0, n = 0, got = 1;
    unsigned char *bytes = NULL;
    while (file && got > 0 && MLT_ARRAY_TRY(bytes, n < PIECE ? PIECE : n + 1, room)) {
        got = fread(bytes + n, 1, room - n, file);
        n += got;
    }
    if (file && (got > 0 || ferror(file))) {
        free(bytes);
        bytes = NULL;
    }
    int error = errno;
    if (file)
        fclose(file);
    errno = error;
    *size = n;
    return bytes;
}

// Takes the bytes over.
static int take_image(mlt_rank *me, mlt_comm *comm, const char *path, unsigned char *bytes,
                      size_t size, GOAL_Sched *out)
{
    char why[FILE_WHY];
    mlt_goal_image *image;
    if (mlt_goal_image_open(path, bytes, size, &image, why, sizeof why) != MLT_OK) {
        free(bytes);
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    }
    int code = check_ranks(me, comm, path, mlt_goal_image_ranks(image));
    bool known = (uint32_t)comm->rank < mlt_goal_image_ranks(image);
    mlt_goal_sched *sched =
        code == MPI_SUCCESS && known ? mlt_goal_image_sched(image, (uint32_t)comm->rank) : NULL;
    if (code == MPI_SUCCESS && known && !sched)
        code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                             "the file '%s' does not hold the schedule of rank %d; GOAL_Sched_save "
                             "of another rank wrote it",
                             path, (int)comm->rank);
    struct GOAL_Sched_s *s = NULL;
    if (sched)
        s = mlt_goal_sched_make(me, comm, sched, image, bytes, &code); // and what it lies in
    if (s)
        return file_finish(me, s, out);
    if (!sched) {
        mlt_goal_image_free(image);
        free(bytes);
    }
    if (code == MPI_SUCCESS) // a rank that the program does not know
        code = take_program(me, comm, path, mlt_goal_program_new(1), out);
    return code;
}

int mlt_goal_Sched_load(mlt_rank *me, const char *path, mlt_comm *comm, GOAL_Sched *out)
{
    int code;
    if (!path || !out)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, path ? "sched" : "path",
                            path ? "where the schedule goes" : "the name of a file");
    *out = NULL;
    size_t size;
    unsigned char *bytes = read_whole(path, &size);
    if (!bytes)
        return raise_file(me, comm, path, "read");
    if (mlt_is_image(bytes, size))
        return take_image(me, comm, path, bytes, size, out);
    if (mlt_is_regular(bytes, size)) {
        code = take_regular(me, comm, path, bytes, size, out);
    } else if (mlt_goal_is_loggopsim(bytes, size)) {
        char why[FILE_WHY];
        mlt_goal_program *program;
        if (mlt_goal_loggopsim_read(path, bytes, size, &program, why, sizeof why) == MLT_OK)
            code = take_program(me, comm, path, program, out);
        else
            code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    } else {
        code = take_text(me, comm, path, (const char *)bytes, size, out);
    }
    free(bytes);
    return code;
}

int mlt_goal_Sched_save(mlt_rank *me, GOAL_Sched s, const char *path)
{
    char why[FILE_WHY];
    unsigned char *bytes;
    size_t size;
    if (!path)
        return mlt_bad_null(me, s->comm, me->fn, MPI_ERR_ARG, "path", "the name of a file");
    if (s->sched->flags & MLT_GOAL_SCHED_ADDRESSES)
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_ARG,
                             "argument sched has addresses of this process, which mean nothing in "
                             "a file; name the memory with GOAL_Buffer or GOAL_Alloc");
    if (mlt_goal_image_write_one(s->sched, &bytes, &size, why, sizeof why) != MLT_OK)
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_ARG, "%s", why);
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(bytes, 1, size, file) == size;
    if (file && fclose(file) != 0)
        written = false;
    free(bytes);
    return written ? MPI_SUCCESS : raise_file(me, s->comm, path, "written");
}
