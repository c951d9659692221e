// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "launch/program/libraries.h"
#include "launch/say.h"
#include "os/fd.h"

enum { LONGEST_NAME = 255 };

// ---- mpirun

typedef struct file {
    mlt_stage_file head;
    char *path;
    const char *name;
} file;

struct mlt_stage_out {
    mlt_stage_out_conf conf;
    file *files;
    uint32_t count, room;
    uint32_t next;  // the file that is sent now, or comes next
    int fd;         // of the current one; -1: none is open
    uint64_t left;  // bytes of the current one that are not sent yet
    uint64_t sent;  // bytes of all frames
    uint64_t total; // ... when all is sent
    bool over;      // the end is sent
    uint64_t hash;
    uint64_t *kept; // [hosts]
    char progress[80];
};

static bool of_system(const char *path)
{
    static const char *const folders[] = {"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

static void add_file(mlt_stage_out *o, uint32_t app, uint32_t kind, char *path)
{
    struct stat about;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (stat(path, &about) != 0)
        mlt_quit(MLT_EXIT_USAGE, "--stage: '%s' cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode) || !*name || strlen(name) > LONGEST_NAME)
        mlt_quit(MLT_EXIT_USAGE, "--stage: '%s' is no file", path);
    for (uint32_t i = 0; i < o->count; i++)
        if (o->files[i].head.app == app && strcmp(o->files[i].name, name) == 0) {
            if (kind == MLT_STAGE_OTHER)
                mlt_quit(MLT_EXIT_USAGE, "--stage-file: there are two files '%s'", name);
            free(path); // the first that was found is the one that the loader finds
            return;
        }
    *MLT_ARRAY_ADD(o->files, o->count, o->room) = (file){.head = {.app = app,
                                                                  .kind = kind,
                                                                  .mode = about.st_mode & 0777,
                                                                  .size = (uint64_t)about.st_size},
                                                         .path = path,
                                                         .name = name};
    o->total += sizeof(mlt_stage_file) + strlen(name) + (uint64_t)about.st_size;
}

static void add_app(mlt_stage_out *o, uint32_t a)
{
    const mlt_options *options = o->conf.options;
    const mlt_app *app = &options->apps[a];
    const char *path = o->conf.paths[a], *dir = app->dir ? app->dir : options->dir;
    char *whole = dir && path[0] != '/' ? mlt_text_of("%s/%s", dir, path) : mlt_text_of("%s", path);
    if (of_system(whole)) {
        free(whole);
        return;
    }
    add_file(o, a, MLT_STAGE_PROGRAM, whole);
    mlt_libraries libraries;
    mlt_libraries_find(&libraries, path, dir, options, app);
    for (size_t i = 0; i < libraries.count; i++)
        add_file(o, a, MLT_STAGE_LIBRARY, mlt_text_of("%s", libraries.paths[i]));
    mlt_libraries_fini(&libraries);
}

static void stage_send(mlt_stage_out *o, int64_t what, const void *body, size_t length)
{
    mlt_frame frame = mlt_frame_down(MLT_FRAME_STAGE, MLT_FRAME_ALL, 0, what, length);
    o->hash = mlt_hash_on(o->hash, body, length);
    o->sent += length;
    mlt_agents_send(o->conf.agents, &frame, body);
}

static void send_file_head(mlt_stage_out *o)
{
    const file *f = &o->files[o->next];
    char bytes[sizeof f->head + LONGEST_NAME];
    o->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (o->fd < 0)
        mlt_quit(MLT_EXIT_USAGE, "--stage: '%s' cannot be read: %s", f->path, strerror(errno));
    memcpy(bytes, &f->head, sizeof f->head);
    memcpy(bytes + sizeof f->head, f->name, strlen(f->name));
    stage_send(o, MLT_STAGE_FILE, bytes, sizeof f->head + strlen(f->name));
    o->left = f->head.size;
}

static void send_data(mlt_stage_out *o)
{
    static char piece[MLT_STAGE_PIECE];
    const file *f = &o->files[o->next];
    size_t most = o->left < sizeof piece ? (size_t)o->left : sizeof piece;
    ssize_t n = most ? read(o->fd, piece, most) : 0;
    if (n < 0 && errno == EINTR)
        return;
    if (n < 0 || (n == 0 && most > 0))
        mlt_quit(MLT_EXIT_USAGE, "--stage: '%s' cannot be read: %s", f->path,
                 n < 0 ? strerror(errno) : "it has become shorter");
    if (n > 0)
        stage_send(o, MLT_STAGE_DATA, piece, (size_t)n);
    o->left -= (uint64_t)n;
    if (o->left > 0)
        return;
    close(o->fd);
    o->fd = -1;
    o->next++;
}

// What the slowest host has kept.
static uint64_t kept_by_all(const mlt_stage_out *o)
{
    uint64_t least = o->sent;
    for (uint32_t h = 0; h < o->conf.plan->host_count; h++)
        if (h != o->conf.head_host && o->kept[h] < least)
            least = o->kept[h];
    return least;
}

static void send_more(mlt_stage_out *o)
{
    uint64_t most = kept_by_all(o) + MLT_STAGE_AHEAD;
    while (!o->over && o->sent < most) {
        if (o->next == o->count) {
            uint64_t hash = o->hash;
            o->over = true;
            stage_send(o, MLT_STAGE_END, &hash, sizeof hash);
        } else if (o->fd < 0) {
            send_file_head(o);
        } else {
            send_data(o);
        }
    }
}

mlt_stage_out *mlt_stage_out_new(const mlt_stage_out_conf *conf)
{
    mlt_stage_out *o = mlt_xcalloc(1, sizeof *o);
    const mlt_texts *others = &conf->options->stage_files;
    *o = (mlt_stage_out){.conf = *conf, .fd = -1, .hash = MLT_HASH_FIRST};
    o->total = sizeof o->hash;
    o->kept = mlt_xcalloc(conf->plan->host_count, sizeof *o->kept);
    for (uint32_t a = 0; a < conf->options->app_count; a++)
        add_app(o, a);
    for (size_t i = 0; i < others->count; i++)
        add_file(o, MLT_STAGE_ALL, MLT_STAGE_OTHER, mlt_text_of("%s", others->items[i]));
    send_more(o);
    return o;
}

void mlt_stage_out_free(mlt_stage_out *o)
{
    if (!o)
        return;
    for (uint32_t i = 0; i < o->count; i++)
        free(o->files[i].path);
    mlt_os_close(o->fd);
    free(o->files);
    free(o->kept);
    free(o);
}

void mlt_stage_out_kept(mlt_stage_out *o, uint32_t host, int64_t bytes)
{
    if (host >= o->conf.plan->host_count || bytes < 0)
        return;
    o->kept[host] = (uint64_t)bytes;
    send_more(o);
}

const char *mlt_stage_out_progress(mlt_stage_out *o)
{
    uint64_t kept = kept_by_all(o);
    if (kept >= o->total)
        return "";
    snprintf(o->progress, sizeof o->progress, "%.1f of %.1f MiB are copied",
             (double)kept / (1 << 20), (double)o->total / (1 << 20));
    return o->progress;
}

// ---- Folders of agents

#define FOLDER_PREFIX "millet-stage-"
static const char lock_name[] = "lock";

static bool opened; // by remove_one

static void open_folder(const char *path)
{
    opened |= chmod(path, 0700) == 0;
}

// Ranks may have made folders that cannot be read or changed.
static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    if (kind == FTW_DNR) {
        open_folder(path);
        return 0;
    }
    if ((kind == FTW_DP ? rmdir(path) : unlink(path)) == 0 || errno != EACCES || where->level == 0)
        return 0;
    char *parent = mlt_text_of("%.*s", where->base - 1, path);
    open_folder(parent);
    free(parent);
    return 0;
}

// Again when a folder has been opened.
void mlt_stage_folder_remove(const char *folder)
{
    enum { OPEN_AT_ONCE = 8, MOST_ROUNDS = 64 };
    opened = *folder;
    for (int i = 0; i < MOST_ROUNDS && opened; i++) {
        opened = false;
        (void)nftw(folder, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
    }
}

static bool is_own_folder(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid();
}

// A folder whose lock nobody holds has lost its agent; one without a lock lost it while the agent
// removed it.
static void remove_if_left(const char *base, const char *name)
{
    char *folder = mlt_text_of("%s/%s", base, name);
    char *lock = mlt_text_of("%s/%s", folder, lock_name);
    if (is_own_folder(folder)) {
        int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 ? flock(fd, LOCK_EX | LOCK_NB) == 0 : errno == ENOENT)
            mlt_stage_folder_remove(folder);
        mlt_os_close(fd);
    }
    free(lock);
    free(folder);
}

static void remove_left(const char *base)
{
    DIR *all = opendir(base);
    for (struct dirent *one; all && (one = readdir(all));)
        if (strncmp(one->d_name, FOLDER_PREFIX, sizeof FOLDER_PREFIX - 1) == 0)
            remove_if_left(base, one->d_name);
    if (all)
        closedir(all);
}

// Made under another name first, so that nobody takes it for one that was left before it is locked.
// At any time `folder` has its name: the guard may need it.
static bool make_locked(const char *base, char folder[MLT_STAGE_FOLDER])
{
    char whole[MLT_STAGE_FOLDER], lock[MLT_STAGE_FOLDER + sizeof lock_name + 1];
    int n = snprintf(folder, MLT_STAGE_FOLDER, "%s/.millet-stage-XXXXXX", base);
    if (n < 0 || n >= MLT_STAGE_FOLDER) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!mkdtemp(folder))
        return false;
    snprintf(whole, sizeof whole, "%s/%s", base, strrchr(folder, '/') + 2);
    snprintf(lock, sizeof lock, "%s/%s", folder, lock_name);
    int fd = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); // until the process ends
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && rename(folder, whole) == 0) {
        memcpy(folder, whole, sizeof whole);
        return true;
    }
    int why = errno;
    mlt_stage_folder_remove(folder);
    errno = why;
    return false;
}

