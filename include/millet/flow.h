// SPDX-License-Identifier: BSD-3-Clause
// Flow: wiring apart from computing. Modules compute and know only their queues; one root says how
// they are wired, where they run, and which wires are collective. docs/guide/flow.md teaches it,
// docs/reference/flow-language.md is the language of the root (.flow).
//
//     // Square.c                                   // squares.flow
//     #include "Square.flow.h"                      Module Main is Root requires Module Source,
//                                                       Module Square, Module Print, Module Deal,
//                                                       Module Reduce {
//     int Square_run(Square *my)                      void initialize() {
//     {                                                 Source s;  Square q[4];  Print p;
//         double *v;                                    Deal d;  Reduce r;
//         size_t n;                                     flow:
//         while (flow_dequeue(my, &v, &n)) {              s -> d -> q;
//             for (size_t i = 0; i < n; i++)              q -> r(sum) -> p;
//                 v[i] *= v[i];                         }
//             flow_give(my, v, n);                    }
//         }
//         return 0;
//     }
//
// `millet flow build squares.flow *.c -o squares` generates Square.flow.h, which declares `struct
// Square` (its data section and its queues), Square_init, Square_run and Square_fini (init and fini
// need not be there), and compiles all of it. `./squares`, `mpirun -n 4 ./squares` and
// `mpirun -n 2 -nfg 50 ./squares` run it.
//
// An instance is a process of millet/csp.h: it may use everything there, and, if the .flow file
// includes <mpi.h>, MPI on behalf of its rank. Nothing in a module says with whom it talks, or that
// a queue is collective.
#ifndef MILLET_FLOW_H
#define MILLET_FLOW_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

// ---- what a module uses

// Who an instance is; the first member of its struct, `flow`. Read it, do not write it.
typedef struct flow_self {
    const char *name;   // "c[3]", "stage[2].p[1]"
    const char *module; // "Chemical"
    long index, count;  // in its vector; 0 of 1 if it is no vector
    int argc;           // of the program, without what the library took
    char **argv;
    struct flow_instance *instance; // the library's
} flow_self;

typedef struct flow_queue flow_queue; // an input or output queue of an instance

// What the elements of a queue are, as far as it is known. An element is a payload: `count` values
// of one type.
typedef enum flow_type {
    FLOW_ANY, // of a queue: nothing declared; of a payload: bytes of something that has no number
              // here
    FLOW_CHAR,
    FLOW_SCHAR,
    FLOW_UCHAR,
    FLOW_SHORT,
    FLOW_USHORT,
    FLOW_INT,
    FLOW_UINT,
    FLOW_LONG,
    FLOW_ULONG,
    FLOW_LLONG,
    FLOW_ULLONG,
    FLOW_FLOAT,
    FLOW_DOUBLE,
    FLOW_LDOUBLE,
    FLOW_BOOL,
    FLOW_FLOAT_COMPLEX,
    FLOW_DOUBLE_COMPLEX,
    FLOW_TYPES,
} flow_type;

// The calls below are macros over the functions at the end: they find the queue in the module's
// struct and check the type of data against the queue's, at compile time. `my` is the module's
// struct; queue names are written without quotes.
//
// Calls that wait say so. A sender waits only while the queue that its element goes to is full
// (back-pressure), never for the result of a collective.
//
// clang-format off
// bool flow_send(my, data, count)               copies the payload, sends it on the default output
// bool flow_send_on(my, queue, data, count)     ... on that output queue
// bool flow_give(my, data, count)               sends without copying: data comes from flow_new or
// bool flow_give_on(my, queue, data, count)     flow_dequeue, and is the receiver's from then on;
//                                               count is not greater than it had there
//     Wait. False: nobody takes elements of this queue any more (all receivers have ended); an
//     element for a queue that is not wired is dropped, and that is true. Given data is gone in any
//     case.
//
// T *flow_new(my, count)                        memory for a payload of the default output
// T *flow_new_on(my, queue, count)
// void flow_free(data)                          of flow_new, or kept
//
// bool flow_dequeue(my, &data, &count)          the next element of the default input
// bool flow_dequeue_on(my, queue, &data, &count)
//     Waits. False: end of input (all senders have ended, or the queue is not wired). data is the
//     instance's own and may be written to, until the next dequeue from the same queue; then it is
//     freed, unless it was given away or kept (flow_keep). With a `const T *` as data it may be
//     shared with other receivers, and so costs no copy where others get the same element. It points
//     to values of the type that was sent, or of char: the sign of a whole number is the program's
//     business, but a double is no long.
//
// int flow_dequeue_from(my, &data, &count, queue, queue, ...)
//     The same from any of several input queues, fairly: which of them, 0 for the first; -1: all
//     have ended. At most 8 queues, all of the type that data points to, or untyped.
//
// void flow_keep(data)                          it stays until flow_free, or is given
//
// bool flow_reply(my, client, "format", ...)    sends a line to a client of a LineServer
// bool flow_reply_on(my, queue, client, "format", ...)
//     Wait. As flow_send, of a flow_line; a newline at its end is added where the line goes out.
// bool flow_hang_up(my, client)                 the server ends the connection, when all that was
// bool flow_hang_up_on(my, queue, client)       sent to the client has gone
//
// long flow_const(my, "N")                      the value of `const N` in the root
// void flow_fail(my, "format", ...)             ends the program: module, instance, place, message.
//                                               Does not return.
// clang-format on

