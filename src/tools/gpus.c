// SPDX-License-Identifier: BSD-3-Clause
// Whether processes can share memory of a device is no attribute of it: containers and virtual machines refuse what
// the device could do. So two processes try it: this one, and a helper that is forked before the
// driver is loaded, as a process must not use the driver of its parent.
#include "tools/gpus.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "gpu/driver.h"
#include "gpu/settings.h"
#include "tools/args.h"

enum { WORDS = 1024, WHY_BYTES = 256, LIMIT_MS = 60000 }; // a first context takes seconds

// ---- what there is

static bool gpus_refused(const mlt_gpu_driver *cuda, mlt_cu_result result, const char *what,
                         char *why, size_t size)
{
    char text[160];
    if (result == MLT_CU_OK)
        return false;
    mlt_gpu_error_text(cuda, result, text, sizeof text);
    snprintf(why, size, "%s: %s", what, text);
    return true;
}

static int attribute(const mlt_gpu_driver *cuda, int which, int device)
{
    int value = 0;
    return cuda->DeviceGetAttribute(&value, which, device) == MLT_CU_OK ? value : 0;
}

static void gpus_find_one(const mlt_gpu_driver *cuda, int device, int count, mlt_gpus_one *out)
{
    size_t bytes = 0;
    *out = (mlt_gpus_one){.name = "a GPU without a name"};
    (void)cuda->DeviceGetName(out->name, sizeof out->name, device);
    (void)mlt_text_printable(out->name);
    (void)cuda->DeviceTotalMem(&bytes, device);
    out->bytes = bytes;
    snprintf(out->address, sizeof out->address, "%04x:%02x:%02x",
             (unsigned)attribute(cuda, MLT_CU_DEVICE_PCI_DOMAIN, device),
             (unsigned)attribute(cuda, MLT_CU_DEVICE_PCI_BUS, device),
             (unsigned)attribute(cuda, MLT_CU_DEVICE_PCI_DEVICE, device));
    out->major = attribute(cuda, MLT_CU_DEVICE_MAJOR, device);
    out->minor = attribute(cuda, MLT_CU_DEVICE_MINOR, device);
    out->processors = attribute(cuda, MLT_CU_DEVICE_MULTIPROCESSORS, device);
    out->unified = attribute(cuda, MLT_CU_DEVICE_UNIFIED_ADDRESSING, device);
    out->managed = attribute(cuda, MLT_CU_DEVICE_MANAGED, device);
    for (int peer = 0; peer < count; peer++) {
        int can = 0;
        if (peer != device && cuda->DeviceCanAccessPeer(&can, device, peer) == MLT_CU_OK && can)
            out->peers |= UINT64_C(1) << peer;
    }
}

// False: there is nothing, and `why` says why.
static bool gpus_begin(mlt_gpu_driver *cuda, int *count, char *why, size_t size)
{
    return mlt_gpu_driver_load(cuda, true, why, size) == MLT_OK &&
           !gpus_refused(cuda, cuda->Init(0), "CUDA's driver does not start", why, size) &&
           !gpus_refused(cuda, cuda->DeviceGetCount(count),
                         "CUDA's driver does not say how many there are", why, size);
}

static void find_all(mlt_gpu_driver *cuda, mlt_gpus *out)
{
    memset(out, 0, sizeof *out);
    if (!gpus_begin(cuda, &out->count, out->why, sizeof out->why)) {
        out->count = 0;
        return;
    }
    (void)cuda->DriverGetVersion(&out->version);
    if (out->count == 0)
        snprintf(out->why, sizeof out->why, "CUDA's driver finds no device");
    out->count = out->count < MLT_GPUS_MOST ? out->count : MLT_GPUS_MOST;
    for (int d = 0; d < out->count; d++)
        gpus_find_one(cuda, d, out->count, &out->at[d]);
}

void mlt_gpus_find(mlt_gpus *out)
{
    mlt_gpu_driver cuda;
    find_all(&cuda, out);
}

static bool gpus_are_used(void)
{
    return mlt_gpu_conf.want != MLT_GPU_WANT_NONE;
}

// ", of those that CUDA_VISIBLE_DEVICES names": what the driver does not show is not there.
static const char *gpus_hidden(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return visible ? "; CUDA_VISIBLE_DEVICES is set, and hides others" : "";
}

// "139.7 GiB", "512 MiB"
static void size_text(uint64_t bytes, char *text, size_t size)
{
    if (bytes >= UINT64_C(1) << 30)
        snprintf(text, size, "%.1f GiB", (double)bytes / (double)(UINT64_C(1) << 30));
    else
        snprintf(text, size, "%llu MiB", (unsigned long long)(bytes >> 20));
}