bool mlt_stage_folder_new(char folder[MLT_STAGE_FOLDER], char *why, size_t why_size)
{
    const char *base = getenv("TMPDIR");
    struct statvfs about;
    if (!base || base[0] != '/')
        base = "/tmp";
    folder[0] = '\0';
    remove_left(base);
    if (statvfs(base, &about) == 0 && about.f_flag & ST_NOEXEC)
        return mlt_deny(
            why, why_size,
            "--stage: programs in '%s' cannot be executed (it is mounted noexec); TMPDIR "
            "names another folder",
            base);
    if (make_locked(base, folder))
        return true;
    snprintf(why, why_size,
             "--stage: a folder in '%s' cannot be made: %s; TMPDIR names another place", base,
             strerror(errno));
    folder[0] = '\0';
    return false;
}

// ---- What an agent gets

struct mlt_stage_in {
    char *folder;
    size_t apps;
    uint64_t left; // bytes of the current file
    int fd;        // -1: there is none
    bool done;
    uint64_t bytes, hash;
    char **folders, **programs; // [apps]
    char *all;                  // folder of files for all apps
};

mlt_stage_in *mlt_stage_in_new(const char *folder, size_t apps)
{
    mlt_stage_in *in = mlt_xcalloc(1, sizeof *in);
    *in = (mlt_stage_in){
        .folder = mlt_text_of("%s", folder), .apps = apps, .fd = -1, .hash = MLT_HASH_FIRST};
    in->folders = mlt_xcalloc(apps, sizeof *in->folders);
    in->programs = mlt_xcalloc(apps, sizeof *in->programs);
    return in;
}

