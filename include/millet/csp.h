// SPDX-License-Identifier: BSD-3-Clause
// Processes and channels: PAR, ALT, barriers, ports, names, IO that blocks only its process, and
// collective operations of processes. docs/guide/csp.md teaches it.
//
//     static int twice(void *arg)
//     {
//         csp_pair *my = arg;
//         int v;
//         while (csp_read(my->in, &v) == CSP_OK) {
//             v *= 2;
//             csp_write(my->out, &v);
//         }
//         return 0;
//     }
//
// A process is a C function with an argument block, and runs as a fiber: creating one costs some
// tens of nanoseconds and a page of memory. main (of a program with or without MPI, started alone
// or by mpirun) is a process, and so is every rank of MPI; a process may call MPI on behalf of the
// rank that it stems from. All processes that stem from the ranks of one worker share its thread:
// they switch only inside calls that wait, so nothing disturbs what lies between two such calls.
//
// Channels, barriers, ports and groups belong to the worker of the process that made them, and only
// its processes use them. Between workers, programs and (later) hosts there are ports and channels
// with names; see below.
//
// Calls that wait say so. Many have a form `..._by` with a deadline, which returns CSP_LATE when
// that has passed; then nothing has happened.
//
// Wrong use (a NULL end, an end of another worker, a barrier that nobody is enrolled in) is a fault
// of the program: it ends with one message.
#ifndef MILLET_CSP_H
#define MILLET_CSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum csp_status {
    CSP_OK = 0,
    CSP_POISONED, // somebody poisoned it: give up, and poison what you hold
    CSP_RETIRED,  // the other side has retired, or has ended: nothing will come, or be taken, any
                  // more
    CSP_LOST,     // the program or node on the other side is gone, without having ended in order
    CSP_LATE,     // the deadline has passed
    CSP_TOO_LONG, // a message is longer than the buffer; it stays where it is
    CSP_NO_NAME,  // nothing has that name, or what has it is of another kind or size
    CSP_TAKEN,    // something else has that name; or the parcel was unpacked before
    CSP_REFUSED,  // the name server does not admit this program or the name, or cannot be reached
    CSP_STATUSES,
} csp_status;

// "poisoned", ...: for messages.
const char *csp_status_text(csp_status status);

// One message about the last CSP_LOST, CSP_REFUSED, CSP_NO_NAME or CSP_TAKEN that this worker saw,
// CSP_LATE of a name that was looked for, or CSP_RETIRED because a program has ended; "": there was
// none.
const char *csp_why(void);

// ---- time: nanoseconds of the monotonic clock

typedef int64_t csp_time;
#define CSP_NEVER   INT64_MAX  // a deadline that does not pass
#define CSP_AT_ONCE INT64_C(0) // one that has passed: the call does not wait

csp_time csp_now(void);
csp_time csp_after(double seconds); // from now

void csp_sleep(csp_time until); // waits: csp_sleep(csp_after(0.5))
void csp_yield(void);           // lets all other processes that can run do so

// A time, as in all calls that wait: seconds do not compile.
#ifndef __cplusplus
#define csp_sleep(until) csp_sleep(_Generic((until), long : (until), long long : (until)))
#endif

// ---- processes

typedef int csp_function(void *arg);

typedef struct csp_proc {
    csp_function *run;
    void *arg;
    const char *name; // for reports; NULL: a number. Stays while the process lives
    int result;       // what run returned: set by csp_par and csp_seq
} csp_proc;

// PAR: starts all of them in order, and waits until all have returned. Returns the first result, in
// their order, that is not 0, or 0. csp_seq runs them one after the other in the calling process,
// all of them whatever they return.
int csp_par(csp_proc *procs, size_t count);
int csp_seq(csp_proc *procs, size_t count);

// CSP_PAR({reader, &a}, {writer, &b}): the same for processes that are written down in place. It
// returns the first result that is not 0; the others are lost. What is left out of a csp_proc is 0,
// and no compiler warns about it.
#define CSP_PAR(...) CSP_OF_(csp_par, __VA_ARGS__)
#define CSP_SEQ(...) CSP_OF_(csp_seq, __VA_ARGS__)
#ifdef __GNUC__
#define CSP_OF_(function, ...)                                                                     \
    __extension__({                                                                                \
        _Pragma("GCC diagnostic push");                                                            \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"");                        \
        csp_proc csp_procs_[] = {__VA_ARGS__};                                                     \
        _Pragma("GCC diagnostic pop");                                                             \
        function(csp_procs_, sizeof(csp_procs_) / sizeof(csp_proc));                               \
    })
