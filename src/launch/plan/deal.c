// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/deal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "os/fd.h"

enum { MOST_NUMBER = 1023 };

typedef enum deal_kind { DEAL_NONE, DEAL_AUTO, DEAL_EACH, DEAL_LIST } deal_kind;

// What an option says.
typedef struct deal_wish {
    deal_kind kind;
    uint32_t each;                // DEAL_EACH
    uint32_t list[MLT_DEAL_MOST]; // DEAL_LIST
    uint32_t count;
} deal_wish;

// ---- reading the option

static bool deal_number(const char **at, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    unsigned long n = strtoul(*at, &end, 10);
    *at = end;
    *out = (uint32_t)n;
    return !errno && n <= MOST_NUMBER;
}

static bool deal_add(deal_wish *out, uint32_t number, char *why, size_t why_size)
{
    for (uint32_t i = 0; i < out->count; i++)
        if (out->list[i] == number)
            return mlt_deny(why, why_size, "names GPU %u twice", number);
    if (out->count == MLT_DEAL_MOST)
        return mlt_deny(why, why_size, "names more than %d GPUs", MLT_DEAL_MOST);
    out->list[out->count++] = number;
    return true;
}

static bool deal_no_list(char *why, size_t why_size)
{
    return mlt_deny(why, why_size,
                    "should be a number of GPUs for each rank (1 to %d), a list of GPUs (0,2,3 or "
                    "0-3; of one: 2,), auto or none",
                    MLT_DEAL_MOST);
}

// "0,2-3", and perhaps a comma at the end.
static bool deal_read_list(const char *text, deal_wish *out, char *why, size_t why_size)
{
    out->kind = DEAL_LIST;
    for (const char *at = text; *at;) {
        uint32_t first, last;
        if (!deal_number(&at, &first))
            return deal_no_list(why, why_size);
        last = first;
        if (*at == '-') {
            at++;
            if (!deal_number(&at, &last) || last < first)
                return deal_no_list(why, why_size);
        }
        for (uint32_t n = first; n <= last; n++)
            if (!deal_add(out, n, why, why_size))
                return false;
        if (*at && *at++ != ',')
            return deal_no_list(why, why_size);
    }
    return out->count > 0 || deal_no_list(why, why_size);
}

static bool deal_read(const char *text, deal_wish *out, char *why, size_t why_size)
{
    const char *at = text;
    *out = (deal_wish){.kind = DEAL_NONE};
    if (strcasecmp(text, "none") == 0)
        return true;
    if (strcasecmp(text, "auto") == 0) {
        out->kind = DEAL_AUTO;
        return true;
    }
    if (!deal_number(&at, &out->each) || *at)
        return deal_read_list(text, out, why, why_size);
    out->kind = DEAL_EACH;
    if (out->each == 0)
        return mlt_deny(why, why_size,
                        "could mean two things: none gives ranks no GPU, and 0, gives all of them "
                        "GPU 0");
    return out->each <= MLT_DEAL_MOST || deal_no_list(why, why_size);
}

bool mlt_deal_known(const char *text, char *why, size_t why_size)
{
    deal_wish wish;
    return deal_read(text, &wish, why, why_size);
}

// ---- what the host has

static bool is_node(const char *name)
{
    static const char prefix[] = "nvidia";
    size_t n = sizeof prefix - 1;
    return strncmp(name, prefix, n) == 0 && name[n] &&
           strspn(name + n, "0123456789") == strlen(name + n);
}

static bool can_open(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    mlt_os_close(fd);
    return fd >= 0;
}

// Entries of a folder: those of devices, of which *open can be opened, or all.
static uint32_t count_entries(const char *path, bool nodes, uint32_t *open)
{
    DIR *folder = opendir(path);
    uint32_t count = 0;
    for (const struct dirent *e; folder && (e = readdir(folder));)
        if (nodes ? is_node(e->d_name) : e->d_name[0] != '.') {
            count++;
            *open += nodes && can_open(dirfd(folder), e->d_name);
        }
    if (folder)
        closedir(folder);
    return count;
}

// A test's folder stands for both.
static uint32_t count_here(void)
{
    const char *other = getenv("MILLET_GPU_NODES");
    uint32_t open = 0, count = count_entries(other ? other : "/dev", true, &open);
    if (count == 0) { // the driver makes the files when a program first asks for them
        char *gpus =
            other ? mlt_text_of("%s/gpus", other) : mlt_text_of("/proc/driver/nvidia/gpus");
        open = count_entries(gpus, false, &open);
        free(gpus);
    }
    return open < MLT_DEAL_MOST ? open : MLT_DEAL_MOST;
}

