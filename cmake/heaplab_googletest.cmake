# GoogleTest as GTest::gtest and GTest::gtest_main: Debian's library, or built of Debian's sources of it where the
# compiler is for another machine.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
elseif(NOT TARGET GTest::gtest)
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()

# heaplab_precompile_googletest(<target> <option>...): the options are added to those of the target, and GoogleTest's
# header, half of what most tests take to compile, is parsed once for all targets with the same options.
function(heaplab_precompile_googletest target)
  string(MAKE_C_IDENTIFIER "heaplab_googletest_header${ARGN}" header)
  if(NOT TARGET ${header})
    set(source ${PROJECT_BINARY_DIR}/googletest_header.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    add_executable(${header} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${header} PRIVATE heaplab_sanitized GTest::gtest)
    target_compile_options(${header} PRIVATE ${ARGN})
    target_precompile_headers(${header} PRIVATE <gtest/gtest.h>)
  endif()
  target_compile_options(${target} PRIVATE ${ARGN})
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()
