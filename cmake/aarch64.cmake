# For CMAKE_TOOLCHAIN_FILE: builds for AArch64 with Debian's cross compiler (package g++-aarch64-linux-gnu).
# What it has built runs under qemu (package qemu-user-static), whose kernel has pages of QEMU_PAGESIZE bytes: 4096,
# the default, 16384 or 65536. HEAPLAB_SCALLOC_ARENA=256MiB is to be set there: qemu notes every page reserved.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Headers alone are the same for every machine: CLI11.
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
# There for the building machine alone.
set(CMAKE_DISABLE_FIND_PACKAGE_boost_container TRUE)
