// SPDX-License-Identifier: BSD-3-Clause
// In the place of fabric.c, load.c and list.c where libfabric's headers were not there to build with.
#include <stdlib.h>

#include "wire/ofi/fabric.h"

static const char without[] = "this Millet was built without libfabric; build it where its headers "
                              "are (libfabric-dev)";

mlt_fabric *mlt_fabric_open(const mlt_fabric_choice *choice, char *why, size_t why_size)
{
    (void)choice;
    snprintf(why, why_size, "%s", without);
    return NULL;
}

void mlt_fabric_list(FILE *out, const mlt_fabric_choice *choice)
{
    (void)choice;
    fprintf(out, "none: %s\n", without);
}

// Nobody has a fabric to call these with.
void mlt_fabric_close(mlt_fabric *fabric)
{
    (void)fabric;
}

const mlt_fabric_facts *mlt_fabric_about(const mlt_fabric *fabric)
{
    (void)fabric;
    abort();
}

mlt_status mlt_fabric_meet(mlt_fabric *fabric, const unsigned char *address, uint64_t *number)
{
    (void)fabric, (void)address, (void)number;
    abort();
}

unsigned char *mlt_fabric_packet(mlt_fabric *fabric)
{
    (void)fabric;
    abort();
}

void mlt_fabric_give_back(mlt_fabric *fabric, unsigned char *packet)
{
    (void)fabric, (void)packet;
}

mlt_status mlt_fabric_send(mlt_fabric *fabric, uint64_t to, unsigned char *packet, uint32_t bytes,
                           void *owner)
{
    (void)fabric, (void)to, (void)packet, (void)bytes, (void)owner;
    abort();
}

mlt_status mlt_fabric_expose(mlt_fabric *fabric, const void *memory, uint64_t bytes,
                             mlt_fabric_window *window)
{
    (void)fabric, (void)memory, (void)bytes, (void)window;
    abort();
}

void mlt_fabric_conceal(mlt_fabric *fabric, mlt_fabric_window *window)
{
    (void)fabric, (void)window;
}

mlt_status mlt_fabric_read(mlt_fabric *fabric, uint64_t from, uint64_t address, uint64_t key,
                           void *memory, uint64_t bytes, void *owner)
{
    (void)fabric, (void)from, (void)address, (void)key, (void)memory, (void)bytes, (void)owner;
    abort();
}

uint32_t mlt_fabric_poll(mlt_fabric *fabric, mlt_fabric_event *events, uint32_t most)
{
    (void)fabric, (void)events, (void)most;
    abort();
}

void mlt_fabric_release(mlt_fabric *fabric, const mlt_fabric_event *event)
{
    (void)fabric, (void)event;
}

const char *mlt_fabric_error(const mlt_fabric *fabric, int error)
{
    (void)fabric, (void)error;
    abort();
}

bool mlt_fabric_may_sleep(mlt_fabric *fabric)
{
    (void)fabric;
    abort();
}
