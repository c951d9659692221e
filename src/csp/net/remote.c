// SPDX-License-Identifier: BSD-3-Clause
// Objects with numbers, and names for them.
#include "csp/net/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/memory.h"
#include "csp/net/chan.h"
#include "csp/net/port.h"
#include "csp/net/reach.h"
#include "csp/net/socket.h"

enum { FIRST_SLOTS = 64, NUMBER_MOST = 0x7fffffff };

// ---- numbers

mlt_remote *mlt_remote_of(mlt_csp *csp)
{
    if (MLT_LIKELY(csp->net != NULL))
        return csp->net;
    mlt_remote *net = mlt_xcalloc(1, sizeof *net);
    net->csp = csp;
    net->to = mlt_xcalloc(csp->worker->boot->job->workers, sizeof(mlt_route *));
    net->objects = mlt_xcalloc(FIRST_SLOTS, sizeof *net->objects);
    net->slots = FIRST_SLOTS;
    mlt_list_init(&net->routes);
    mlt_list_init(&net->named);
    mlt_list_init(&net->retired);
    mlt_list_init(&net->streams);
    mlt_list_init(&net->port_asks);
    csp->net = net;
    mlt_route_catch_up(csp);
    return net;
}

// Twice as many slots: what differed in its last bits still does.
static void grow(mlt_remote *net)
{
    mlt_remote old = *net;
    net->slots *= 2;
    net->objects = mlt_xcalloc(net->slots, sizeof *net->objects);
    for (uint32_t i = 0; i < old.slots; i++)
        if (old.objects[i].number)
            net->objects[old.objects[i].number & (net->slots - 1)] = old.objects[i];
    free(old.objects);
}

uint32_t mlt_remote_add(mlt_csp *csp, void *object, mlt_remote_kind kind)
{
    mlt_remote *net = mlt_remote_of(csp);
    if (net->used * 2 >= net->slots)
        grow(net);
    mlt_remote_object *at;
    do {
        net->next = net->next == NUMBER_MOST ? 1 : net->next + 1;
        at = &net->objects[net->next & (net->slots - 1)];
    } while (at->number);
    *at = (mlt_remote_object){object, net->next, kind};
    net->used++;
    return net->next;
}

void *mlt_remote_find(mlt_csp *csp, uint32_t number, mlt_remote_kind kind)
{
    const mlt_remote_object *at = &csp->net->objects[number & (csp->net->slots - 1)];
    return at->number == number && at->kind == kind && number ? at->at : NULL;
}

void mlt_remote_drop(mlt_csp *csp, uint32_t number)
{
    mlt_remote_object *at = &csp->net->objects[number & (csp->net->slots - 1)];
    if (number == 0 || at->number != number)
        return;
    *at = (mlt_remote_object){0};
    csp->net->used--;
}

// ---- names

typedef struct named {
    mlt_list_node node; // in net->named
    uint32_t number;
    char name[];
} named;

bool mlt_remote_name_fits(mlt_csp *csp, const char *name, const char *call)
{
    if (!name)
        mlt_csp_fault(call, "the name is NULL");
    size_t bytes = strlen(name);
    if (bytes > 0 && bytes <= MLT_NAME_MOST)
        return true;
    return mlt_csp_why(csp, "%s: a name has at least 1 byte and at most %d; this one has %zu", call,
                       MLT_NAME_MOST, bytes);
}

csp_status mlt_remote_put_name(mlt_csp *csp, const char *name, mlt_remote_kind kind,
                               uint32_t number, size_t size, const char *call)
{
    if (!mlt_remote_name_fits(csp, name, call))
        return CSP_REFUSED;
    const mlt_names_ops *names = mlt_names_of(csp);
    const mlt_endpoint *own = names ? mlt_route_own(csp, names != &mlt_names_job) : NULL;
    if (!own)
        return CSP_REFUSED;
    mlt_name entry = {.kind = (uint8_t)kind,
                      .size = (uint32_t)size,
                      .object = number,
                      .node = mlt_csp_rank()->world,
                      .at = *own};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    csp_status status = names->put(csp, &entry);
    if (status != CSP_OK)
        return status;
    named *n = mlt_xcalloc(1, sizeof *n + strlen(name) + 1);
    n->number = number;
    memcpy(n->name, name, strlen(name) + 1);
    mlt_list_push_back(&csp->net->named, &n->node);
    return CSP_OK;
}

csp_status mlt_remote_find_name(mlt_csp *csp, const char *name, mlt_remote_kind kind, mlt_name *out,
                                csp_time deadline, const char *call)
{
    if (!mlt_remote_name_fits(csp, name, call))
        return CSP_NO_NAME;
    (void)mlt_remote_of(csp);
    const mlt_names_ops *names = mlt_names_of(csp);
    if (!names)
        return CSP_REFUSED;
    csp_status status = names->find(csp, name, out, deadline);
    if (status == CSP_OK && out->kind != kind) {
        static const char *const kinds[] = {
            [MLT_OBJECT_NONE] = "text", [MLT_OBJECT_CHAN] = "channel", [MLT_OBJECT_PORT] = "port"};
        return mlt_csp_refuse(csp, CSP_NO_NAME, "'%s' is the name of a %s, not of a %s", name,
                              out->kind <= MLT_OBJECT_PORT ? kinds[out->kind] : "thing",
                              kinds[kind]);
    }
    return status;
}

void mlt_remote_forget_names(mlt_csp *csp, uint32_t number)
{
    mlt_list_node *list = &csp->net->named;
    for (mlt_list_node *l = list->next, *next; l != list; l = next) {
        next = l->next;
        named *n = mlt_container_of(l, named, node);
        if (n->number != number)
            continue;
        mlt_list_remove(l);
        const mlt_names_ops *names = mlt_names_of(csp);
        if (names)
            (void)names->drop(csp, n->name); // if not, the keeper of names has gone
        free(n);
        next = list->next; // it waited: the list may have changed
    }
}

MLT_EXPORT csp_status csp_unregister(const char *name)
{
    mlt_csp *csp = mlt_csp_enter("csp_unregister");
    if (!mlt_remote_name_fits(csp, name, "csp_unregister"))
        return CSP_NO_NAME;
    (void)mlt_remote_of(csp);
    const mlt_names_ops *names = mlt_names_of(csp);
    if (!names)
        return CSP_REFUSED;
    csp_status status = names->drop(csp, name);
    MLT_LIST_EACH(named, n, &csp->net->named, node)
        if (status == CSP_OK && strcmp(n->name, name) == 0) {
            mlt_list_remove(&n->node);
            free(n);
            break;
        }
    return status;
}

// ---- the end

void mlt_remote_end(mlt_csp *csp)
{
    mlt_remote *net = csp->net;
    if (!net)
        return;
    mlt_csp_ports_end(csp);
    mlt_remote_chan_end(csp);
    mlt_names_leave(csp);
    mlt_socket_end(csp);
    MLT_LIST_DRAIN(named, n, &net->named, node)
        free(n);
    mlt_routes_end(csp);
    free(net->objects);
    free(net);
    csp->net = NULL;
}
