# SPDX-License-Identifier: BSD-3-Clause
# Builds for aarch64 elsewhere, with Debian's cross compiler; tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Address space that is granted costs memory under qemu; a crew takes what it can get, and would get a terabyte.
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-R;32G;-L;/usr/aarch64-linux-gnu")
