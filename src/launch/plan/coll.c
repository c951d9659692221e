// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/coll.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "launch/plan/env.h"
#include "launch/say.h"
#include "os/plugin.h"
#include "os/sum.h"

enum { WHY_BYTES = 4096 };
#define SUM   "MILLET_COLL_SUM"
#define HOSTS "MILLET_COLL_HOSTS"

// The value of a variable, as the section's ranks would see it; "": none.
static const char *coll_value_of(const mlt_env *env, const char *name)
{
    const char *value = mlt_env_value(env, name);
    return value ? value : "";
}

static bool is_set(const char *text)
{
    char why[256];
    int64_t value = 0; // as settings have it
    const mlt_setting setting = {.name = "reproducible", .kind = MLT_SETTING_BOOL, .value = &value};
    // What is neither yes nor no is told by the ranks, as that of every other setting.
    return *text && mlt_setting_parse(&setting, text, why, sizeof why) == MLT_OK && value != 0;
}

static void coll_check(const char *file, const char *force, bool reproducible)
{
    char why[WHY_BYTES];
    int force_is_wrong = 0;
    const mlt_plugin_head *lua = mlt_os_plugin(MLT_LUA_PLUGIN, MLT_LUA_PLUGIN_TABLE,
                                               MLT_LUA_PLUGIN_VERSION, why, sizeof why);
    if (!lua)
        mlt_quit(MLT_EXIT_SYSTEM, "%s %s: %s", *file ? "--coll" : "--force", *file ? file : force,
                 why);
    mlt_status status = lua->check(file, force, reproducible, &force_is_wrong, why, sizeof why);
    if (status != MLT_OK && force_is_wrong)
        mlt_quit(MLT_EXIT_USAGE, "--force %s: %s", force, why);
    if (status != MLT_OK)
        mlt_quit(MLT_EXIT_FAILED, "%s", why);
}

// Ranks of other hosts read their own copies, and must find the same. Several rule books in one job are
// not compared.
static void tell_sum(const char *file, bool several)
{
    uint64_t sum;
    char text[MLT_SUM_BYTES];
    if (!*file || several || !mlt_os_sum(file, &sum)) {
        unsetenv(SUM); // an outer job's
        return;
    }
    mlt_os_sum_text(sum, text);
    if (setenv(SUM, text, 1) != 0)
        mlt_no_room("a setting");
}

void mlt_launch_check_coll(const mlt_options *options)
{
    const char *last_file = "", *last_force = ""; // of the environment or the command line
    bool several = false;
    for (size_t a = 0; a < options->app_count; a++) {
        mlt_env env;
        mlt_env_init(&env, options, &options->apps[a]);
        const char *file = coll_value_of(&env, "MILLET_COLL"),
                   *force = coll_value_of(&env, "MILLET_FORCE");
        bool reproducible = is_set(coll_value_of(&env, "MILLET_REPRODUCIBLE"));
        if (strcmp(file, last_file) != 0 || strcmp(force, last_force) != 0)
            coll_check(file, force, reproducible);
        several |= a > 0 && strcmp(file, last_file) != 0;
        last_file = file;
        last_force = force;
        mlt_env_fini(&env);
    }
    tell_sum(last_file, several);
}

void mlt_launch_tell_hosts(const mlt_placement *plan)
{
    enum { MOST_NAMED = 1024 };
    unsetenv(HOSTS);
    if (plan->host_count < 2 || plan->host_count > MOST_NAMED)
        return;
    mlt_text names = {0};
    for (uint32_t h = 0; h < plan->host_count; h++)
        mlt_text_add(&names, "%s%s", h ? "," : "", plan->hosts[h].host.name);
    if (setenv(HOSTS, mlt_text_so_far(&names), 1) != 0)
        mlt_no_room("a setting");
    mlt_text_free(&names);
}