#else
#define CSP_OF_(function, ...)                                                                     \
    function((csp_proc[]){__VA_ARGS__}, sizeof((csp_proc[]){__VA_ARGS__}) / sizeof(csp_proc))
#endif

// PAR over a vector: process i is run(args + i * size), called name[i]. results: [count], or NULL.
int csp_par_each(csp_function *run, void *args, size_t count, size_t size, const char *name,
                 int *results);

// Starts one process and goes on. The name is not copied: it stays until the process is joined.
// Every child is joined once, by any process of the worker. Nothing waits for processes that still
// run when main returns.
typedef struct csp_child csp_child;
csp_child *csp_fork(csp_function *run, void *arg, const char *name);
int csp_join(csp_child *child);                                           // waits; its result
csp_status csp_join_by(csp_child *child, int *result, csp_time deadline); // CSP_LATE: not joined

// The name of the calling process, as reports have it.
const char *csp_self(void);

// ---- channels

// A channel carries values of one size. Unbuffered: a write waits until a read has taken the value.
// Buffered: a write waits only while `capacity` values are in it; an overwriting one never waits:
// the oldest value goes. Any number of processes may hold either end; each value goes to one
// reader, those that wait in the order in which they came.
typedef struct csp_chan csp_chan;
typedef struct csp_in csp_in;   // the end that one reads from
typedef struct csp_out csp_out; // the end that one writes to

// name: for reports, copied; NULL: a number.
csp_chan *csp_chan_new(const char *name, size_t size);
csp_chan *csp_chan_buffered(const char *name, size_t size, size_t capacity);
csp_chan *csp_chan_overwriting(const char *name, size_t size, size_t capacity);
void csp_chan_free(csp_chan *chan); // nobody waits at it, nobody will use its ends. NULL is fine

// An end for one more holder, which is counted until it retires. An end is a pointer: hand it over
// a channel of size sizeof(csp_in *) or sizeof(csp_out *), and the other process has it.
csp_in *csp_chan_in(csp_chan *chan);
csp_out *csp_chan_out(csp_chan *chan);

// Wait. The value is copied once, straight from the writer's memory into the reader's.
csp_status csp_read(csp_in *in, void *value);
csp_status csp_write(csp_out *out, const void *value);
csp_status csp_read_by(csp_in *in, void *value, csp_time deadline);
csp_status csp_write_by(csp_out *out, const void *value, csp_time deadline);

// Poison: from now on every call at either end returns CSP_POISONED, those that wait too; values
// that are still in it are lost. Retire: this holder is done. When the last reader has retired,
// writes return CSP_RETIRED; when the last writer has, reads do, once the buffer is empty. That
// is for good: an end taken later finds it so. (Whoever hands out ends as clients come keeps one
// itself.) A retired end must not be used again by that holder.
void csp_poison_in(csp_in *in);
void csp_poison_out(csp_out *out);
void csp_retire_in(csp_in *in);
void csp_retire_out(csp_out *out);

// The calling process holds that end until it ends: if it returns CSP_POISONED the end is poisoned,
// else it is retired. So poison and retirement spread through a network of processes that return
// what their reads and writes returned.
void csp_hold_in(csp_in *in);
void csp_hold_out(csp_out *out);

#ifndef __cplusplus // there these are overloaded functions, below
#define csp_poison(end) _Generic((end), csp_in * : csp_poison_in, csp_out * : csp_poison_out)(end)
#define csp_retire(end) _Generic((end), csp_in * : csp_retire_in, csp_out * : csp_retire_out)(end)
#define csp_hold(end)   _Generic((end), csp_in * : csp_hold_in, csp_out * : csp_hold_out)(end)
#endif

// ---- barriers

