// SPDX-License-Identifier: BSD-3-Clause
// Any text as a port's name: refused, or written again as a name of the same port.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "launch/hosts/ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), again[MLT_PORT_NAME_MOST];
    mlt_port_name name, same;
    if (mlt_port_name_read(&name, text)) {
        FUZZ_CHECK(name.count > 0 && name.count <= MLT_ADDRESSES && name.port > 0);
        mlt_port_name_write(again, &name);
        FUZZ_CHECK(strlen(again) < sizeof again);
        if (mlt_port_name_read(&same, again)) { // not if all its addresses are link-local
            FUZZ_CHECK(same.number == name.number && same.port == name.port);
            FUZZ_CHECK(memcmp(same.key.bytes, name.key.bytes, sizeof same.key.bytes) == 0);
        }
    }
    free(text);
    return 0;
}
