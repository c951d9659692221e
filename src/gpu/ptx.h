// SPDX-License-Identifier: BSD-3-Clause
// The kernels of kernels.cu in PTX, for the driver's compiler: the text of kernels.ptx.
#pragma once

extern const char mlt_gpu_ptx[] __attribute__((visibility("hidden")));