void mlt_stage_in_free(mlt_stage_in *in)
{
    if (!in)
        return;
    for (size_t a = 0; a < in->apps; a++) {
        free(in->folders[a]);
        free(in->programs[a]);
    }
    mlt_os_close(in->fd);
    free(in->folders);
    free(in->programs);
    free(in->all);
    free(in->folder);
    free(in);
}

static mlt_status stage_damaged(char *why, size_t why_size, const char *what)
{
    return mlt_fail(MLT_ERR_INVALID, why, why_size,
                    "--stage: the files that mpirun sends are damaged: %s", what);
}

// The folder of an app's files, or of those for all.
static const char *folder_of(mlt_stage_in *in, uint32_t app)
{
    char **folder = app == MLT_STAGE_ALL ? &in->all : &in->folders[app];
    if (*folder)
        return *folder;
    *folder = app == MLT_STAGE_ALL ? mlt_text_of("%s/files", in->folder)
                                   : mlt_text_of("%s/%u", in->folder, app);
    (void)mkdir(*folder, 0700); // opening a file in it tells
    return *folder;
}

static mlt_status cannot_keep(const mlt_stage_in *in, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                    "--stage: files cannot be kept in '%s': %s; TMPDIR names another place",
                    in->folder, strerror(errno));
}

static void end_file(mlt_stage_in *in)
{
    close(in->fd);
    in->fd = -1;
}

