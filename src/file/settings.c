// SPDX-License-Identifier: BSD-3-Clause
#include "file/settings.h"

mlt_file_settings mlt_file_conf;

static const mlt_setting settings[] = {
    {"file_async", MLT_SETTING_CHOICE, "auto", "auto|uring|threads",
     "who waits for the disk when short reads of a file cannot be done at once: the kernel "
     "(io_uring) where it allows that and threads elsewhere; the kernel, and opening a file ends "
     "the job where it refuses; or threads. Writes and long reads are always given to threads",
     &mlt_file_conf.async, MLT_SCOPE_PROCESS},
};

const mlt_settings_table mlt_file_settings_table = {"file", settings,
                                                    sizeof settings / sizeof *settings};
