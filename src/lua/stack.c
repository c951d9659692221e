// SPDX-License-Identifier: BSD-3-Clause
#include "lua/stack.h"

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "fiber/sanitize.h"
#include "os/os.h"

enum { BYTES = 1 << 20 }; // touched as far as it is used

static MLT_SANITIZE_NONE void enter(void *arg)
{
    mlt_lua_stack *s = arg;
    mlt_sanitize_enter(&s->here, &s->home_stack, &s->home_size);
    s->run(s->arg);
    mlt_sanitize_leave(&s->here, &s->home, BYTES, s->home_stack, s->home_size, true);
    mlt_arch_switch(&s->own_sp, s->caller_sp);
    mlt_fatal("a stack was entered again after its end");
}

static void make(mlt_lua_stack *s)
{
    size_t guard = mlt_os_page_size();
    s->memory = mlt_os_map_stacks(BYTES + guard);
    if (!s->memory || mlt_os_protect(s->memory, guard) != MLT_OK)
        mlt_no_room("Lua's stack");
    s->here.stack = s->memory + guard;
}

MLT_SANITIZE_NONE void mlt_lua_on_stack(mlt_lua_stack *s, void (*run)(void *arg), void *arg)
{
    if (s->busy) {
        run(arg);
        return;
    }
    if (!s->memory)
        make(s);
    s->busy = true;
    s->run = run;
    s->arg = arg;
    s->own_sp = mlt_arch_fiber_init(s->here.stack + BYTES, enter, s);
    mlt_sanitize_fresh(s->here.stack, BYTES);
    mlt_sanitize_born(&s->here);
    mlt_sanitize_home(&s->home);
    mlt_sanitize_leave(&s->home, &s->here, BYTES, NULL, 0, false);
    mlt_arch_switch(&s->caller_sp, s->own_sp);
    mlt_sanitize_enter(&s->home, NULL, NULL);
    s->busy = false;
}

void mlt_lua_stack_fini(mlt_lua_stack *s)
{
    if (s->memory)
        mlt_os_unmap(s->memory, BYTES + mlt_os_page_size());
    s->memory = NULL;
}
