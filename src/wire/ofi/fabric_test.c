// SPDX-License-Identifier: BSD-3-Clause
// Two endpoints in one process: packets keep their order and bytes, also when all buffers were used several
// times; and what is read is what the memory has now, not what was mapped there before. A third one, which
// nobody has told a key, reads nothing.
#include "wire/ofi/fabric.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/unit_test.h"
#include "os/os.h"
#include "wire/ofi/load.h"

enum {
    PACKETS_SENT = 1000, // some 8 MiB, into 512 KiB of buffers
    UNDERWAY = 32,       // as users of a fabric keep count
    MEMORY = 1 << 20,    // bytes that are read
    PATIENCE_S = 120,
};

typedef struct side {
    mlt_fabric *fabric;
    uint64_t other; // the other one's number
    uint32_t came;  // packets
    bool has_read;
} side;

static side sides[2];

static unsigned char pattern(uint32_t packet, uint32_t i)
{
    return (unsigned char)(packet * 31 + i * 7);
}

static uint32_t bytes_of(uint32_t packet)
{
    return packet % 3 == 0   ? 8 + packet % 57
           : packet % 3 == 1 ? mlt_fabric_about(sides[0].fabric)->packet_bytes
                             : packet * 13;
}

static void take(side *s, const mlt_fabric_event *event)
{
    CHECK(event->kind == MLT_FABRIC_CAME || event->kind == MLT_FABRIC_READ);
    s->has_read |= event->kind == MLT_FABRIC_READ;
    if (event->kind != MLT_FABRIC_CAME)
        return;
    CHECK(event->bytes == bytes_of(s->came));
    for (uint32_t i = 0; i < event->bytes; i++)
        CHECK(event->packet[i] == pattern(s->came, i));
    s->came++;
    mlt_fabric_release(s->fabric, event);
}

static void poll_both(uint64_t until)
{
    for (int i = 0; i < 2; i++) {
        mlt_fabric_event events[4];
        uint32_t n = mlt_fabric_poll(sides[i].fabric, events, 4);
        for (uint32_t k = 0; k < n; k++)
            take(&sides[i], &events[k]);
    }
    CHECK(mlt_os_now_ns() < until);
}

static uint64_t deadline(void)
{
    return mlt_os_now_ns() + PATIENCE_S * UINT64_C(1000000000);
}

static bool open_both(const char *word)
{
    mlt_fabric_choice choice;
    char why[256];
    CHECK(mlt_fabric_choose(word, &choice) == MLT_OK);
    for (int i = 0; i < 2; i++) {
        sides[i] = (side){.fabric = mlt_fabric_open(&choice, why, sizeof why)};
        if (sides[i].fabric)
            continue;
        printf("%s is not tried: %s\n", word, why);
        CHECK(i == 0);
        return false;
    }
    for (int i = 0; i < 2; i++)
        CHECK(mlt_fabric_meet(sides[i].fabric, mlt_fabric_about(sides[!i].fabric)->address,
                              &sides[i].other) == MLT_OK);
    return true;
}

static void test_packets(void)
{
    uint64_t until = deadline();
    for (uint32_t sent = 0; sent < PACKETS_SENT;) {
        unsigned char *packet =
            sent - sides[1].came < UNDERWAY ? mlt_fabric_packet(sides[0].fabric) : NULL;
        for (uint32_t i = 0; packet && i < bytes_of(sent); i++)
            packet[i] = pattern(sent, i);
        mlt_status status =
            packet ? mlt_fabric_send(sides[0].fabric, sides[0].other, packet, bytes_of(sent), NULL)
                   : MLT_PENDING;
        CHECK(status == MLT_OK || status == MLT_PENDING);
        sent += status == MLT_OK;
        if (packet && status == MLT_PENDING)
            mlt_fabric_give_back(sides[0].fabric, packet);
        poll_both(until);
    }
    while (sides[1].came < PACKETS_SENT)
        poll_both(until);
}

