// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/settings.h"

mlt_gpu_settings mlt_gpu_conf;

static const mlt_setting settings[] = {
    {"gpu", MLT_SETTING_CHOICE, "auto", "auto|cuda|none",
     "whose device memory buffers may be in. auto: CUDA's, as soon as the process has its driver "
     "loaded; cuda: the driver is loaded when MPI is initialised, and the job ends where there is "
     "none; none: nobody's, and the driver is never asked",
     &mlt_gpu_conf.want, MLT_SCOPE_JOB},
};

const mlt_settings_table mlt_gpu_settings_table = {"gpu", settings,
                                                   sizeof settings / sizeof *settings};
