// SPDX-License-Identifier: BSD-3-Clause
#include "csp/names/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { FILE_MOST = 1024 };

// ---- its text

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The value of the line at *at, if that begins with `word` and a space; *at is the next line then.
static bool take_line(const char **at, const char *end, const char *word, char *value, size_t size)
{
    size_t length = strlen(word);
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop || (size_t)(stop - *at) <= length || memcmp(*at, word, length) != 0 ||
        (*at)[length] != ' ')
        return false;
    const char *text = *at + length + 1;
    size_t bytes = (size_t)(stop - text);
    if (bytes == 0 || bytes >= size || memchr(text, '\0', bytes))
        return false;
    memcpy(value, text, bytes);
    value[bytes] = '\0';
    *at = stop + 1;
    return true;
}

// "0123456789abcdef h0"
static bool take_host(const char *text, mlt_names_file *out)
{
    for (int i = 0; i < 16; i++) {
        int value = digit(text[i]);
        if (value < 0)
            return false;
        out->place.host = out->place.host << 4 | (uint64_t)value;
    }
    size_t bytes = text[16] == ' ' ? strlen(text + 17) : 0;
    if (bytes == 0 || bytes >= sizeof out->host)
        return false;
    memcpy(out->host, text + 17, bytes);
    return true;
}

// "40000 10.0.0.1 2001:db8::1"
static bool take_tcp(char *text, mlt_far_place *out)
{
    mlt_address all[MLT_FAR_ADDRESSES];
    uint32_t count = 0;
    char *rest, *word = strtok_r(text, " ", &rest), *stop;
    unsigned long port = word && isdigit((unsigned char)*word) ? strtoul(word, &stop, 10) : 0;
    if (port == 0 || port > UINT16_MAX || *stop)
        return false;
    while ((word = strtok_r(NULL, " ", &rest)))
        if (count == MLT_FAR_ADDRESSES || !mlt_address_read(&all[count++], word))
            return false;
    out->port = (uint16_t)port;
    out->number = MLT_FAR_SERVER;
    return mlt_far_put(out, all, count) && mlt_far_addresses(out, all) == count;
}

static bool take_key(const char *text, unsigned char key[MLT_NAMES_KEY])
{
    if (strlen(text) != 2 * MLT_NAMES_KEY)
        return false;
    for (int i = 0; i < MLT_NAMES_KEY; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (unsigned char)(16 * high + low);
    }
    return true;
}

static bool take_pid(const char *text, uint32_t *pid)
{
    char *stop;
    unsigned long value = isdigit((unsigned char)text[0]) ? strtoul(text, &stop, 10) : ULONG_MAX;
    *pid = (uint32_t)value;
    return value <= INT32_MAX && !*stop;
}

bool mlt_names_file_parse(const char *text, size_t bytes, mlt_names_file *out, char *why,
                          size_t why_size)
{
    const char *at = text, *end = text + bytes;
    char value[FILE_MOST];
    const char *wrong = NULL;
    memset(out, 0, sizeof *out);
    if (!take_line(&at, end, "millet names", value, sizeof value))
        wrong = "it is not what a name server wrote";
    else if (strcmp(value, "2") != 0)
        wrong = "it is of another version of Millet";
    else if (!take_line(&at, end, "socket", out->socket, sizeof out->socket) ||
             out->socket[0] != '/')
        wrong = "its line `socket` is missing or wrong";
    else if (!take_line(&at, end, "key", value, sizeof value) || !take_key(value, out->key))
        wrong = "its line `key` is missing or wrong";
    else if (!take_line(&at, end, "pid", value, sizeof value) || !take_pid(value, &out->pid))
        wrong = "its line `pid` is missing or wrong";
    else if (!take_line(&at, end, "host", value, sizeof value) || !take_host(value, out))
        wrong = "its line `host` is missing or wrong";
    else if (at != end && (!take_line(&at, end, "tcp", value, sizeof value) ||
                           !take_tcp(value, &out->place) || at != end))
        wrong = "its line `tcp` is wrong, or not the last";
    if (wrong)
        snprintf(why, why_size, "%s", wrong);
    return !wrong;
}

// ---- itself

