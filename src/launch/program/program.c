// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/say.h"

typedef enum program_found { ABSENT, FORBIDDEN, USABLE } program_found;

// Looks at `path` as seen from `dir`.
static program_found program_look(const char *path, const char *dir)
{
    char *whole = dir && path[0] != '/' ? mlt_text_of("%s/%s", dir, path) : mlt_text_of("%s", path);
    struct stat about;
    program_found result = ABSENT;
    if (stat(whole, &about) == 0)
        result = S_ISREG(about.st_mode) && access(whole, X_OK) == 0 ? USABLE : FORBIDDEN;
    else if (errno == EACCES)
        result = FORBIDDEN;
    free(whole);
    return result;
}

static const char *search(const char *name, const char *path, bool *forbidden)
{
    char *copy = mlt_text_of("%s", path), *rest = copy, *part;
    while ((part = strsep(&rest, ":"))) {
        char *whole = mlt_text_of("%s/%s", *part ? part : ".", name);
        program_found f = program_look(whole, NULL);
        if (f == USABLE) {
            free(copy);
            return whole;
        }
        struct stat about;
        if (f == FORBIDDEN && stat(whole, &about) == 0 && S_ISREG(about.st_mode))
            *forbidden = true;
        free(whole);
    }
    free(copy);
    return NULL;
}

static const char *where(const char *dir)
{
    static char here[4096];
    return dir ? dir : getcwd(here, sizeof here) ? here : ".";
}

static void check_directory(const char *dir)
{
    struct stat about;
    if (stat(dir, &about) != 0)
        mlt_quit(MLT_EXIT_USAGE, "working directory '%s': %s", dir, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        mlt_quit(MLT_EXIT_USAGE, "working directory '%s' is no directory", dir);
}

// NULL: there is none that may be executed; *what and *forbidden say more.
static const char *program_find(const char *name, const char *dir, const char *path,
                                program_found *what, bool *forbidden)
{
    *forbidden = false;
    if (!strchr(name, '/')) {
        const char *whole = path ? search(name, path, forbidden) : NULL;
        const char *standard = getenv("PATH");
        if (!whole)
            whole = search(name, standard ? standard : "/usr/local/bin:/usr/bin:/bin", forbidden);
        if (whole)
            return whole;
    }
    // Also the last resort for a bare name: people forget the "./".
    *what = program_look(name, dir);
    if (*what != USABLE)
        return NULL;
    return strchr(name, '/') ? name : mlt_text_of("./%s", name);
}

bool mlt_program_is_there(const char *name, const char *dir, const char *path)
{
    struct stat about;
    program_found what;
    bool forbidden;
    return (!dir || (stat(dir, &about) == 0 && S_ISDIR(about.st_mode))) &&
           program_find(name, dir, path, &what, &forbidden);
}

// People who are new to it start the source.
static void refuse_source(const char *name)
{
    static const struct {
        const char *endings, *command;
    } kinds[] = {{" .c ", "mpicc"},
                 {" .cc .cpp .cxx .C ", "mpicxx"},
                 {" .f .for .f77 .f90 .f95 .f03 .f08 .F .F90 ", "mpifort"},
                 {" .py ", NULL}};
    const char *dot = strrchr(name, '.');
    char ending[8];
    if (!dot || strlen(dot) + sizeof "  " > sizeof ending)
        return;
    snprintf(ending, sizeof ending, " %s ", dot);
    int bare = (int)(dot - name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!strstr(kinds[i].endings, ending))
            continue;
        if (!kinds[i].command)
            mlt_quit(MLT_EXIT_NOT_EXECUTABLE, "'%s' is a script: mpirun python3 %s runs it", name,
                     name);
        mlt_quit(MLT_EXIT_NOT_EXECUTABLE,
                 "'%s' is a source file, not a program: `%s %s -o %.*s` compiles it, and then "
                 "mpirun starts %s%.*s",
                 name, kinds[i].command, name, bare, name, strchr(name, '/') ? "" : "./", bare,
                 name);
    }
}

const char *mlt_program_find(const char *name, const char *dir, const char *path)
{
    if (dir)
        check_directory(dir);
    program_found f = ABSENT;
    bool forbidden;
    const char *whole = program_find(name, dir, path, &f, &forbidden);
    if (whole)
        return whole;
    if (f == FORBIDDEN)
        refuse_source(name);
    if (f == FORBIDDEN || forbidden)
        mlt_quit(MLT_EXIT_NOT_EXECUTABLE,
                 "program '%s' cannot be executed: it is %s; chmod +x makes a file executable",
                 name,
                 f == FORBIDDEN && access(name, F_OK) == 0 ? "no file with that permission"
                                                           : "not permitted");
    if (strchr(name, '/'))
        mlt_quit(MLT_EXIT_NOT_FOUND, "there is no program '%s' (seen from %s)", name, where(dir));
    mlt_quit(MLT_EXIT_NOT_FOUND, "there is no program '%s' in PATH or in %s", name, where(dir));
}
