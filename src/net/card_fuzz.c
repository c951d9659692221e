// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a process's card: refused with a message, or written again as the same bytes.
#include "net/card.h"

#include <fuzz/fuzz.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const mlt_card zero;
    mlt_card card;
    char why[200] = "";
    uint8_t again[MLT_CARD_BYTES];
    if (mlt_card_read(&card, data, size, why, sizeof why) != MLT_OK) {
        fuzz_check_sentence(why, sizeof why);
        FUZZ_CHECK(memcmp(&card, &zero, sizeof card) == 0);
        return 0;
    }
    FUZZ_CHECK(mlt_card_write(again, &card) == size && memcmp(again, data, size) == 0);
    for (uint32_t i = 0; i < card.count; i++) {
        char text[MLT_ADDRESS_TEXT];
        mlt_address same;
        FUZZ_CHECK(mlt_address_read(&same, mlt_address_text(text, &card.addresses[i], 0)));
        FUZZ_CHECK(mlt_address_same(&same, &card.addresses[i]));
    }
    // A host with these addresses looks for a peer with the same.
    mlt_address out[MLT_ADDRESSES];
    uint32_t n = mlt_address_likely(out, MLT_ADDRESSES, card.addresses, card.count, card.addresses,
                                    card.count);
    FUZZ_CHECK(n <= card.count);
    return 0;
}
