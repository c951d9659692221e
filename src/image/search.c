// SPDX-License-Identifier: BSD-3-Clause
#include "image/search.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

char *mlt_search_origin(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? mlt_text_of("%.*s", (int)(slash - path), path) : mlt_text_of(".");
}

char *mlt_search_expand(const char *part, int length, const char *origin)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int word = (int)strlen(words[i]);
        if (length >= word && strncmp(part, words[i], (size_t)word) == 0)
            return mlt_text_of("%s%.*s", origin, length - word, part + word);
    }
    return mlt_text_of("%.*s", length, part);
}

char *mlt_search_in(const char *folders, const char *name, const char *origin, const char *dir)
{
    while (folders && *folders) {
        size_t n = strcspn(folders, ":;");
        char *folder = mlt_search_expand(folders, (int)n, origin);
        char *path = *folder == '/' || !dir ? mlt_text_of("%s/%s", *folder ? folder : ".", name)
                                            : mlt_text_of("%s/%s/%s", dir, folder, name);
        free(folder);
        struct stat about;
        if (stat(path, &about) == 0 && S_ISREG(about.st_mode))
            return path;
        free(path);
        folders += n + (folders[n] != '\0');
    }
    return NULL;
}