#define flow_send(my, data, count)    flow_send_on(my, out, data, count)
#define flow_give(my, data, count)    flow_give_on(my, out, data, count)
#define flow_new(my, count)           flow_new_on(my, out, count)
#define flow_dequeue(my, data, count) flow_dequeue_on(my, in, data, count)
#define flow_reply(my, client, ...)   flow_reply_on(my, out, client, __VA_ARGS__)
#define flow_hang_up(my, client)      flow_hang_up_on(my, out, client)

// A line that a client of a LineServer has sent, or a reply to that client: `in flow_line;`. The
// text ends with a NUL, and newlines at its end are gone. An element has as many values of 8 bytes as
// the text needs; one of 1 value, without a text, ends the connection.
typedef struct flow_line {
    uint64_t client; // of that server, never used again
    __extension__ char text[];
} flow_line;

// ---- what the generated header says of a module

// A queue as a member of the module's struct: `FLOW_QUEUE(double) out;` inside of `struct { } q;`.
// Untyped ones are FLOW_QUEUE(void).
#define FLOW_QUEUE(type)                                                                           \
    union {                                                                                        \
        flow_queue *queue;                                                                         \
        type *of;                                                                                  \
        const type *const_of;                                                                      \
    }

typedef struct flow_queue_decl {
    const char *name;
    bool input;
    bool optional;    // may be wired nowhere
    flow_type kind;   // FLOW_ANY: untyped, or a type without a number
    const char *type; // as written, "struct particle"; NULL: untyped
    size_t bytes;     // of a value; 0: untyped
    long cap;         // elements; 0: the library's choice
    size_t offset;    // of the member in the module's struct
} flow_queue_decl;

typedef struct flow_module {
    const char *name;
    size_t bytes;     // of its struct
    const char *file; // where it is declared
    int line;
    const flow_queue_decl *queues; // default ones are called "in" and "out"
    size_t queue_count;
    long weight;            // how much it computes, for placing; 0: 1
    void (*init)(void *my); // NULL: none. Runs in the instance, before run
    int (*run)(void *my);   // not 0: it has failed, and the program ends
    void (*fini)(void *my); // NULL: none
} flow_module;

// A reduction operation: into = into op with, for `count` values.
typedef struct flow_op {
    const char *name;
    void (*combine)(void *into, const void *with, size_t count); // NULL: a predefined one, by name
    flow_type kind;   // of the values; FLOW_ANY: by bytes
    const char *type; // NULL: any
    size_t bytes;     // of a value; 0: any
    bool ordered;     // does not commute: operands in the order of contributors
} flow_op;

// ---- wiring: for generated programs, and for those who would rather wire in C

// For computed numbers where one value means that none was written: -1 for counts (FLOW_COUNT), 0
// for steps, capacities and weights (FLOW_NOT_0). With these a computed -1 or 0 is refused, not
// taken for that.
#define FLOW_COUNT(n) flow_written(n, -1)
#define FLOW_NOT_0(n) flow_written(n, 0)
static inline long flow_written(long n, long none)
{
    return n == none ? LONG_MIN : n;
}

typedef struct flow_wiring flow_wiring; // of one root while it is being wired

// Instances that stand in a flow statement: `p[1:7:2].outQueue1`, or a collective with its
// operation, `r1(sum)`.
typedef struct flow_part {
    int vector;             // what flow_add returned
    bool all;               // no subscript: all of it
    long first, last, step; // inclusive; step 0: 1, so a computed one is FLOW_NOT_0(n)
    const char *queue;      // NULL: the default one
    const flow_op *op;      // of a Reduce; NULL: none
} flow_part;

