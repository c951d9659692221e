# SPDX-License-Identifier: BSD-3-Clause
# The kernels for devices, which a script has compiled from kernels.cu (test/gpu/ptx.py), as a text in a C file. No build needs a compiler of CUDA.
set(MLT_GPU_PTX ${CMAKE_SOURCE_DIR}/src/gpu/kernels.ptx)
set(MLT_GPU_PTX_C ${CMAKE_BINARY_DIR}/gen/gpu_ptx.c)
add_custom_command(OUTPUT ${MLT_GPU_PTX_C}
                   COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/gpu_ptx.py ${MLT_GPU_PTX} ${MLT_GPU_PTX_C}
                   DEPENDS ${MLT_GPU_PTX} ${CMAKE_SOURCE_DIR}/cmake/gpu_ptx.py COMMENT "Writing the kernels for devices")
target_sources(mlt_gpu PRIVATE ${MLT_GPU_PTX_C})