// All enrolled processes meet. Enrolling and resigning change how many are waited for.
typedef struct csp_barrier csp_barrier;
csp_barrier *csp_barrier_new(const char *name, size_t enrolled);
void csp_barrier_free(csp_barrier *barrier);
void csp_barrier_enroll(csp_barrier *barrier, size_t more);
void csp_barrier_resign(csp_barrier *barrier); // one fewer; may complete it for those who wait
csp_status csp_sync(csp_barrier *barrier);     // waits
csp_status csp_sync_by(csp_barrier *barrier, csp_time deadline); // late: still enrolled

// ---- ports (see below) may stand in an alternation, too

typedef struct csp_port csp_port;

// ---- alternation

typedef enum csp_guard_kind {
    CSP_GUARD_READ = 1,
    CSP_GUARD_WRITE,
    CSP_GUARD_TIME,
    CSP_GUARD_SKIP,
    CSP_GUARD_SYNC,
    CSP_GUARD_READABLE,
    CSP_GUARD_WRITABLE,
    CSP_GUARD_PORT,
} csp_guard_kind;

// Made by the functions below. off: not in this alternation (occam's precondition).
// status: of the guard that was chosen: CSP_OK and the value was read or written, or why not.
typedef struct csp_guard {
    csp_guard_kind kind;
    bool off;
    csp_status status;
    int fd;
    union {
        csp_in *in;
        csp_out *out;
        csp_barrier *barrier;
        csp_port *port;
        csp_time at;
    };
    void *value; // read, port: where to; write: from where
    size_t size; // port: bytes of room; then bytes of the message
    size_t turn; // the library's: keep it between calls, it is what makes the choice fair
} csp_guard;

csp_guard csp_on_read(csp_in *in, void *value);
csp_guard csp_on_write(csp_out *out, const void *value);
csp_guard csp_on_time(csp_time deadline); // ready when it has passed
csp_guard csp_on_skip(void);              // always ready; chosen only if no other guard is
csp_guard csp_on_sync(csp_barrier *barrier);
csp_guard csp_on_readable(int fd);
csp_guard csp_on_writable(int fd);
csp_guard csp_on_port(csp_port *port, void *buffer, size_t size);

// Waits until a guard is ready, does what it stands for, and returns its number. csp_alt is fair:
// the guard that was chosen last has its turn last, if the same array is used again (in a new one
// the search begins anywhere). csp_pri_alt takes the first that is ready, in their order. A
// poisoned, retired or lost channel makes its guard ready. If all guards are off: a fault of the
// program.
int csp_alt(csp_guard *guards, size_t count);
int csp_pri_alt(csp_guard *guards, size_t count);

// ---- threads of the program's own

// A worker's processes and channels are for its own thread. Another thread asks a proxy: a process
// that calls functions for it. new: a process makes it, before or after the thread starts. call: on
// the thread, one call at a time; the proxy's process runs the function, and the thread waits for
// its result (a signal does not end that). end: on the thread, as its last call. join: a process
// waits until then, and gives the proxy back; once for each. The worker serves proxies while its own
// thread waits in a call of this library. new returns NULL if there is no descriptor left;
// csp_why() tells.
typedef struct csp_proxy csp_proxy;
csp_proxy *csp_proxy_new(const char *name); // copied; NULL: a number
int csp_proxy_call(csp_proxy *proxy, csp_function *run, void *arg);
void csp_proxy_end(csp_proxy *proxy);
void csp_proxy_join(csp_proxy *proxy); // waits

// For interpreters, which know functions by their addresses: csp_call_run(&call) calls one that has
// integers and pointers as arguments, up to eight, and stores what it returns. Returns 0.
typedef struct csp_call {
    void (*function)(void);
    intptr_t args[8];
    intptr_t result; // of an int: its lowest 32 bits
} csp_call;
int csp_call_run(void *call);

// ---- IO that blocks only the calling process (all of these wait)

// As read, write, accept and connect, with their results and errno; for sockets, pipes, terminals
// and the like, in blocking mode or not. write writes everything (or fails). At a deadline: -1 and
// errno is ETIMEDOUT; what was written before is in *done (may be NULL).
ssize_t csp_fd_read(int fd, void *buffer, size_t bytes);
ssize_t csp_fd_read_by(int fd, void *buffer, size_t bytes, csp_time deadline);
ssize_t csp_fd_write(int fd, const void *data, size_t bytes);
ssize_t csp_fd_write_by(int fd, const void *data, size_t bytes, size_t *done, csp_time deadline);
int csp_fd_accept(int fd, struct sockaddr *address, socklen_t *length);
int csp_fd_accept_by(int fd, struct sockaddr *address, socklen_t *length, csp_time deadline);
int csp_fd_connect(int fd, const struct sockaddr *address, socklen_t length);
int csp_fd_connect_by(int fd, const struct sockaddr *address, socklen_t length, csp_time deadline);

