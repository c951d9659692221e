// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/locale.h"

#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>

#include "base/export.h"
#include "base/memory.h"
#include "base/text.h"
#include "host/caller.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/switch.h"
#include "p2p/worker.h"

enum { LOCALE_NAME_BYTES = 1024 };

// Every locale that some rank has set; never freed: there are few, and threads may use them.
struct mlt_locale {
    struct mlt_locale *next;
    locale_t libc;
    struct lconv conventions;
    char name[]; // of LC_ALL
};

static struct {
    pthread_mutex_t lock;
    struct mlt_locale *first;
} all MLT_FOR_TAKEN = {.lock = PTHREAD_MUTEX_INITIALIZER};

static locale_t libc_of(const struct mlt_locale *locale)
{
    return locale ? locale->libc : LC_GLOBAL_LOCALE;
}

static struct mlt_locale *locale_of(const mlt_rank *me)
{
    const mlt_rank_own *own = me->own;
    return own ? own->locale : NULL;
}

void mlt_locale_thread(const mlt_rank *me)
{
    if (locale_of(me))
        (void)MLT_LIBC(uselocale)(libc_of(locale_of(me)));
}

// Whatever the thread uses belongs to the rank that stops.
static MLT_FOR_TAKEN void locale_swap(const mlt_rank *from, const mlt_rank *to)
{
    const mlt_rank_own *own = to ? to->own : NULL;
    locale_t next = own && own->used_locale ? own->used_locale : LC_GLOBAL_LOCALE;
    locale_t last = MLT_LIBC(uselocale)(next);
    if (from && from->own)
        ((mlt_rank_own *)from->own)->used_locale = last == LC_GLOBAL_LOCALE ? NULL : last;
}

#if MLT_TAKES_OVER

// ---- names

static const struct {
    int category, mask;
    const char *name;
} categories[] = {
    {LC_CTYPE, LC_CTYPE_MASK, "LC_CTYPE"},
    {LC_NUMERIC, LC_NUMERIC_MASK, "LC_NUMERIC"},
    {LC_TIME, LC_TIME_MASK, "LC_TIME"},
    {LC_COLLATE, LC_COLLATE_MASK, "LC_COLLATE"},
    {LC_MONETARY, LC_MONETARY_MASK, "LC_MONETARY"},
    {LC_MESSAGES, LC_MESSAGES_MASK, "LC_MESSAGES"},
    {LC_PAPER, LC_PAPER_MASK, "LC_PAPER"},
    {LC_NAME, LC_NAME_MASK, "LC_NAME"},
    {LC_ADDRESS, LC_ADDRESS_MASK, "LC_ADDRESS"},
    {LC_TELEPHONE, LC_TELEPHONE_MASK, "LC_TELEPHONE"},
    {LC_MEASUREMENT, LC_MEASUREMENT_MASK, "LC_MEASUREMENT"},
    {LC_IDENTIFICATION, LC_IDENTIFICATION_MASK, "LC_IDENTIFICATION"},
};
enum { CATEGORIES = sizeof categories / sizeof categories[0] };

static int mask_of(int category)
{
    for (size_t i = 0; i < CATEGORIES; i++)
        if (categories[i].category == category)
            return categories[i].mask;
    return category == LC_ALL ? LC_ALL_MASK : 0;
}

static const char *name_in(locale_t locale, int category)
{
    return nl_langinfo_l(NL_LOCALE_NAME(category), locale);
}

// As libc writes it: one name, or all of them if they differ.
static void whole_name(locale_t locale, char *text, size_t size)
{
    mlt_text t = mlt_text_on(text, size);
    const char *first = name_in(locale, LC_CTYPE);
    bool same = true;
    for (size_t i = 0; i < CATEGORIES; i++)
        same = same && strcmp(name_in(locale, categories[i].category), first) == 0;
    if (same)
        mlt_text_add(&t, "%s", first);
    for (size_t i = 0; i < CATEGORIES && !same; i++)
        mlt_text_add(&t, "%s%s=%s", i ? ";" : "", categories[i].name,
                     name_in(locale, categories[i].category));
}

// ---- locales

static struct lconv conventions_of(locale_t locale)
{
    locale_t before = MLT_LIBC(uselocale)(locale);
    struct lconv conventions = *MLT_LIBC(localeconv)();
    (void)MLT_LIBC(uselocale)(before);
    return conventions;
}

// The one with the same names; takes `libc` over.
static struct mlt_locale *intern(locale_t libc)
{
    char name[LOCALE_NAME_BYTES];
    whole_name(libc, name, sizeof name);
    pthread_mutex_lock(&all.lock);
    struct mlt_locale *l = all.first;
    while (l && strcmp(l->name, name) != 0)
        l = l->next;
    if (l) {
        freelocale(libc);
    } else {
        l = mlt_xcalloc(1, sizeof *l + strlen(name) + 1);
        l->libc = libc;
        l->conventions = conventions_of(libc);
        strcpy(l->name, name);
        l->next = all.first;
        all.first = l;
    }
    pthread_mutex_unlock(&all.lock);
    return l;
}

// The rank's, changed in some categories; NULL: there is no such locale.
static struct mlt_locale *changed(const mlt_rank *me, int mask, const char *name)
{
    bool all_new = mask == LC_ALL_MASK; // libc would forget the copy
    locale_t copy = all_new ? NULL : duplocale(libc_of(locale_of(me)));
    locale_t libc = all_new || copy ? newlocale(mask, name, copy) : NULL;
    if (libc)
        return intern(libc);
    if (copy)
        freelocale(copy);
    return NULL;
}

static void want_switch(const mlt_worker *w)
{
    if (w->count > 1)
        mlt_switch_want(w->sched, MLT_SWITCH_LOCALE, locale_swap);
}

// ---- the calls

MLT_INTERPOSE char *setlocale(int category, const char *name)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    struct mlt_locale *before = me ? locale_of(me) : NULL, *l = before;
    if (!me || (!name && !before) || !mask_of(category))
        return MLT_LIBC(setlocale)(category, name);
    if (name)
        l = changed(me, mask_of(category), name);
    if (!l)
        return NULL;
    mlt_own_of(me)->locale = l;
    want_switch(me->worker);
    if (MLT_LIBC(uselocale)(NULL) == libc_of(before)) // otherwise the program has chosen another
        (void)MLT_LIBC(uselocale)(l->libc);
    return category == LC_ALL ? l->name : (char *)(uintptr_t)name_in(l->libc, category);
}

// LC_GLOBAL_LOCALE is the rank's own.
MLT_INTERPOSE locale_t uselocale(locale_t locale)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    if (!me)
        return MLT_LIBC(uselocale)(locale);
    locale_t own = libc_of(locale_of(me));
    if (locale) {
        (void)mlt_own_of(me); // where the switch keeps it
        want_switch(me->worker);
    }
    locale_t before = MLT_LIBC(uselocale)(locale == LC_GLOBAL_LOCALE ? own : locale);
    return before == own ? LC_GLOBAL_LOCALE : before;
}

MLT_INTERPOSE struct lconv *localeconv(void)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    struct mlt_locale *own = me ? locale_of(me) : NULL;
    if (!own || MLT_LIBC(uselocale)(NULL) != own->libc)
        return MLT_LIBC(localeconv)();
    return &own->conventions;
}

#endif
