// SPDX-License-Identifier: BSD-3-Clause
// Flow programs wired in C, for the tests of the runtime: how a module and its queues are said in
// few words. Modules here have structs as the compiler of the language would declare them.
#pragma once

#include <millet/flow.h>
#include <stddef.h>

#include "csp_check.h"

// In the run function of an instance: the condition holds, or the instance fails.
#define CHECK_IN(my, condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            flow_fail(my, "line %d: %s", __LINE__, #condition);                                    \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

// In a list of flow_queue_decl, of struct T.
#define QUEUE_(T, member, is_input, ctype, number, capacity)                                       \
    {                                                                                              \
        .name = #member, .input = is_input, .optional = true, .kind = number, .type = #ctype,      \
        .bytes = sizeof(ctype), .cap = capacity, .offset = offsetof(T, q.member)                   \
    }
#define IN_LONG(T, member, cap)  QUEUE_(T, member, true, long, FLOW_LONG, cap)
#define OUT_LONG(T, member, cap) QUEUE_(T, member, false, long, FLOW_LONG, cap)
#define IN_ANY(T, member)                                                                          \
    {                                                                                              \
        .name = #member, .input = true, .optional = true, .offset = offsetof(T, q.member)          \
    }
#define OUT_ANY(T, member)                                                                         \
    {                                                                                              \
        .name = #member, .input = false, .optional = true, .offset = offsetof(T, q.member)         \
    }

// static const flow_module T_module, which runs T_run(T *).
#define MODULE(T, ...)                                                                             \
    static const flow_queue_decl T##_queues[] = {__VA_ARGS__};                                     \
    static int T##_run_any(void *my)                                                               \
    {                                                                                              \
        return T##_run((T *)my);                                                                   \
    }                                                                                              \
    static const flow_module T##_module = {.name = #T,                                             \
                                           .bytes = sizeof(T),                                     \
                                           .file = __FILE__,                                       \
                                           .line = __LINE__,                                       \
                                           .queues = T##_queues,                                   \
                                           .queue_count = COUNT_OF(T##_queues),                    \
                                           .run = T##_run_any}

#define ALL(v)            ((flow_part){.vector = (v), .all = true})
#define AT(v, i)          ((flow_part){.vector = (v), .first = (i), .last = (i)})
#define SLICE(v, a, b)    ((flow_part){.vector = (v), .first = (a), .last = (b)})
#define ON(v, name)       ((flow_part){.vector = (v), .all = true, .queue = #name})
#define AT_ON(v, i, name) ((flow_part){.vector = (v), .first = (i), .last = (i), .queue = #name})

// from ||| to;
#define WIRE(w, from, to)                                                                          \
    flow_wire(                                                                                     \
        w, __LINE__,                                                                               \
        (flow_stage[]){{FLOW_JOIN, (flow_part[]){from}, 1}, {FLOW_JOIN, (flow_part[]){to}, 1}}, 2)
// from => to;
#define WIRE_EACH(w, from, to)                                                                     \
    flow_wire(                                                                                     \
        w, __LINE__,                                                                               \
        (flow_stage[]){{FLOW_JOIN, (flow_part[]){from}, 1}, {FLOW_EACH, (flow_part[]){to}, 1}}, 2)
// from ||| through ||| to;
#define WIRE3(w, from, through, to)                                                                \
    flow_wire(w, __LINE__,                                                                         \
              (flow_stage[]){{FLOW_JOIN, (flow_part[]){from}, 1},                                  \
                             {FLOW_JOIN, (flow_part[]){through}, 1},                               \
                             {FLOW_JOIN, (flow_part[]){to}, 1}},                                   \
              3)

#define MAIN(wire_it)                                                                              \
    static const flow_root root = {.name = "Main", .file = __FILE__, .line = 1, .wire = wire_it};  \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return flow_main(argc, argv, &root, NULL);                                                 \
    }