static bool is_file_name(const char *name, size_t length)
{
    return length > 0 && length <= LONGEST_NAME && strlen(name) == length && !strchr(name, '/') &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static mlt_status take_file(mlt_stage_in *in, const char *body, size_t length, char *why,
                            size_t why_size)
{
    mlt_stage_file head = {0};
    memcpy(&head, body, length < sizeof head ? length : sizeof head);
    bool other = head.kind == MLT_STAGE_OTHER;
    if (length < sizeof head || head.kind > MLT_STAGE_OTHER ||
        (other ? head.app != MLT_STAGE_ALL : head.app >= in->apps) || head.size > INT64_MAX)
        return stage_damaged(why, why_size, "a file is not described as it should");
    char *name = mlt_text_of("%.*s", (int)(length - sizeof head), body + sizeof head);
    if (!is_file_name(name, length - sizeof head)) {
        free(name);
        return stage_damaged(why, why_size, "a file has a name that no file has");
    }
    char *path = mlt_text_of("%s/%s", folder_of(in, head.app), name);
    free(name);
    in->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                  (mode_t)(head.mode & 0777) | 0600);
    in->left = head.size;
    if (in->fd < 0 || head.kind != MLT_STAGE_PROGRAM) {
        free(path);
    } else {
        free(in->programs[head.app]);
        in->programs[head.app] = path;
    }
    if (in->fd < 0)
        return cannot_keep(in, why, why_size);
    if (in->left == 0)
        end_file(in);
    return MLT_PENDING;
}

static mlt_status take_data(mlt_stage_in *in, const char *body, size_t length, char *why,
                            size_t why_size)
{
    if (length > in->left)
        return stage_damaged(why, why_size, "more comes than should");
    in->left -= length;
    while (length > 0) {
        ssize_t n = write(in->fd, body, length);
        if (n < 0 && errno != EINTR)
            return cannot_keep(in, why, why_size);
        body += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
    if (in->left == 0)
        end_file(in);
    return MLT_PENDING;
}

mlt_status mlt_stage_in_take(mlt_stage_in *in, int64_t what, const char *body, size_t length,
                             char *why, size_t why_size)
{
    bool data = what == MLT_STAGE_DATA;
    if (in->done || data != (in->fd >= 0) || what < MLT_STAGE_FILE || what > MLT_STAGE_END)
        return stage_damaged(why, why_size, "they do not come in their order");
    in->bytes += length;
    if (what == MLT_STAGE_END) {
        in->done = length == sizeof in->hash && memcmp(body, &in->hash, length) == 0;
        return in->done ? MLT_OK : stage_damaged(why, why_size, "their hash is wrong");
    }
    in->hash = mlt_hash_on(in->hash, body, length);
    return data ? take_data(in, body, length, why, why_size)
                : take_file(in, body, length, why, why_size);
}

uint64_t mlt_stage_in_bytes(const mlt_stage_in *in)
{
    return in->bytes;
}

const char *mlt_stage_in_files(mlt_stage_in *in)
{
    return folder_of(in, MLT_STAGE_ALL);
}

const char *mlt_stage_in_folder(const mlt_stage_in *in, uint32_t app)
{
    return in->folders[app];
}

const char *mlt_stage_in_program(const mlt_stage_in *in, uint32_t app)
{
    return in->programs[app];
}
