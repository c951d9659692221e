// SPDX-License-Identifier: BSD-3-Clause
// A proxy is a process that waits at a doorbell while its thread does something else, so that the
// worker knows that it may be woken from outside, and no deadlock is reported. The thread writes
// down what it wants, rings, and waits at a semaphore until the process has done it.
#include <errno.h>
#include <millet/csp.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/export.h"
#include "base/memory.h"
#include "csp/state.h"
#include "os/fd.h"
#include "os/file.h"

struct csp_proxy {
    csp_child *child;
    int doorbell;
    // Released by the thread when it has written the next three, acquired by the process.
    _Atomic bool asked;
    bool over; // the thread wants nothing more
    csp_function *run;
    void *arg;
    int result;
    sem_t done;
    char name[64];
};

// Waits until the thread wants something. Not before it has rung: then it is done with the doorbell,
// which is closed when the process has ended.
static void await_thread(csp_proxy *proxy)
{
    uint64_t rings;
    do
        (void)csp_fd_read(proxy->doorbell, &rings, sizeof rings);
    while (!atomic_exchange_explicit(&proxy->asked, false, memory_order_acquire)); // proxy_ask
}

static int proxy_main(void *arg)
{
    csp_proxy *proxy = arg;
    for (await_thread(proxy); !proxy->over; await_thread(proxy)) {
        proxy->result = proxy->run(proxy->arg);
        sem_post(&proxy->done);
    }
    return 0;
}

static void proxy_ask(csp_proxy *proxy)
{
    atomic_store_explicit(&proxy->asked, true, memory_order_release);
    mlt_os_eventfd_ring(proxy->doorbell);
}

MLT_EXPORT csp_proxy *csp_proxy_new(const char *name)
{
    mlt_csp *csp = mlt_csp_enter("csp_proxy_new");
    csp_proxy *proxy = mlt_xcalloc(1, sizeof *proxy);
    proxy->doorbell = mlt_os_eventfd_new();
    if (proxy->doorbell < 0) {
        (void)mlt_csp_why(csp, "a proxy needs a descriptor: %s", mlt_os_no_descriptor(errno));
        free(proxy);
        return NULL;
    }
    if (name)
        snprintf(proxy->name, sizeof proxy->name, "%s", name);
    (void)sem_init(&proxy->done, 0, 0); // cannot fail with 0
    proxy->child = csp_fork(proxy_main, proxy, name ? proxy->name : NULL);
    return proxy;
}

MLT_EXPORT int csp_proxy_call(csp_proxy *proxy, csp_function *run, void *arg)
{
    if (!proxy || !run)
        mlt_csp_fault("csp_proxy_call", "the %s is NULL", proxy ? "function" : "proxy");
    proxy->run = run;
    proxy->arg = arg;
    proxy_ask(proxy);
    while (sem_wait(&proxy->done) != 0) {
        // A signal: its handler has run.
    }
    return proxy->result;
}

MLT_EXPORT void csp_proxy_end(csp_proxy *proxy)
{
    if (!proxy)
        mlt_csp_fault("csp_proxy_end", "the proxy is NULL");
    proxy->over = true;
    proxy_ask(proxy);
}

MLT_EXPORT void csp_proxy_join(csp_proxy *proxy)
{
    if (!proxy)
        mlt_csp_fault("csp_proxy_join", "the proxy is NULL");
    (void)csp_join(proxy->child);
    mlt_os_close(proxy->doorbell);
    (void)sem_destroy(&proxy->done);
    free(proxy);
}

MLT_EXPORT int csp_call_run(void *block)
{
    typedef intptr_t any(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                         intptr_t);
    csp_call *call = block;
    const intptr_t *a = call->args;
    any *function = (any *)call->function;
    call->result = function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    return 0;
}