typedef enum flow_join { FLOW_JOIN, FLOW_EACH } flow_join; // ||| and ->, or =>

typedef struct flow_stage {
    flow_join join; // with the stage before; of the first one it means nothing
    const flow_part *parts;
    size_t count;
} flow_stage;

// The collective modules, which anybody may instantiate.
extern const flow_module flow_Reduce, flow_Broadcast, flow_Deal, flow_Collect;
// The network modules, which have parameters.
extern const flow_module flow_LineServer, flow_TcpSource, flow_TcpSink, flow_UdpSource,
    flow_UdpSink;

typedef struct flow_root {
    const char *name, *file;
    int line;
    void (*wire)(flow_wiring *w);
    const flow_queue_decl *queues; // of a nested root: its own, which wire() joins to inner ones
    size_t queue_count;
} flow_root;

// `const N = 16;`: its value, which the command line may have changed.
long flow_wiring_const(flow_wiring *w, int line, const char *name, long value);
// `Chemical c[16];` count -1: no vector, so a computed one is FLOW_COUNT(n). Returns its number,
// for flow_part.
int flow_add(flow_wiring *w, int line, const char *name, const flow_module *module, long count);
int flow_add_root(flow_wiring *w, int line, const char *name, const flow_root *root, long count);
// `LineServer s(port = 7000, host = "*");`: a parameter of what flow_add returned.
void flow_set(flow_wiring *w, int line, int vector, const char *name, long value);
void flow_set_text(flow_wiring *w, int line, int vector, const char *name, const char *value);
// A queue of the nested root that is being wired, as a part of a statement.
enum { FLOW_OWN = -1 };
// `a ||| r(sum) ||| b, c;`
void flow_wire(flow_wiring *w, int line, const flow_stage *stages, size_t count);
// `p[0:7] @ host1;`: where is "host1", "host1:0" (its n-th place), or "3" (a place: a rank of the
// job).
void flow_place(flow_wiring *w, int line, const flow_part *parts, size_t count, const char *where);
// The same for a computed number: the n-th place of that host; host NULL: of the job.
void flow_place_nth(flow_wiring *w, int line, const flow_part *parts, size_t count,
                    const char *host, long n);
// For divisors: the value, or 1 and an error if it is 0.
long flow_nonzero(flow_wiring *w, int line, long value);

// Lists of parts and of stages, each with its length.
#define FLOW_PARTS(...)                                                                            \
    (const flow_part[]){__VA_ARGS__}, sizeof((const flow_part[]){__VA_ARGS__}) / sizeof(flow_part)
#define FLOW_STAGES(...)                                                                           \
    (const flow_stage[]){__VA_ARGS__},                                                             \
        sizeof((const flow_stage[]){__VA_ARGS__}) / sizeof(flow_stage)