// Only a regular file of the user's own that nobody else may read holds a key.
static bool is_private(int fd, const char *path, char *why, size_t why_size)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        snprintf(why, why_size, "'%s': %s", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        snprintf(why, why_size, "'%s' is no file", path);
    else if (about.st_uid != geteuid())
        snprintf(why, why_size, "'%s' belongs to another user, so its key is not used", path);
    else if (about.st_mode & 077)
        snprintf(why, why_size,
                 "'%s' has mode %03o, so others may know its key; it must be 600 (chmod 600)", path,
                 (unsigned)about.st_mode & 0777);
    else
        return true;
    return false;
}

mlt_status mlt_names_file_read(const char *path, mlt_names_file *out, char *why, size_t why_size)
{
    char text[FILE_MOST + 1], wrong[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        snprintf(why, why_size, "'%s': %s", path, strerror(errno));
        return absent ? MLT_ERR_NOT_FOUND : MLT_ERR_SYSTEM;
    }
    ssize_t bytes = -1;
    bool mine = is_private(fd, path, why, why_size);
    if (mine)
        bytes = read(fd, text, sizeof text);
    int error = errno;
    close(fd);
    if (!mine)
        return MLT_ERR_INVALID;
    if (bytes < 0) {
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "'%s': %s", path, strerror(error));
    }
    if (!mlt_names_file_parse(text, (size_t)bytes, out, wrong, sizeof wrong))
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "'%s': %s", path, wrong);
    return MLT_OK;
}

mlt_status mlt_names_file_write(const char *path, const mlt_names_file *file, char *why,
                                size_t why_size)
{
    char text[FILE_MOST], key[2 * MLT_NAMES_KEY + 1], fresh[MLT_NAMES_PATH + 8];
    for (int i = 0; i < MLT_NAMES_KEY; i++)
        snprintf(key + 2 * i, 3, "%02x", file->key[i]);
    mlt_text whole = mlt_text_on(text, sizeof text);
    mlt_text_add(&whole, "millet names %d\nsocket %s\nkey %s\npid %u\nhost %016" PRIx64 " %s\n",
                 MLT_NAMES_VERSION, file->socket, key, file->pid, file->place.host, file->host);
    mlt_address all[MLT_FAR_ADDRESSES];
    char address[MLT_ADDRESS_TEXT];
    uint32_t count = mlt_far_addresses(&file->place, all);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0)
            mlt_text_add(&whole, "tcp %u", file->place.port);
        mlt_text_add(&whole, " %s%s", mlt_address_text(address, &all[i], 0),
                     i + 1 == count ? "\n" : "");
    }
    ssize_t bytes = (ssize_t)whole.length;
    snprintf(fresh, sizeof fresh, "%s.new", path);
    unlink(fresh); // of a server that died here
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, text, (size_t)bytes) == bytes;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (good && rename(fresh, path) == 0)
        return MLT_OK;
    snprintf(why, why_size, "'%s' cannot be written: %s", path, strerror(errno));
    unlink(fresh);
    return MLT_ERR_SYSTEM;
}

bool mlt_names_file_is_here(const mlt_names_file *file)
{
    return file->place.host == mlt_far_here();
}

void mlt_names_file_of_here(mlt_names_file *file)
{
    file->place = (mlt_far_place){.host = mlt_far_here()};
    memset(file->host, 0, sizeof file->host);
    if (gethostname(file->host, sizeof file->host - 1) != 0 || !file->host[0])
        snprintf(file->host, sizeof file->host, "host");
    for (char *c = file->host; *c; c++) // a line of the file
        if ((unsigned char)*c <= 0x20)
            *c = '-';
}

bool mlt_names_usual_folder(char folder[MLT_NAMES_PATH], char *why, size_t why_size)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
    int n = -1;
    if (run && run[0] == '/')
        n = snprintf(folder, MLT_NAMES_PATH, "%s/millet", run);
    else if (home && home[0] == '/')
        n = snprintf(folder, MLT_NAMES_PATH, "%s/.millet", home);
    if (n > 0 && n < MLT_NAMES_PATH)
        return true;
    return mlt_deny(why, why_size,
                    "neither XDG_RUNTIME_DIR nor HOME says where the name server is");
}

bool mlt_names_same_key(const unsigned char *a, const unsigned char *b)
{
    unsigned char differs = 0;
    for (int i = 0; i < MLT_NAMES_KEY; i++)
        differs |= a[i] ^ b[i];
    return differs == 0;
}