static unsigned char *map(void *at, int fill)
{
    unsigned char *memory =
        mmap(at, MEMORY, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    CHECK(memory != MAP_FAILED && (!at || memory == at));
    memset(memory, fill, MEMORY);
    return memory;
}

// Side 1 reads what side 0 exposes.
static void read_once(const unsigned char *from, unsigned char *to)
{
    uint64_t until = deadline();
    mlt_fabric_window window;
    mlt_status status;
    CHECK(mlt_fabric_expose(sides[0].fabric, from, MEMORY, &window) == MLT_OK);
    while ((status = mlt_fabric_read(sides[1].fabric, sides[1].other, window.address, window.key,
                                     to, MEMORY, NULL)) == MLT_PENDING)
        poll_both(until);
    CHECK(status == MLT_OK);
    while (!sides[1].has_read)
        poll_both(until);
    sides[1].has_read = false;
    mlt_fabric_conceal(sides[0].fabric, &window);
    CHECK(memcmp(from, to, MEMORY) == 0);
}

// On both sides other pages come to the same address, again and again.
static void test_memory(void)
{
    unsigned char *from = map(NULL, 0), *to = map(NULL, 0xff);
    if (!mlt_fabric_about(sides[0].fabric)->reads)
        return;
    for (int i = 1; i < 40; i++) {
        read_once(from, to);
        if (i % 2) {
            munmap(from, MEMORY);
            (void)map(from, i);
        }
        if (i % 3) {
            munmap(to, MEMORY);
            (void)map(to, 0xff - i);
        }
    }
    munmap(from, MEMORY);
    munmap(to, MEMORY);
}

// ---- A stranger

// One read by an endpoint of its own, as a failed one may cost the stranger its connection. True: it
// has got the memory.
static bool stranger_reads(const char *word, uint64_t address, uint64_t key, unsigned char *to,
                           uint64_t bytes)
{
    mlt_fabric_choice choice;
    char why[256];
    uint64_t number, until = deadline();
    mlt_status status;
    mlt_fabric_event event = {.kind = MLT_FABRIC_READ_FAILED};
    CHECK(mlt_fabric_choose(word, &choice) == MLT_OK);
    mlt_fabric *stranger = mlt_fabric_open(&choice, why, sizeof why);
    const unsigned char *target = mlt_fabric_about(sides[0].fabric)->address;
    CHECK(stranger && mlt_fabric_meet(stranger, target, &number) == MLT_OK);
    while ((status = mlt_fabric_read(stranger, number, address, key, to, bytes, &event)) ==
           MLT_PENDING) {
        CHECK(mlt_fabric_poll(stranger, &event, 1) == 0);
        poll_both(until);
    }
    while (status == MLT_OK && mlt_fabric_poll(stranger, &event, 1) == 0)
        poll_both(until);
    mlt_fabric_close(stranger);
    return status == MLT_OK && event.kind == MLT_FABRIC_READ;
}

// Not even with the addresses, and with the key of a window nothing but that window, as long as it is open.
static void test_stranger(const char *word)
{
    enum { PART = 4096 };
    mlt_fabric_window window, other;
    unsigned char *secret = map(NULL, 's'), *to = map(NULL, 0);
    CHECK(mlt_fabric_expose(sides[0].fabric, secret, PART, &window) == MLT_OK);
    CHECK(mlt_fabric_expose(sides[0].fabric, secret, PART, &other) == MLT_OK);
    CHECK(window.key >> 32 && other.key >> 32 && window.key != other.key + 1 &&
          other.key != window.key + 1);
    for (uint64_t key = 0; key < 3; key++) {
        CHECK(!stranger_reads(word, (uintptr_t)secret, key, to, PART));
        CHECK(!stranger_reads(word, window.address, key, to, PART));
        CHECK(!stranger_reads(word, window.address, window.key + 1 + key, to, PART));
    }
    CHECK(!stranger_reads(word, window.address + PART, window.key, to, PART));
    CHECK(!stranger_reads(word, window.address, window.key, to, 2 * PART));
    CHECK(to[0] == 0);
    CHECK(stranger_reads(word, window.address, window.key, to, PART) && to[0] == 's');
    mlt_fabric_conceal(sides[0].fabric, &window);
    CHECK(!stranger_reads(word, window.address, window.key, to, PART));
    mlt_fabric_conceal(sides[0].fabric, &other);
    munmap(secret, MEMORY);
    munmap(to, MEMORY);
}

// Providers of networks that are not here, by what they say of themselves.
static void test_trust(void)
{
    struct fi_fabric_attr fabric = {.prov_name = (char *)"verbs;ofi_rxm"};
    struct fi_domain_attr domain = {.name = (char *)"mlx5_0",
                                    .resource_mgmt = FI_RM_ENABLED,
                                    .mr_mode = FI_MR_PROV_KEY,
                                    .mr_key_size = 8};
    struct fi_ep_attr ep = {.max_msg_size = 1 << 20};
    struct fi_tx_attr tx = {.msg_order = FI_ORDER_SAS};
    struct fi_info info = {.caps = FI_RMA,
                           .fabric_attr = &fabric,
                           .domain_attr = &domain,
                           .ep_attr = &ep,
                           .tx_attr = &tx};
    mlt_fabric_choice choice;
    char why[256] = "";
    CHECK(mlt_fabric_choose("auto", &choice) == MLT_OK && !choice.trusts);
    CHECK(!mlt_ofi_best(&info, &choice, why, sizeof why));
    CHECK(strstr(why, "verbs;ofi_rxm") && strstr(why, "--fabric-trust"));
    domain.mr_mode = 0;
    domain.mr_key_size = 4; // all of them can be tried
    CHECK(!mlt_ofi_best(&info, &choice, why, sizeof why));
    choice.trusts = true;
    CHECK(mlt_ofi_best(&info, &choice, why, sizeof why) == &info);
    choice.trusts = false;
    domain.mr_key_size = 8;
    CHECK(mlt_ofi_best(&info, &choice, why, sizeof why) == &info);
    domain.mr_mode = FI_MR_PROV_KEY;
    info.caps = 0; // packets only: there is nothing to guess
    CHECK(mlt_ofi_best(&info, &choice, why, sizeof why) == &info);
}

static void test_refusals(void)
{
    static const char *const wrong[] = {"", "what", "ofi:", "ofitcp", "tcp;ofi_rxm"};
    mlt_fabric_choice choice;
    char why[256] = "";
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(mlt_fabric_choose(wrong[i], &choice) == MLT_ERR_INVALID);
    CHECK(mlt_fabric_choose("ofi:none", &choice) == MLT_OK && choice.demanded);
    CHECK(!mlt_fabric_open(&choice, why, sizeof why) && *why);
}

int main(void)
{
    static const char *const words[] = {"ofi:tcp", "ofi:sockets", "ofi:shm"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!open_both(words[i]))
            continue;
        test_packets();
        test_memory();
        // By shm, processes read each other's memory as debuggers do: the system asks who they are.
        if (strcmp(words[i], "ofi:shm") != 0)
            test_stranger(words[i]);
        for (int k = 0; k < 2; k++)
            mlt_fabric_close(sides[k].fabric);
    }
    test_trust();
    test_refusals(); // at last: the first of all makes libfabric read its variables
    return 0;
}
