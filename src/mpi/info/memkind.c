// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/info/memkind.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gpu/support.h"
#include "host/entry.h"
#include "mpi/comm/session.h"
#include "mpi/settings.h"

enum { RESTRICTORS_MOST = 3, ITEM_BYTES = 96 };

static const struct kind {
    const char *name, *restrictors[RESTRICTORS_MOST + 1];
    bool (*is_supported)(void); // NULL: always, and in every answer
} kinds[] = {
    {"mpi", {"alloc_mem", "win_allocate", "win_allocate_shared"}, NULL},
    {"system", {NULL}, NULL},
    {"cuda", {"host", "device", "managed"}, mlt_gpu_is_supported},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

// The next item of a list, without blanks around it; one that is longer than any that is known
// becomes empty, which is none. False: there is no other one.
static bool next_item(const char **list, char item[ITEM_BYTES])
{
    if (!*list)
        return false;
    const char *at = *list + strspn(*list, " "), *comma = strchr(at, ',');
    size_t n = comma ? (size_t)(comma - at) : strlen(at);
    while (n > 0 && at[n - 1] == ' ')
        n--;
    n = n < ITEM_BYTES ? n : 0;
    memcpy(item, at, n);
    item[n] = '\0';
    *list = comma ? comma + 1 : NULL;
    return true;
}

static bool has_restrictor(const struct kind *kind, const char *restrictor)
{
    for (int i = 0; kind->restrictors[i]; i++)
        if (strcmp(kind->restrictors[i], restrictor) == 0)
            return true;
    return false;
}

// The kind of an item, whose restrictors are all of that kind; NULL: it is not known.
static const struct kind *kind_of(const char *item)
{
    char copy[ITEM_BYTES], *rest = strcpy(copy, item);
    const char *name = strsep(&rest, ":");
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        while (rest)
            if (!has_restrictor(&kinds[i], strsep(&rest, ":")))
                return NULL;
        return &kinds[i];
    }
    return NULL;
}

static bool is_in(const char *list, const char *item)
{
    char one[ITEM_BYTES];
    while (next_item(&list, one))
        if (strcmp(one, item) == 0)
            return true;
    return false;
}

// What does not fit into a value of an info object is left out.
static void answer_add(mlt_text *answer, const char *name, const char *restrictor)
{
    char item[ITEM_BYTES];
    mlt_text one = mlt_text_on(item, sizeof item);
    mlt_text_add(&one, restrictor ? "%s:%s" : "%s", name, restrictor);
    if (!is_in(mlt_text_so_far(answer), item) && answer->length + 1 + one.length < MPI_MAX_INFO_VAL)
        mlt_text_add(answer, answer->length ? ",%s" : "%s", item);
}

static void answer_to(const char *asked, char out[MPI_MAX_INFO_VAL])
{
    char item[ITEM_BYTES];
    mlt_text answer = mlt_text_on(out, MPI_MAX_INFO_VAL);
    mlt_text_add(&answer, "mpi,system");
    while (next_item(&asked, item)) {
        const struct kind *kind = kind_of(item);
        if (!kind || (kind->is_supported && !kind->is_supported()))
            continue;
        answer_add(&answer, item, NULL);
        bool whole = kind->is_supported && !strchr(item, ':');
        for (int i = 0; whole && kind->restrictors[i]; i++)
            answer_add(&answer, kind->name, kind->restrictors[i]);
    }
}

const char *mlt_memkind_of_job(void)
{
    const char *asked = mlt_mpi_settings.memory_alloc_kinds;
    if (!mlt_entry_joined()) // the settings have not been read yet
        asked = getenv("MILLET_MEMORY_ALLOC_KINDS");
    return asked && *asked ? asked : "mpi,system";
}

const char *mlt_memkind_of_comm(const mlt_comm *comm)
{
    const mlt_session *session = mlt_comm_session(comm);
    return session ? session->kinds : NULL;
}

// A whole kind has all of its restrictors.
static bool covers(const char *supported, const char *item)
{
    const struct kind *kind = kind_of(item);
    return is_in(supported, item) || (kind && is_in(supported, kind->name));
}

static bool asserts(const mlt_info *hints, const char *supported)
{
    char item[ITEM_BYTES];
    const char *asserted = mlt_info_get(hints, MLT_MEMKIND_ASSERT);
    if (!asserted)
        return false;
    for (const char *list = *asserted ? asserted : NULL; next_item(&list, item);)
        if (!covers(supported, item))
            return false;
    return true;
}

bool mlt_memkind_asserts(const mlt_info *hints, const char *asked)
{
    char supported[MPI_MAX_INFO_VAL];
    answer_to(asked ? asked : mlt_memkind_of_job(), supported);
    return asserts(hints, supported);
}

void mlt_memkind_tell(mlt_info *told, const char *asked, const mlt_info *hints)
{
    char supported[MPI_MAX_INFO_VAL];
    answer_to(asked ? asked : mlt_memkind_of_job(), supported);
    mlt_info_set(told, MLT_MEMKIND_KEY, supported);
    if (asserts(hints, supported))
        mlt_info_set(told, MLT_MEMKIND_ASSERT, mlt_info_get(hints, MLT_MEMKIND_ASSERT));
}