static void peers_text(const mlt_gpus *all, int device, mlt_text *text)
{
    const char *between = "";
    for (int d = 0; d < all->count; d++)
        if (all->at[device].peers >> d & 1) {
            mlt_text_add(text, "%s%d", between, d);
            between = ", ";
        }
}

static void describe_one(const mlt_gpus *all, int device, mlt_text *text)
{
    const mlt_gpus_one *one = &all->at[device];
    char size[32];
    size_text(one->bytes, size, sizeof size);
    mlt_text_add(text, "%s, %s, compute capability %d.%d", one->name, size, one->major, one->minor);
}

void mlt_gpus_say(void)
{
    mlt_gpus all;
    mlt_gpus_find(&all);
    if (!gpus_are_used())
        printf("  %-14s buffers may not be in their memory: MILLET_GPU is none\n", "GPUs");
    else if (all.why[0])
        printf("  %-14s none: %s%s\n", "GPUs", all.why, gpus_hidden());
    else
        printf("  %-14s buffers may be in their memory (CUDA %d.%d); `millet info --gpus` tries "
               "what works\n",
               "GPUs", all.version / 1000, all.version % 1000 / 10);
    for (int d = 0; d < all.count; d++) {
        mlt_text text = {0};
        char name[16];
        describe_one(&all, d, &text);
        snprintf(name, sizeof name, "GPU %d", d);
        printf("  %-14s %s\n", name, text.text);
        mlt_text_free(&text);
    }
}

static void json_one(const mlt_gpus *all, int device)
{
    const mlt_gpus_one *one = &all->at[device];
    mlt_text peers = {0};
    peers_text(all, device, &peers);
    printf("%s\n      {\"name\": ", device ? "," : "");
    mlt_text_print_json(stdout, one->name);
    printf(", \"address\": \"%s\", \"bytes\": %llu, \"capability\": \"%d.%d\", "
           "\"multiprocessors\": %d, \"unified\": %s, \"managed\": %s, \"peers\": [%s]}",
           one->address, (unsigned long long)one->bytes, one->major, one->minor, one->processors,
           one->unified ? "true" : "false", one->managed ? "true" : "false",
           mlt_text_so_far(&peers));
    mlt_text_free(&peers);
}

void mlt_gpus_json(void)
{
    mlt_gpus all;
    mlt_gpus_find(&all);
    printf("{\"used\": %s, \"why_none\": ", gpus_are_used() && all.count ? "true" : "false");
    mlt_text_print_json(stdout, all.why);
    printf(", \"cuda\": \"%d.%d\", \"devices\": [", all.version / 1000, all.version % 1000 / 10);
    for (int d = 0; d < all.count; d++)
        json_one(&all, d);
    printf("%s]}", all.count ? "\n    " : "");
}

// ---- whether another process can open memory

// What this process sends its helper, and what comes back.
typedef struct request {
    int device;
    mlt_cu_ipc_handle handle;
} request;

typedef struct reply {
    bool fine;
    char why[WHY_BYTES];
} reply;

static uint32_t word_at(int device, uint32_t i)
{
    return (uint32_t)(device + 1) * 2654435761u + i * 40503u;
}

static bool use_device(const mlt_gpu_driver *cuda, int device, char *why)
{
    mlt_cu_context context;
    return !gpus_refused(cuda, cuda->DevicePrimaryCtxRetain(&context, device),
                         "it gives no context", why, WHY_BYTES) &&
           !gpus_refused(cuda, cuda->CtxSetCurrent(context), "its context is refused", why,
                         WHY_BYTES);
}

static bool copy_words(const mlt_gpu_driver *cuda, mlt_cu_ptr to, mlt_cu_ptr from, char *why)
{
    return !gpus_refused(cuda, cuda->MemcpyAsync(to, from, WORDS * sizeof(uint32_t), NULL),
                         "a copy is refused", why, WHY_BYTES) &&
           !gpus_refused(cuda, cuda->StreamSynchronize(NULL), "a copy fails", why, WHY_BYTES);
}

// In the helper: the other's memory holds what it should.
static bool read_theirs(const mlt_gpu_driver *cuda, const request *r, char *why)
{
    enum { LAZY_PEER_ACCESS = 1 };
    static uint32_t words[WORDS];
    mlt_cu_ptr theirs;
    memset(words, 0, sizeof words);
    if (!use_device(cuda, r->device, why) ||
        gpus_refused(cuda, cuda->IpcOpenMemHandle(&theirs, r->handle, LAZY_PEER_ACCESS),
                     "the driver refuses to open it", why, WHY_BYTES))
        return false;
    bool fine = copy_words(cuda, (uintptr_t)words, theirs, why);
    for (uint32_t i = 0; i < WORDS && fine; i++)
        if (words[i] != word_at(r->device, i)) {
            snprintf(why, WHY_BYTES, "it reads something else");
            fine = false;
        }
    (void)cuda->IpcCloseMemHandle(theirs);
    return fine;
}