// ---- nodes, ports and names

// A node is a rank of a job, or a program that was started alone. Nodes of one job reach each other
// by their numbers. Across programs things are found by the names that they have at a name server
// (`millet names start`; MILLET_NAMES says which); without one, names are known within the job.
int csp_node(void);
int csp_nodes(void);

// A port is a queue for messages of any length, from any node, in the order of sending for each
// sender. A sender does not wait for the receiver to take a message, unless `room` bytes from it
// are in the queue or under way (0: 256 KiB; a message counts as 64 bytes at least, and one of any
// length always has room if nothing else is there). Senders of one worker share that room.
// name: others find it by it (csp_target_at); NULL: nobody does. NULL: this node has a port of that
// name, or the name is longer than 255 bytes; csp_why() tells.
csp_port *csp_port_new(const char *name, size_t room);
void csp_port_free(csp_port *port); // senders get CSP_RETIRED
// Wait for a message. *bytes: its length, *from: the node in the job that sent it, or -1 (both may
// be NULL).
csp_status csp_receive(csp_port *port, void *buffer, size_t size, size_t *bytes, int *from);
csp_status csp_receive_by(csp_port *port, void *buffer, size_t size, size_t *bytes, int *from,
                          csp_time deadline);

// The sending side of a port.
typedef struct csp_target csp_target;

// A port of that name at a node of the job; waits until there is one (CSP_AT_ONCE: CSP_NO_NAME if
// there is none).
csp_status csp_target_at(int node, const char *port, csp_target **target, csp_time deadline);
void csp_target_free(csp_target *target);
csp_status csp_send(csp_target *target, const void *data, size_t bytes); // waits for room
csp_status csp_send_by(csp_target *target, const void *data, size_t bytes, csp_time deadline);

// Registering: the thing has that name until it is freed, unregistered, or its program ends
// (however it does). Finding waits until something has the name; CSP_AT_ONCE: CSP_NO_NAME if
// nothing has. An end that was found works as any other, in alternations too, but every value costs
// a message and an acknowledgement. It is one more holder at the channel, until it retires or its
// program ends or is lost. A program that ends in order (main returns, exit, a rank after
// MPI_Finalize) retires all ends that it has, and its channels and ports with it: others get
// CSP_RETIRED, those who read after the values that were in the buffer. If it is killed or crashes,
// they get CSP_LOST. Names have 1 to 255 bytes (else CSP_REFUSED, or CSP_NO_NAME where one is
// looked for), and the size of values must agree (else CSP_NO_NAME).
csp_status csp_register_port(const char *name, csp_port *port);
csp_status csp_register_chan(const char *name, csp_chan *chan);
csp_status csp_unregister(const char *name);
csp_status csp_find_port(const char *name, csp_target **target, csp_time deadline);
csp_status csp_find_in(const char *name, size_t size, csp_in **in, csp_time deadline);
csp_status csp_find_out(const char *name, size_t size, csp_out **out, csp_time deadline);

// An end as a value that can be sent anywhere, through ports and channels between programs too. The
// receiver makes an end of it, once: a second time is CSP_TAKEN. Packing gives the holder's share
// away; of a channel that is gone it returns CSP_RETIRED, CSP_POISONED or CSP_LOST, and the end
// stays. What is no parcel, or one of the other end: CSP_NO_NAME. All wait for the channel's
// worker.
typedef struct csp_parcel {
    unsigned char bytes[128];
} csp_parcel;
csp_status csp_pack_in(csp_in *in, csp_parcel *parcel);
csp_status csp_pack_out(csp_out *out, csp_parcel *parcel);
csp_status csp_unpack_in(const csp_parcel *parcel, csp_in **in);
csp_status csp_unpack_out(const csp_parcel *parcel, csp_out **out);

// ---- collective operations of a group of processes