// Of a queue or an operation: the type of its values.
#define FLOW_CARRIES(T) .kind = FLOW_TYPE_OF_(*(T *)NULL), .type = #T, .bytes = sizeof(T)
// A constant of the file as a variable, which need not be used.
#define FLOW_CONST __attribute__((unused)) long
// Wiring runs once, and compilers would optimize a long root for minutes.
#ifdef __clang__
#define FLOW_ONCE __attribute__((optnone))
#else
#define FLOW_ONCE __attribute__((optimize("O0")))
#endif
// A module's functions as the library calls them; init and fini need not be there.
#define FLOW_CALLS(M)                                                                              \
    void M##_init(M *my) __attribute__((weak));                                                    \
    void M##_fini(M *my) __attribute__((weak));                                                    \
    static void init_##M(void *my)                                                                 \
    {                                                                                              \
        if (M##_init)                                                                              \
            M##_init(my);                                                                          \
    }                                                                                              \
    static int run_##M(void *my)                                                                   \
    {                                                                                              \
        return M##_run(my);                                                                        \
    }                                                                                              \
    static void fini_##M(void *my)                                                                 \
    {                                                                                              \
        if (M##_fini)                                                                              \
            M##_fini(my);                                                                          \
    }

// Runs the program: every rank's main calls it, with the same root. Returns the exit status.
// hosts: the text of a hostfile that the program was built with; NULL: none.
int flow_main(int argc, char **argv, const flow_root *root, const char *hosts);

// ---- functions behind the macros

bool flow_queue_send(flow_queue *queue, const void *data, flow_type kind, size_t bytes,
                     size_t count);
bool flow_queue_give(flow_queue *queue, void *data, flow_type kind, size_t bytes, size_t count);
void *flow_queue_new(flow_queue *queue, size_t bytes, size_t count);
bool flow_queue_dequeue(flow_queue *queue, const void **data, flow_type kind, size_t bytes,
                        size_t *count, bool shared);
int flow_queue_dequeue_from(flow_queue *const *queues, size_t queue_count, const void **data,
                            flow_type kind, size_t bytes, size_t *count, bool shared);
bool flow_queue_reply(flow_queue *queue, uint64_t client, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool flow_queue_hang_up(flow_queue *queue, uint64_t client);
void flow_free(const void *data);
void flow_keep(const void *data);
long flow_self_const(const flow_self *self, const char *name);
void flow_self_fail(const flow_self *self, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

// ---- the macros: which queue, and whether its type is that of data

#ifdef __cplusplus
} // of extern "C"

// What _Generic does in C. An untyped queue has values of void.
template <typename T> struct flow_type_of_ {
    static const flow_type value = FLOW_ANY;
};
#define FLOW_TYPE_IS_(type, kind)                                                                  \
    template <> struct flow_type_of_<type> {                                                       \
        static const flow_type value = kind;                                                       \
    };
FLOW_TYPE_IS_(char, FLOW_CHAR)
FLOW_TYPE_IS_(signed char, FLOW_SCHAR)
FLOW_TYPE_IS_(unsigned char, FLOW_UCHAR)
FLOW_TYPE_IS_(short, FLOW_SHORT)
FLOW_TYPE_IS_(unsigned short, FLOW_USHORT)
FLOW_TYPE_IS_(int, FLOW_INT)
FLOW_TYPE_IS_(unsigned, FLOW_UINT)
FLOW_TYPE_IS_(long, FLOW_LONG)
FLOW_TYPE_IS_(unsigned long, FLOW_ULONG)
FLOW_TYPE_IS_(long long, FLOW_LLONG)
FLOW_TYPE_IS_(unsigned long long, FLOW_ULLONG)
FLOW_TYPE_IS_(float, FLOW_FLOAT)
FLOW_TYPE_IS_(double, FLOW_DOUBLE)
FLOW_TYPE_IS_(long double, FLOW_LDOUBLE)
FLOW_TYPE_IS_(bool, FLOW_BOOL)
__extension__ FLOW_TYPE_IS_(float _Complex,
                            FLOW_FLOAT_COMPLEX) __extension__ FLOW_TYPE_IS_(double _Complex,
                                                                            FLOW_DOUBLE_COMPLEX)
#undef FLOW_TYPE_IS_

    template <typename T>
    struct flow_bytes_of_ {
    static const size_t value = sizeof(T);
};
template <> struct flow_bytes_of_<void> {
    static const size_t value = 1;
};
template <typename Q, typename T> struct flow_same_ {
    static const bool value = false;
};
template <typename T> struct flow_same_<T, T> {
    static const bool value = true;
};
template <typename T> struct flow_same_<void, T> { // untyped queues carry anything
    static const bool value = true;
};
template <> struct flow_same_<void, void> {
    static const bool value = true;
};

// Memory for an untyped queue, which becomes what it is assigned to, as in C.
struct flow_memory_ {
    void *data;
    template <typename T> operator T *() const
    {
        return static_cast<T *>(data);
    }
};
template <typename Q> inline Q *flow_new_(flow_queue *queue, Q *, size_t count)
{
    return static_cast<Q *>(flow_queue_new(queue, sizeof(Q), count));
}
inline flow_memory_ flow_new_(flow_queue *queue, void *, size_t count)
{
    return flow_memory_{flow_queue_new(queue, 1, count)};
}

template <typename Q, typename T>
inline bool flow_send_(flow_queue *queue, Q *, const T *data, size_t count)
{
    static_assert(flow_same_<Q, T>::value, "the queue carries values of another type");
    return flow_queue_send(queue, data, flow_type_of_<T>::value, flow_bytes_of_<T>::value, count);
}
template <typename Q, typename T>
inline bool flow_give_(flow_queue *queue, Q *, const T *data, size_t count)
{
    static_assert(flow_same_<Q, T>::value, "the queue carries values of another type");
    return flow_queue_give(queue, const_cast<T *>(data), flow_type_of_<T>::value,
                           flow_bytes_of_<T>::value, count);
}

template <typename T> struct flow_pointed_ {
    typedef T type;
    static const bool is_const = false;
};
template <typename T> struct flow_pointed_<const T> {
    typedef T type;
    static const bool is_const = true;
};
template <typename Q, typename T> inline flow_queue *flow_one_(flow_queue *queue, Q *, T **)
{
    static_assert(flow_same_<Q, typename flow_pointed_<T>::type>::value,
                  "the queue carries values of another type");
    return queue;
}
template <typename T> inline bool flow_dequeue_(flow_queue *queue, T **data, size_t *count)
{
    typedef flow_pointed_<T> of;
    const void *at;
    bool some = flow_queue_dequeue(queue, &at, flow_type_of_<typename of::type>::value,
                                   flow_bytes_of_<typename of::type>::value, count, of::is_const);
    *data = static_cast<T *>(const_cast<void *>(at));
    return some;
}
template <typename T>
inline int flow_dequeue_from_(std::initializer_list<flow_queue *> queues, T **data, size_t *count)
{
    typedef flow_pointed_<T> of;
    const void *at;
    int which = flow_queue_dequeue_from(
        queues.begin(), queues.size(), &at, flow_type_of_<typename of::type>::value,
        flow_bytes_of_<typename of::type>::value, count, of::is_const);
    *data = static_cast<T *>(const_cast<void *>(at));
    return which;
}

#define flow_send_on(my, name, data, count)                                                        \
    flow_send_((my)->q.name.queue, (my)->q.name.of, data, count)
#define flow_give_on(my, name, data, count)                                                        \
    flow_give_((my)->q.name.queue, (my)->q.name.of, data, count)
#define flow_new_on(my, name, count)           flow_new_((my)->q.name.queue, (my)->q.name.of, count)
#define flow_dequeue_on(my, name, data, count) flow_dequeue_(FLOW_ONE_(my, data, name), data, count)
#define flow_dequeue_from(my, data, count, ...)                                                    \
    flow_dequeue_from_({FLOW_EACH_(my, data, __VA_ARGS__)}, data, count)
#define FLOW_ONE_(my, at, name) flow_one_((my)->q.name.queue, (my)->q.name.of, at)
inline flow_queue *flow_lines_(flow_queue *queue, const flow_line *)
{
    return queue;
}
inline flow_queue *flow_lines_(flow_queue *queue, const void *)
{
    return queue;
}
#define FLOW_LINES_(my, name) flow_lines_((my)->q.name.queue, (my)->q.name.of)

#else // C

#define flow_send_on(my, name, data, count)                                                        \
    flow_queue_send((my)->q.name.queue, FLOW_CHECK_((my)->q.name, data), FLOW_TYPE_OF_(*(data)),   \
                    sizeof *(data), (count))
#define flow_give_on(my, name, data, count)                                                        \
    flow_queue_give((my)->q.name.queue, (void *)FLOW_CHECK_((my)->q.name, data),                   \
                    FLOW_TYPE_OF_(*(data)), sizeof *(data), (count))
#define flow_new_on(my, name, count)                                                               \
    ((__typeof__((my)->q.name.of))flow_queue_new((my)->q.name.queue, sizeof *(my)->q.name.of,      \
                                                 (count)))
#define flow_dequeue_on(my, name, data, count)                                                     \
    flow_queue_dequeue((my)->q.name.queue, (const void **)FLOW_CHECK_AT_((my)->q.name, data),      \
                       FLOW_TYPE_OF_(**(data)), sizeof **(data), FLOW_SIZE_AT_(count),             \
                       FLOW_IS_CONST_(data))

// An expression of no value, which compiles if the condition holds.
#define FLOW_CLAIM_(condition, sentence)                                                           \
    ((void)sizeof(struct {                                                                         \
        _Static_assert(condition, sentence);                                                       \
        char flow_;                                                                                \
    }))
// data, if it points to what the queue carries (const or not). Untyped queues carry anything.
#define FLOW_CHECK_(member, data)  (FLOW_SAME_(member, data), (data))
#define FLOW_CHECK_AT_(member, at) (FLOW_SAME_(member, *(at)), (at))
#define FLOW_SAME_(member, data)                                                                   \
    FLOW_CLAIM_(_Generic((member).of, void * : 1, default                                          \
                         : _Generic((data), __typeof__((member).of) : 1,                           \
                                    __typeof__((member).const_of) : 1, default : 0)),              \
                "the queue carries values of another type")
#define FLOW_SIZE_AT_(count)                                                                       \
    (FLOW_CLAIM_(_Generic((count), size_t * : 1, default : 0), "the count should be a size_t"),    \
     (count))
#define FLOW_IS_CONST_(at) _Generic((1 ? *(at) : (void *)(at)), const void * : true, void * : false)

#define FLOW_TYPE_OF_(value)                                                                       \
    _Generic((value), char                                                                         \
             : FLOW_CHAR, signed char                                                              \
             : FLOW_SCHAR, unsigned char                                                           \
             : FLOW_UCHAR, short                                                                   \
             : FLOW_SHORT, unsigned short                                                          \
             : FLOW_USHORT, int                                                                    \
             : FLOW_INT, unsigned                                                                  \
             : FLOW_UINT, long                                                                     \
             : FLOW_LONG, unsigned long                                                            \
             : FLOW_ULONG, long long                                                               \
             : FLOW_LLONG, unsigned long long                                                      \
             : FLOW_ULLONG, float                                                                  \
             : FLOW_FLOAT, double                                                                  \
             : FLOW_DOUBLE, long double                                                            \
             : FLOW_LDOUBLE, _Bool                                                                 \
             : FLOW_BOOL, float _Complex                                                           \
             : FLOW_FLOAT_COMPLEX, double _Complex                                                 \
             : FLOW_DOUBLE_COMPLEX, default                                                        \
             : FLOW_ANY)

#define flow_dequeue_from(my, data, count, ...)                                                    \
    flow_queue_dequeue_from((flow_queue *const[]){FLOW_EACH_(my, data, __VA_ARGS__)},              \
                            sizeof((char[]){FLOW_ONES_(__VA_ARGS__)}), (const void **)(data),      \
                            FLOW_TYPE_OF_(**(data)), sizeof **(data), FLOW_SIZE_AT_(count),        \
                            FLOW_IS_CONST_(data))
#define FLOW_ONE_(my, at, name) ((void)FLOW_CHECK_AT_((my)->q.name, at), (my)->q.name.queue)
#define FLOW_LINES_(my, name)   (FLOW_SAME_((my)->q.name, (flow_line *)NULL), (my)->q.name.queue)
#define FLOW_ONES_(...)                                                                            \
    FLOW_NTH_(__VA_ARGS__, FLOW_8_, FLOW_7_, FLOW_6_, FLOW_5_, FLOW_4_, FLOW_3_, FLOW_2_, FLOW_1_, \
              0)
#define FLOW_1_ 0
#define FLOW_2_ 0, 0
#define FLOW_3_ 0, 0, 0
#define FLOW_4_ 0, 0, 0, 0
#define FLOW_5_ 0, 0, 0, 0, 0
#define FLOW_6_ 0, 0, 0, 0, 0, 0
#define FLOW_7_ 0, 0, 0, 0, 0, 0, 0
#define FLOW_8_ 0, 0, 0, 0, 0, 0, 0, 0
#endif

#define FLOW_EACH_(my, at, ...)                                                                    \
    FLOW_NTH_(__VA_ARGS__, FLOW_E8_, FLOW_E7_, FLOW_E6_, FLOW_E5_, FLOW_E4_, FLOW_E3_, FLOW_E2_,   \
              FLOW_E1_, 0)                                                                         \
    (my, at, __VA_ARGS__)
#define FLOW_NTH_(a, b, c, d, e, f, g, h, nth, ...) nth
#define FLOW_E1_(my, at, a)                         FLOW_ONE_(my, at, a)
#define FLOW_E2_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E1_(my, at, __VA_ARGS__)
#define FLOW_E3_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E2_(my, at, __VA_ARGS__)
#define FLOW_E4_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E3_(my, at, __VA_ARGS__)
#define FLOW_E5_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E4_(my, at, __VA_ARGS__)
#define FLOW_E6_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E5_(my, at, __VA_ARGS__)
#define FLOW_E7_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E6_(my, at, __VA_ARGS__)
#define FLOW_E8_(my, at, a, ...)                    FLOW_ONE_(my, at, a), FLOW_E7_(my, at, __VA_ARGS__)

#define flow_reply_on(my, name, client, ...)                                                       \
    flow_queue_reply(FLOW_LINES_(my, name), client, __VA_ARGS__)
#define flow_hang_up_on(my, name, client) flow_queue_hang_up(FLOW_LINES_(my, name), client)

#define flow_const(my, name) flow_self_const(&(my)->flow, name)
#define flow_fail(my, ...)   flow_self_fail(&(my)->flow, __VA_ARGS__)

#endif