// What CUDA_VISIBLE_DEVICES names: up to the first word that is neither a number nor the name of a
// device or a part of one.
static void add_visible(mlt_texts *names, const char *visible)
{
    for (const char *at = visible; names->count < MLT_DEAL_MOST;) {
        size_t n = strcspn(at, ",");
        if (!isdigit((unsigned char)*at) && strncmp(at, "GPU-", 4) != 0 &&
            strncmp(at, "MIG-", 4) != 0)
            break;
        mlt_texts_add(names, mlt_text_of("%.*s", (int)n, at));
        if (!at[n])
            break;
        at += n + 1;
    }
}

// Those of the host, or of the list.
static bool add_names(mlt_texts *names, const char *said, const deal_wish *wish,
                      const char *visible, const char *host, char *why, size_t why_size)
{
    mlt_texts all = {NULL, 0};
    bool fine = true;
    if (visible)
        add_visible(&all, visible);
    for (uint32_t d = 0, count = visible ? 0 : count_here(); d < count; d++)
        mlt_texts_add(&all, mlt_text_of("%u", d));
    if (all.count == 0 && visible)
        fine = mlt_deny(why, why_size,
                        "--gpus %s: for host '%s' CUDA_VISIBLE_DEVICES is '%s', which names no GPU",
                        said, host, visible);
    else if (all.count == 0)
        fine = mlt_deny(why, why_size,
                        "--gpus %s: host '%s' has no GPU: there is no /dev/nvidia0, or it may not "
                        "be opened; CUDA_VISIBLE_DEVICES can name those to use",
                        said, host);
    const char *of = visible ? " that CUDA_VISIBLE_DEVICES names" : "";
    if (fine && wish->kind == DEAL_EACH && wish->each > all.count)
        fine = mlt_deny(why, why_size, "--gpus %s: host '%s' has %zu GPU%s%s", said, host,
                        all.count, all.count == 1 ? "" : "s", of);
    for (uint32_t i = 0; fine && i < wish->count; i++) {
        if (wish->list[i] >= all.count)
            fine = mlt_deny(why, why_size,
                            "--gpus %s names GPU %u, but host '%s' has %zu%s, with numbers from 0",
                            said, wish->list[i], host, all.count, of);
        else
            mlt_texts_add(names, mlt_text_of("%s", all.items[wish->list[i]]));
    }
    for (size_t i = 0; fine && wish->count == 0 && i < all.count; i++)
        mlt_texts_add(names, mlt_text_of("%s", all.items[i]));
    mlt_texts_free(&all);
    return fine;
}

// ---- dealing

typedef struct dealer {
    const mlt_options *options;
    const mlt_placement *plan;
    uint32_t host;
    mlt_deal *deal;
    size_t first;  // where the names of the section's GPUs begin among all
    uint32_t next; // that has not been dealt in this round
    char *why;
    size_t why_size;
} dealer;

static bool same_names(const mlt_deal *deal, size_t first, size_t second)
{
    if (second - first != deal->names.count - second)
        return false;
    for (size_t i = 0; first + i < second; i++)
        if (strcmp(deal->names.items[first + i], deal->names.items[second + i]) != 0)
            return false;
    return true;
}

// Ranks of this host whose sections say the same.
static uint32_t ranks_that_share(const dealer *d, const char *said)
{
    uint32_t ranks = 0;
    for (uint32_t p = 0; p < d->plan->proc_count; p++) {
        const mlt_placement_proc *proc = &d->plan->procs[p];
        const char *other = d->options->apps[proc->app].gpus;
        if (proc->host == d->host && other && strcasecmp(other, said) == 0)
            ranks += proc->ranks;
    }
    return ranks;
}

// What the processes of a section get that has begun. A section of other GPUs begins with the first.
static bool begin_app(dealer *d, const mlt_app *app, mlt_deal_part *out)
{
    deal_wish wish;
    mlt_env env;
    *out = (mlt_deal_part){
        .said = app->gpus != NULL, .all = &d->deal->names, .first = d->deal->names.count};
    if (!app->gpus)
        return true;
    if (!deal_read(app->gpus, &wish, d->why, d->why_size))
        return false; // it was read before: another mpirun's
    if (wish.kind == DEAL_NONE)
        return true;
    mlt_env_collect(&env, d->options, app);
    bool fine =
        add_names(&d->deal->names, app->gpus, &wish, mlt_env_value(&env, "CUDA_VISIBLE_DEVICES"),
                  d->plan->hosts[d->host].host.name, d->why, d->why_size);
    mlt_env_fini(&env);
    if (!fine)
        return false;
    uint32_t count = (uint32_t)(d->deal->names.count - out->first);
    uint32_t ranks = wish.kind == DEAL_AUTO ? ranks_that_share(d, app->gpus) : 0;
    out->each = wish.kind == DEAL_EACH ? wish.each : ranks && ranks < count ? count / ranks : 1;
    out->groups = count / out->each;
    if (!same_names(d->deal, d->first, out->first))
        d->next = 0;
    d->first = out->first;
    out->group = (d->next + out->each - 1) / out->each % out->groups;
    return true;
}

