// SPDX-License-Identifier: BSD-3-Clause
// PMIx: libpmix.so.2, loaded when a launcher offers it. The types below are those of its interface
// (versions 2 to 5 have the same), as far as they are used here; no header is needed.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/foreign/launcher.h"

enum {
    SPACE_BYTES = 256,
    TYPE_STRING = 3,
    TYPE_UINT32 = 14,
    SCOPE_GLOBAL = 3,
    DONE = 0,
};
#define ALL_PROCESSES (UINT32_MAX - 1)

typedef struct pmix_proc {
    char space[SPACE_BYTES];
    uint32_t rank;
} pmix_proc;

typedef struct pmix_value {
    uint16_t type;
    union {
        char *string;
        uint32_t number;
        void *room[3];
    } data;
} pmix_value;
_Static_assert(sizeof(pmix_proc) == 260 && sizeof(pmix_value) == 8 + 3 * sizeof(void *),
               "as libpmix has them");

typedef struct pmix {
    void *library;
    pmix_proc self;
    int (*init)(pmix_proc *self, const void *info, size_t count);
    int (*finalize)(const void *info, size_t count);
    int (*abort)(int status, const char *text, const pmix_proc *procs, size_t count);
    int (*put)(uint8_t scope, const char *key, pmix_value *value);
    int (*commit)(void);
    int (*fence)(const pmix_proc *procs, size_t count, const void *info, size_t infos);
    int (*get)(const pmix_proc *proc, const char *key, const void *info, size_t count,
               pmix_value **value);
    const char *(*error)(int status);
} pmix;

static mlt_status load(pmix *p, const mlt_launcher *l, char *why, size_t why_size)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {
        {"PMIx_Init", &p->init}, {"PMIx_Finalize", &p->finalize},  {"PMIx_Abort", &p->abort},
        {"PMIx_Put", &p->put},   {"PMIx_Commit", &p->commit},      {"PMIx_Fence", &p->fence},
        {"PMIx_Get", &p->get},   {"PMIx_Error_string", &p->error},
    };
    p->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!p->library) {
        const char *cause = dlerror();
        return mlt_fail(
            MLT_ERR_UNSUPPORTED, why, why_size,
            "this program was started by %s, which speaks PMIx, but libpmix.so.2 cannot be "
            "loaded (%s); name its folder in LD_LIBRARY_PATH, or use srun --mpi=pmi2 or "
            "Millet's mpirun",
            l->name, cause ? cause : "unknown");
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(p->library, functions[i].name);
        memcpy(functions[i].to, &found, sizeof found);
        if (!found)
            return mlt_fail(MLT_ERR_UNSUPPORTED, why, why_size, "libpmix.so.2 has no %s",
                            functions[i].name);
    }
    return MLT_OK;
}

static mlt_status failed(const mlt_launcher *l, const char *call, int status, char *why,
                         size_t why_size)
{
    const pmix *p = l->own;
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "%s of %s failed: %s (%d)", call, l->name,
                    p->error(status), status);
}

// The library's own function that frees a value is a macro of its header.
static void free_value(pmix_value *value)
{
    if (value->type == TYPE_STRING)
        free(value->data.string);
    free(value);
}

static mlt_status number(const mlt_launcher *l, uint32_t of, const char *key, uint32_t *out,
                         char *why, size_t why_size)
{
    const pmix *p = l->own;
    pmix_proc whose = p->self;
    pmix_value *value = NULL;
    whose.rank = of;
    int status = p->get(&whose, key, NULL, 0, &value);
    if (status != DONE || !value)
        return failed(l, key, status, why, why_size);
    bool right = value->type == TYPE_UINT32;
    *out = right ? value->data.number : 0;
    free_value(value);
    if (right)
        return MLT_OK;
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s gives no number for %s", l->name, key);
}

static mlt_status open_pmix(mlt_launcher *l, char *why, size_t why_size)
{
    char ignored[256];
    pmix *p = l->own = mlt_xcalloc(1, sizeof *p);
    mlt_status status = load(p, l, why, why_size);
    if (status)
        return status;
    int code = p->init(&p->self, NULL, 0);
    if (code != DONE)
        return mlt_fail(
            MLT_ERR_SYSTEM, why, why_size,
            "this program was started by %s, but its PMIx server does not answer: %s (%d); "
            "use srun --mpi=pmi2 or Millet's mpirun",
            l->name, p->error(code), code);
    l->number = p->self.rank;
    snprintf(l->job, sizeof l->job, "%.*s", SPACE_BYTES - 1, p->self.space);
    status = number(l, ALL_PROCESSES, "pmix.job.size", &l->size, why, why_size);
    if (number(l, l->number, "pmix.appnum", &l->app, ignored, sizeof ignored) != MLT_OK)
        l->app = 0;
    return status;
}

static mlt_status pmix_put(mlt_launcher *l, const char *card, char *why, size_t why_size)
{
    const pmix *p = l->own;
    char copy[MLT_LAUNCHER_VALUE];
    snprintf(copy, sizeof copy, "%s", card);
    pmix_value value = {.type = TYPE_STRING, .data.string = copy};
    int status = p->put(SCOPE_GLOBAL, "millet", &value);
    if (status == DONE)
        status = p->commit();
    return status == DONE ? MLT_OK : failed(l, "PMIx_Put", status, why, why_size);
}

// Nothing is collected: whoever needs a card gets it.
static mlt_status pmix_fence(mlt_launcher *l, char *why, size_t why_size)
{
    const pmix *p = l->own;
    pmix_proc all = p->self;
    all.rank = ALL_PROCESSES;
    int status = p->fence(&all, 1, NULL, 0);
    return status == DONE ? MLT_OK : failed(l, "PMIx_Fence", status, why, why_size);
}

static mlt_status pmix_get(mlt_launcher *l, uint32_t of, char card[MLT_LAUNCHER_VALUE], char *why,
                           size_t why_size)
{
    const pmix *p = l->own;
    pmix_proc whose = p->self;
    pmix_value *value = NULL;
    whose.rank = of;
    int status = p->get(&whose, "millet", NULL, 0, &value);
    if (status != DONE || !value)
        return failed(l, "PMIx_Get of a card", status, why, why_size);
    bool right = value->type == TYPE_STRING && strlen(value->data.string) < MLT_LAUNCHER_VALUE;
    if (right)
        strcpy(card, value->data.string);
    free_value(value);
    if (right)
        return MLT_OK;
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s has no card of process %u", l->name, of);
}

static void pmix_end_all(mlt_launcher *l, int status)
{
    const pmix *p = l->own;
    (void)p->abort(status, "", NULL, 0);
}

static void close_pmix(mlt_launcher *l)
{
    pmix *p = l->own;
    if (!p)
        return;
    (void)p->finalize(NULL, 0);
    free(p); // the library stays: its threads may not have ended
    l->own = NULL;
}

const mlt_protocol mlt_protocol_pmix = {
    .name = "PMIx",
    .open = open_pmix,
    .put = pmix_put,
    .fence = pmix_fence,
    .get = pmix_get,
    .abort = pmix_end_all,
    .close = close_pmix,
};
