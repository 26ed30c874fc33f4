# For CMAKE_TOOLCHAIN_FILE: programs and libraries that start with an old C library, see old_libraries.py.
# HEAPLAB_WHEEL_MACHINE: x86_64 or aarch64. HEAPLAB_OLD_LIBRARIES: what old_libraries.py made for it.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEAPLAB_WHEEL_MACHINE HEAPLAB_OLD_LIBRARIES)
if(HEAPLAB_WHEEL_MACHINE STREQUAL "aarch64")
  include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/aarch64.cmake)
endif()
set(CMAKE_C_COMPILER ${HEAPLAB_WHEEL_MACHINE}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${HEAPLAB_WHEEL_MACHINE}-linux-gnu-g++)

# Folders of the building machine in a file would make each build another wheel.
cmake_path(SET heaplab_sources NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../..)
string(JOIN " " heaplab_flags
  -B${HEAPLAB_OLD_LIBRARIES} -isystem ${CMAKE_CURRENT_LIST_DIR}/include -ffile-prefix-map=${heaplab_sources}=)
set(CMAKE_C_FLAGS_INIT ${heaplab_flags})
set(CMAKE_CXX_FLAGS_INIT ${heaplab_flags})
