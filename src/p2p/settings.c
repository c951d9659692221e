// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/settings.h"

#include "p2p/worker.h"
#include "wire/transport.h"

mlt_p2p_conf mlt_conf;

static const mlt_setting fiber_settings[] = {
    {"sched", MLT_SETTING_TEXT, "direct", NULL,
     "scheduling policy: direct, rr, poll, random:SEED, priority or plugin:FILE", &mlt_conf.sched,
     MLT_SCOPE_PROCESS},
    {"stack_size", MLT_SETTING_SIZE, "0", NULL,
     "bytes of stack a rank; 0: 8M, less when a process holds thousands", &mlt_conf.stack_size,
     MLT_SCOPE_PROCESS},
};

static const mlt_setting wire_settings[] = {
    {"spin_us", MLT_SETTING_INT, "50", NULL,
     "microseconds to poll before sleeping, in a collective as many times longer as the host has "
     "workers, 20 at most; none if there are more workers than cores",
     &mlt_conf.spin_us, MLT_SCOPE_WORKER},
    {"large", MLT_SETTING_CHOICE, "auto", "auto|chunks|read",
     "large messages between processes: a pipeline of chunks, or reading the sender's memory; "
     "auto: what is faster on this processor",
     &mlt_conf.large, MLT_SCOPE_JOB},
};

static const mlt_setting tcp_settings[] = {
    {"gone_ms", MLT_SETTING_INT, "5000", NULL,
     "milliseconds after which a process of another host that does not answer is lost",
     &mlt_tcp_gone_ms, MLT_SCOPE_PROCESS},
    {"fabric", MLT_SETTING_TEXT, "tcp", NULL,
     "messages to other hosts: tcp, ofi:PROVIDER (of libfabric), ofi (one that is worth it) or "
     "auto "
     "(the same if there is one); tcp until such networks were tried",
     &mlt_tcp_fabric, MLT_SCOPE_JOB},
    {"fabric_trust", MLT_SETTING_BOOL, "no", NULL,
     "also by a provider whose keys to memory can be guessed: whoever reaches its network could "
     "read "
     "messages while they are under way",
     &mlt_tcp_fabric_trust, MLT_SCOPE_JOB},
};

static const mlt_setting p2p_settings[] = {
    {"eager_worker", MLT_SETTING_SIZE, "8K", NULL,
     "largest message buffered for a rank of the same worker that has no receive posted",
     &mlt_conf.eager_worker, MLT_SCOPE_WORKER},
    {"eager_thread", MLT_SETTING_SIZE, "4K", NULL,
     "largest message copied through the ring between threads; larger ones are copied once",
     &mlt_conf.eager_thread, MLT_SCOPE_WORKER},
    {"eager_process", MLT_SETTING_SIZE, "16K", NULL,
     "largest message copied through the ring between processes", &mlt_conf.eager_process,
     MLT_SCOPE_WORKER},
    {"eager_read", MLT_SETTING_SIZE, "4K", NULL,
     "the same, if larger ones are read from the sender's memory and every worker has a core",
     &mlt_conf.eager_read, MLT_SCOPE_WORKER},
    {"eager_host", MLT_SETTING_SIZE, "64K", NULL,
     "largest message sent to another host before its receive is known; 1M at most, and 8K from "
     "memory with gaps or to a process with several workers",
     &mlt_conf.eager_host, MLT_SCOPE_WORKER},
    {"hold", MLT_SETTING_SIZE, "64M", NULL,
     "memory a worker spends on messages that wait for a receive, before senders must wait",
     &mlt_conf.hold, MLT_SCOPE_WORKER},
    {"type_mismatch", MLT_SETTING_CHOICE, "note", "note|error|ignore",
     "data that are received as another basic type of as many bytes, in messages and collectives: "
     "one note in the whole job, or an error, which mpirun --strict sets",
     &mlt_conf.type_mismatch, MLT_SCOPE_PROCESS},
};

const mlt_settings_table mlt_p2p_settings[] = {
    {"fiber", fiber_settings, sizeof fiber_settings / sizeof *fiber_settings},
    {"wire", wire_settings, sizeof wire_settings / sizeof *wire_settings},
    {"tcp", tcp_settings, sizeof tcp_settings / sizeof *tcp_settings},
    {"p2p", p2p_settings, sizeof p2p_settings / sizeof *p2p_settings},
};
const size_t mlt_p2p_settings_count = sizeof mlt_p2p_settings / sizeof *mlt_p2p_settings;