static bool deal_all(dealer *d)
{
    uint32_t app = UINT32_MAX;
    mlt_deal_part now = {.said = false};
    for (uint32_t p = 0; p < d->plan->proc_count; p++) {
        const mlt_placement_proc *proc = &d->plan->procs[p];
        if (proc->host != d->host)
            continue;
        if (proc->app != app && !begin_app(d, &d->options->apps[proc->app], &now))
            return false;
        app = proc->app;
        d->deal->parts[d->deal->count++] = now;
        if (now.groups == 0)
            continue;
        now.group = (now.group + proc->ranks) % now.groups;
        d->next = now.group * now.each;
    }
    return true;
}

bool mlt_deal_make(mlt_deal *deal, const mlt_options *options, const mlt_placement *plan,
                   uint32_t host, char *why, size_t why_size)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < plan->proc_count; p++)
        count += plan->procs[p].host == host;
    *deal = (mlt_deal){.parts = mlt_xcalloc(count, sizeof *deal->parts)};
    dealer d = {.options = options,
                .plan = plan,
                .host = host,
                .deal = deal,
                .why = why,
                .why_size = why_size};
    if (deal_all(&d))
        return true;
    mlt_deal_free(deal);
    return false;
}

void mlt_deal_free(mlt_deal *deal)
{
    free(deal->parts);
    mlt_texts_free(&deal->names);
    *deal = (mlt_deal){.count = 0};
}

// ---- telling

static uint32_t kinds_of(const mlt_deal_part *part, uint32_t ranks)
{
    return ranks < part->groups ? ranks : part->groups;
}

// The names of a group, or of several that follow each other.
static void add_groups(const mlt_deal_part *part, uint32_t group, uint32_t groups,
                       const char *between, mlt_text *text)
{
    const char *comma = "";
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t k = 0; k < part->each; k++) {
            uint32_t at = (group + g) % part->groups * part->each + k;
            mlt_text_add(text, "%s%s", comma, part->all->items[part->first + at]);
            comma = between;
        }
}

void mlt_deal_put(const mlt_deal_part *part, uint32_t ranks, mlt_env *env,
                  char *texts[MLT_DEAL_VARIABLES])
{
    char *now[MLT_DEAL_VARIABLES] = {NULL};
    mlt_text visible = {0}, own = {0};
    if (!part->said)
        return;
    mlt_text_add(&visible, "CUDA_VISIBLE_DEVICES=");
    if (part->groups) {
        add_groups(part, part->group, kinds_of(part, ranks), ",", &visible);
        mlt_text_add(&own, "MILLET_GPU_DEVICE=0");
        for (uint32_t k = 1; k < part->each; k++)
            mlt_text_add(&own, ",%u", k);
        now[1] = own.text;
        now[2] = mlt_text_of("MILLET_GPU_DEAL=%u,%u", kinds_of(part, ranks), part->each);
    }
    now[0] = visible.text;
    for (int i = 0; i < MLT_DEAL_VARIABLES; i++) {
        if (now[i])
            mlt_env_put(env, now[i]);
        free(texts[i]);
        texts[i] = now[i];
    }
}

static void deal_add_text(const mlt_deal_part *part, uint32_t group, uint32_t groups,
                          mlt_text *text)
{
    if (part->groups == 0) {
        mlt_text_add(text, "no GPU");
        return;
    }
    mlt_text_add(text, groups * part->each > 1 ? "GPUs " : "GPU ");
    add_groups(part, group, groups, ", ", text);
}

void mlt_deal_rank_text(const mlt_deal_part *part, uint32_t i, mlt_text *text)
{
    deal_add_text(part, part->groups ? (part->group + i % part->groups) % part->groups : 0, 1,
                  text);
}

void mlt_deal_text(const mlt_deal_part *part, uint32_t ranks, mlt_text *text)
{
    deal_add_text(part, part->group, kinds_of(part, ranks), text);
}