static _Noreturn void help(int socket)
{
    mlt_gpu_driver cuda;
    int count = 0;
    request r;
    reply unable = {0};
    bool begun = false;
    while (recv(socket, &r, sizeof r, MSG_WAITALL) == (ssize_t)sizeof r) {
        reply out = {0};
        begun = begun || gpus_begin(&cuda, &count, unable.why, sizeof unable.why);
        if (begun)
            out.fine = read_theirs(&cuda, &r, out.why);
        else
            out = unable;
        if (send(socket, &out, sizeof out, MSG_NOSIGNAL) != (ssize_t)sizeof out)
            break;
    }
    _exit(0);
}

static bool ask_helper(int socket, const request *r, char *why)
{
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    reply out = {0};
    int ready = 0;
    if (send(socket, r, sizeof *r, MSG_NOSIGNAL) == (ssize_t)sizeof *r)
        ready = poll(&wait, 1, LIMIT_MS);
    if (ready <= 0 || recv(socket, &out, sizeof out, MSG_WAITALL) != (ssize_t)sizeof out) {
        snprintf(why, WHY_BYTES, "the process that tries it does not answer"); // or has ended
        return false;
    }
    snprintf(why, WHY_BYTES, "%s", out.why);
    return out.fine;
}

static bool can_share(const mlt_gpu_driver *cuda, int device, int helper, char *why)
{
    static uint32_t words[WORDS];
    request r = {.device = device};
    mlt_cu_ptr mine;
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = word_at(device, i);
    if (!use_device(cuda, device, why) || gpus_refused(cuda, cuda->MemAlloc(&mine, sizeof words),
                                                       "it gives no memory", why, WHY_BYTES))
        return false;
    bool fine = copy_words(cuda, mine, (uintptr_t)words, why) &&
                !gpus_refused(cuda, cuda->IpcGetMemHandle(&r.handle, mine),
                              "the driver gives no handle of it", why, WHY_BYTES) &&
                ask_helper(helper, &r, why);
    (void)cuda->MemFree(mine);
    return fine;
}

static void say_one(const mlt_gpu_driver *cuda, const mlt_gpus *all, int device, int helper)
{
    const mlt_gpus_one *one = &all->at[device];
    char why[WHY_BYTES] = "";
    mlt_text text = {0}, peers = {0};
    describe_one(all, device, &text);
    peers_text(all, device, &peers);
    printf("\nGPU %d: %s, %d multiprocessors, at %s\n", device, text.text, one->processors,
           one->address);
    printf("  unified addresses      %s\n",
           one->unified ? "yes" : "no: buffers of MPI calls may not be in its memory");
    printf("  managed memory         %s\n", one->managed ? "yes" : "no");
    bool fine = can_share(cuda, device, helper, why);
    printf("  shared with processes  %s%s%s\n",
           fine ? "yes: another process opens its memory" : "no: ", fine ? "" : why,
           fine ? "" : "; messages between processes go through the host's memory");
    printf("  reaches the memory of  %s%s\n", peers.length ? "GPU " : "no other GPU",
           mlt_text_so_far(&peers));
    fflush(stdout);
    mlt_text_free(&text);
    mlt_text_free(&peers);
}

void mlt_info_gpus(void)
{
    mlt_gpu_driver cuda;
    mlt_gpus all;
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        mlt_args_failed("there is no socket (%s)", strerror(errno));
    fflush(NULL);
    pid_t helper = fork();
    if (helper < 0)
        mlt_args_failed("there is no other process (%s)", strerror(errno));
    if (helper == 0) {
        close(sockets[0]);
        help(sockets[1]);
    }
    close(sockets[1]);
    find_all(&cuda, &all);
    if (all.why[0])
        printf("No GPUs: %s%s\n", all.why, gpus_hidden());
    else
        printf("CUDA %d.%d, %d GPU%s%s; MILLET_GPU=%s\n", all.version / 1000,
               all.version % 1000 / 10, all.count, all.count == 1 ? "" : "s", gpus_hidden(),
               mlt_gpu_conf.want == MLT_GPU_WANT_NONE   ? "none: buffers may not be in their memory"
               : mlt_gpu_conf.want == MLT_GPU_WANT_CUDA ? "cuda"
                                                        : "auto");
    for (int d = 0; d < all.count; d++)
        say_one(&cuda, &all, d, sockets[0]);
    close(sockets[0]);
    kill(helper, SIGKILL); // it may hang in the driver
    waitpid(helper, NULL, 0);
}
