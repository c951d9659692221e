// SPDX-License-Identifier: BSD-3-Clause
// Any text as the value of --iface, or as a range of ports: refused with a message, or what it
// means can be written down and read again. The first byte says which.
#include "net/iface.h"

#include <fuzz/fuzz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void write_down(const mlt_iface_filter *filter, mlt_text *text)
{
    mlt_text_add(text, "%s", filter->except ? "^" : "");
    for (uint32_t i = 0; i < filter->count; i++) {
        const mlt_iface_choice *choice = &filter->choices[i];
        char one[MLT_ADDRESS_TEXT];
        mlt_text_add(text, "%s", i ? "," : "");
        if (choice->iface[0])
            mlt_text_add(text, "%s", choice->iface);
        else
            mlt_text_add(text, "%s/%u", mlt_address_text(one, &choice->subnet, 0),
                         choice->subnet.prefix);
    }
}

static void check_filter(const char *text)
{
    mlt_iface_filter filter, again;
    char why[200] = "";
    if (mlt_iface_parse(&filter, text, why, sizeof why) != MLT_OK) {
        fuzz_check_sentence(why, sizeof why);
        return;
    }
    mlt_text written = {0};
    write_down(&filter, &written);
    FUZZ_CHECK(filter.count > 0);
    FUZZ_CHECK(mlt_iface_parse(&again, written.text, why, sizeof why) == MLT_OK);
    FUZZ_CHECK(memcmp(&filter, &again, sizeof filter) == 0);
    mlt_text_free(&written);
    for (uint32_t i = 0; i < filter.count; i++) // what it names is chosen
        FUZZ_CHECK(filter.choices[i].iface[0] ||
                   mlt_iface_chosen(&filter, &filter.choices[i].subnet));
}

static void check_ports(const char *text)
{
    mlt_iface_ports ports, again;
    char why[200] = "", written[32];
    if (mlt_iface_ports_parse(&ports, text, why, sizeof why) != MLT_OK) {
        fuzz_check_sentence(why, sizeof why);
        return;
    }
    FUZZ_CHECK(ports.first <= ports.last && (ports.first > 0 || ports.last == 0));
    snprintf(written, sizeof written, ports.first ? "%u-%u" : "any", ports.first, ports.last);
    FUZZ_CHECK(mlt_iface_ports_parse(&again, written, why, sizeof why) == MLT_OK);
    FUZZ_CHECK(memcmp(&ports, &again, sizeof ports) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t which;
    fuzz_take(&data, &size, &which, 1);
    char *text = fuzz_text(data, size);
    if (which % 2)
        check_ports(text);
    else
        check_filter(text);
    free(text);
    return 0;
}
