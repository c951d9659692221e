// SPDX-License-Identifier: BSD-3-Clause
// Which function answers when a lower layer calls an upper one: the whole library's table. What the
// library is built without (MILLET_WITH) answers nothing.
#include "base/upcalls.h"
#include "host/globals.h"
#include "host/stdio/input.h"

#include <stdlib.h>

#include "boot/ctl.h"
#include "coll/callsig.h"
#include "coll/path.h"
#include "gpu/gpu.h"
#include "host/entry.h"
#include "lib/settings.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/device.h"
#include "mpi/coll/outside.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/context.h"
#include "mpi/file/file.h"
#include "mpi/goal/goal.h"
#include "mpi/join.h"
#include "mpi/p2p/kind.h"
#include "mpi/p2p/partition.h"
#include "mpi/self.h"
#include "mpi/settings.h"
#include "mpi/strict.h"
#include "mpi/tool/tool.h"
#include "mpi/trace.h"
#include "mpi/win/win.h"
#include "p2p/copied.h"
#include "win/packet.h"
#if MLT_WITH_CSP
#include "csp/event.h"
#include "csp/hang/hang.h"
#include "csp/names/publish.h"
#include "csp/net/route.h"
#include "csp/state.h"
#endif
#if MLT_WITH_FLOW
#include "flow/help.h"
#include "flow/run.h"
#include "flow/settings.h"
#endif

static void gpu_begins(void)
{
    mlt_mpi_take_detour(MLT_DETOUR_DEVICE);
    atomic_store_explicit(&mlt_coll_closely, true, memory_order_relaxed);
}

static void end_job(int32_t rank, const char *message)
{
    mlt_entry_end_job(rank, EXIT_FAILURE, message);
}

static void joined(const mlt_boot *boot)
{
    mlt_mpi_joined(boot);
#if MLT_WITH_FLOW
    mlt_flow_conf_now.reproducible = mlt_mpi_settings.reproducible;
    mlt_flow_conf_now.traced = *mlt_mpi_settings.trace;
#endif
}

static void noted(mlt_worker *worker, uint32_t from, uint64_t what, uint64_t value)
{
    if (!mlt_coll_callsig_noted(worker, what, value) && !mlt_device_noted(what, value))
        mlt_context_noted(worker, from, what, value);
}

static void packet_came(mlt_worker *worker, uint32_t from, const mlt_packet *packet,
                        const void *data, uint64_t bytes)
{
    if (mlt_win_packet_is(packet->kind))
        mlt_win_packet(worker, from, packet, data, bytes);
    else if (mlt_part_owns_packet(packet->kind))
        mlt_part_packet(worker, from, packet, data, bytes);
    else if (mlt_device_packet_is(packet->kind))
        mlt_device_packet(worker, from, packet, data, bytes);
    else if (packet->kind == MLT_PACKET_STRICT)
        mlt_strict_packet(worker, packet, data, bytes);
#if MLT_WITH_CSP
    else
        mlt_route_packet(worker, from, packet, data, bytes);
#endif
}

static bool packet_crosses(uint16_t kind)
{
    return mlt_win_packet_is(kind) || mlt_part_owns_packet(kind);
}

static void look_at(const mlt_wait *wait, const mlt_req *req, mlt_ctl_wait *out)
{
    mlt_coll_look(wait, req, out);
    mlt_part_look(req, out);
}

static void saw(mlt_worker *worker, mlt_rank *rank, const mlt_event *event)
{
    mlt_mpi_trace_saw(worker, rank, event);
    mlt_tool_on_event(worker, rank, event);
}

static void describe(const mlt_wait *wait, mlt_event *event)
{
    if (wait->kind == MLT_WAIT_WINDOW)
        mlt_win_describe(wait, event);
#if MLT_WITH_CSP
    else
        mlt_csp_describe_wait(wait, event);
#endif
}

static void asked(mlt_worker *worker)
{
    mlt_outside_look(worker);
    mlt_mpi_trace_look(worker);
}

static void forked(void)
{
    mlt_trace_forget();
#if MLT_WITH_CSP
    mlt_csp_self = NULL;
#endif
#if MLT_WITH_FLOW
    mlt_flow_forked();
#endif
}

static void worker_ends(mlt_worker *worker)
{
#if MLT_WITH_CSP
    mlt_csp_end(worker);
#endif
    mlt_mpi_worker_fini(worker);
}

const mlt_upcall_table mlt_upcalls = {
    .device_pack = mlt_gpu_pack,
    .device_unpack = mlt_gpu_unpack,
    .device_move = mlt_gpu_move,
    .gpu_begins = gpu_begins,
    .device_copied = mlt_p2p_copied_now,
    .refused = mlt_mpi_refused,
    .event = saw,
    .describe = describe,
    .asked = asked,
    .deadlock = mlt_entry_deadlock,
    .note = noted,
    .packet = packet_came,
    .packet_crosses = packet_crosses,
    .kind_differs = mlt_mpi_kind_differs,
    .world_rank = mlt_comm_context_world_rank,
    .parts = mlt_goal_request_parts,
    .collective = look_at,
    .window = mlt_win_look,
    .original = mlt_globals_original,
    .join = mlt_mpi_join,
    .end_job = end_job,
    .own_input = mlt_input_take,
    .settings = mlt_lib_settings,
    .settings_check = mlt_mpi_settings_check,
    .joined = joined,
    .worker_begins = mlt_mpi_worker_init,
    .worker_ends = worker_ends,
    .worker_stays = mlt_mpi_trace_worker_stays,
    .rank_ends = mlt_file_rank_ends,
    .forked = forked,
#if MLT_WITH_CSP
    .processes_ended = mlt_route_processes_ended,
    .procs = mlt_csp_procs,
    .process = mlt_csp_process_label,
    .publish = mlt_publish_put,
    .look_up = mlt_publish_find,
    .unpublish = mlt_publish_drop,
    .worker_leaves = mlt_csp_leave,
#endif
#if MLT_WITH_FLOW
    .come_back = mlt_flow_csp_back,
    .remote_users = mlt_flow_remote_users,
    .sent = mlt_flow_sent_lines,
    .flow_packet = mlt_flow_packet,
#endif
};
