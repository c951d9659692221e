// SPDX-License-Identifier: BSD-3-Clause
// Any text as the value of a setting of any kind: it is refused with a message and the value stays
// as it was, or what it means can be written down and read again. The first byte is the kind.
#include "base/settings.h"

#include <fuzz/fuzz.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = -77, CHOICES = 4 };

static const char choices[] = "auto|on|off-line|x";

static void write_down(const mlt_setting *setting, int64_t value, char *text, size_t size)
{
    static const char *const names[CHOICES] = {"auto", "on", "off-line", "x"};
    switch (setting->kind) {
    case MLT_SETTING_BOOL:
        FUZZ_CHECK(value == 0 || value == 1);
        snprintf(text, size, "%s", value ? "yes" : "no");
        break;
    case MLT_SETTING_CHOICE:
        FUZZ_CHECK(value >= 0 && value < CHOICES);
        snprintf(text, size, "%s", names[value]);
        break;
    case MLT_SETTING_SIZE:
        if (value > 0 && value % 1024 == 0) {
            snprintf(text, size, "%" PRId64 "KiB", value / 1024);
            break;
        } // fall through
    default:
        snprintf(text, size, "%" PRId64, value);
    }
}

static void check(const mlt_setting *setting, const char *text, const int64_t *value)
{
    char why[200] = "", again[64];
    if (mlt_setting_parse(setting, text, why, sizeof why)) {
        fuzz_check_sentence(why, sizeof why);
        FUZZ_CHECK(*value == UNTOUCHED);
        char short_why[8];
        FUZZ_CHECK(mlt_setting_parse(setting, text, short_why, sizeof short_why) ==
                   MLT_ERR_INVALID);
        fuzz_check_sentence(short_why, sizeof short_why);
        return;
    }
    int64_t first = *value;
    write_down(setting, first, again, sizeof again);
    FUZZ_CHECK(mlt_setting_parse(setting, again, why, sizeof why) == MLT_OK && *value == first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    kind %= MLT_SETTING_TEXT + 1;
    char *text = fuzz_text(data, size);
    int64_t value = UNTOUCHED;
    const char *own = NULL;
    mlt_setting setting = {.name = "fuzzed",
                           .kind = (mlt_setting_kind)kind,
                           .initial = "1",
                           .choices = kind == MLT_SETTING_CHOICE ? choices : NULL,
                           .value = kind == MLT_SETTING_TEXT ? (void *)&own : (void *)&value};
    char why[200] = "";
    if (kind == MLT_SETTING_TEXT)
        FUZZ_CHECK(mlt_setting_parse(&setting, text, why, sizeof why) == MLT_OK && own == text);
    else
        check(&setting, text, &value);
    free(text);
    return 0;
}
