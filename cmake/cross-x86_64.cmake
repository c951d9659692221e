# SPDX-License-Identifier: BSD-3-Clause
# Builds for x86_64 elsewhere, with Debian's cross compiler; tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Address space that is granted costs memory under qemu; a crew takes what it can get, and would get a terabyte. (-R would leave no
# place for a page that x86-64 has near the end of its addresses.)
set(CMAKE_CROSSCOMPILING_EMULATOR "prlimit;--as=34359738368;qemu-x86_64;-L;/usr/x86_64-linux-gnu")