// A group has members, numbered from 0: on each node that takes part (all nodes of the job, or only
// this one) as many as it says, node by node. Making one is collective over the nodes that take
// part, in the same order everywhere; it waits for them. Every member calls each operation, in the
// same order, with its own number `me`.
typedef struct csp_group csp_group;
csp_group *csp_group_here(const char *name, int members);     // on this node only
csp_group *csp_group_of_nodes(const char *name, int members); // here; waits
void csp_group_free(csp_group *group);
int csp_group_size(const csp_group *group);
int csp_group_first(const csp_group *group); // the number of the first member on this node

// Which algorithm the group's schedules between workers are from, as mpirun --force has it:
// "reduce=linear,bcast=binomial" instead of what was said before; "" for what the rules say. All
// nodes say the same between the same two calls. False: there is none of that name, csp_why()
// tells.
bool csp_group_force(csp_group *group, const char *what);

// into[i] = into[i] op with[i] in effect: combines `count` elements; `with` has those of the higher
// members. Operands keep the order of members, unless it commutes. A function that waits, or lets
// others run (csp_yield), ends the program with a message.
typedef struct csp_op {
    void (*combine)(void *into, const void *with, size_t count);
    size_t size; // of an element
    bool commutes;
} csp_op;
extern const csp_op csp_sum_int, csp_sum_long, csp_sum_double, csp_max_int, csp_max_long,
    csp_max_double, csp_min_int, csp_min_long, csp_min_double;

// All wait, and have no deadline: a call that others have begun cannot be taken back. Buffers are
// as in MPI's operations of these names, in bytes or elements; `in` and `out` may be the same for
// reduce and allreduce.
csp_status csp_group_barrier(csp_group *group, int me);
csp_status csp_group_bcast(csp_group *group, int me, void *data, size_t bytes, int root);
csp_status csp_group_reduce(csp_group *group, int me, const void *in, void *out, size_t count,
                            const csp_op *op, int root);
csp_status csp_group_allreduce(csp_group *group, int me, const void *in, void *out, size_t count,
                               const csp_op *op);
csp_status csp_group_gather(csp_group *group, int me, const void *in, void *out, size_t bytes,
                            int root);
csp_status csp_group_allgather(csp_group *group, int me, const void *in, void *out, size_t bytes);
csp_status csp_group_scatter(csp_group *group, int me, const void *in, void *out, size_t bytes,
                             int root);
csp_status csp_group_alltoall(csp_group *group, int me, const void *in, void *out, size_t bytes);

// ---- ready-made processes (plugNplay): functions for csp_proc, each with its argument block

// They hold the ends that they are given, run until one is poisoned or retired, and return that.
// Values are of any size up to 4096 bytes but where a type is named. `size` is that of the
// channels.
typedef struct csp_pair { // csp_id: copies; csp_successor: adds 1 to each int
    csp_in *in;
    csp_out *out;
    size_t size;
} csp_pair;
int csp_id(void *pair);
int csp_successor(void *pair);

typedef struct csp_prefix_args { // first *value, then as csp_id
    csp_in *in;
    csp_out *out;
    size_t size;
    const void *value;
} csp_prefix_args;
int csp_prefix(void *args);

typedef struct csp_delta_args { // each value to all outs: csp_delta at once (PAR), csp_tee in order
    csp_in *in;
    csp_out *const *outs;
    size_t count, size;
} csp_delta_args;
int csp_delta(void *args);
int csp_tee(void *args);

typedef struct csp_merge_args { // from whichever in has one, fairly; until all ins have retired
    csp_in *const *ins;
    size_t count;
    csp_out *out;
    size_t size;
} csp_merge_args;
int csp_merge(void *args);

#ifdef __cplusplus
}
void csp_sleep(double seconds) = delete; // csp_sleep(csp_after(seconds))
void csp_sleep(int seconds) = delete;
inline void csp_poison(csp_in *in)
{
    csp_poison_in(in);
}
inline void csp_poison(csp_out *out)
{
    csp_poison_out(out);
}
inline void csp_retire(csp_in *in)
{
    csp_retire_in(in);
}
inline void csp_retire(csp_out *out)
{
    csp_retire_out(out);
}
inline void csp_hold(csp_in *in)
{
    csp_hold_in(in);
}
inline void csp_hold(csp_out *out)
{
    csp_hold_out(out);
}
#endif

#endif
