# Tests that are found by their folder. Every test is named <folder>.<name> and has the label <folder>, the
# folder of tests/ that adds it: `ctest -L scalloc` runs a folder, `ctest -R arena` whatever bears the name. The target
# tests.<folder> builds the programs of a folder.
#
# A test has the label of its tier, too, by which tools/check.sh chooses: none is run in every tier; `slow` not by
# make quick; `long`, with `slow`, by make test-long alone. TIER says so for what a function adds, HEAPLAB_TIER for a
# folder. Tests whose name ends in a malloc library of HEAPLAB_BRIEF_LIBRARIES are long, and where tests are slow those
# in one of HEAPLAB_SELDOM_LIBRARIES.
#
# heaplab_needs(<package> <package of Debian>) leaves the rest of the calling folder out, and says so, if CMake does
# not find the package; with HEAPLAB_TESTS_COMPLETE it ends the configuration.
#
# heaplab_discover_tests(<target> [OPTIMISED] [THREADS] [AS <name>] [EXCEPT <pattern>...] [OPTIONS <option>...]
#   [TIER <tier>] [LONG <pattern>...])
#
# Adds every case of a GoogleTest program, as <folder>.<suite>.<case>. AS puts a name after the folder, for
# programs whose cases have the same names. EXCEPT leaves out cases by patterns of --gtest_filter. What is
# tested lies in libraries and programs, which are optimised; the program's own code is not, which takes a third of the
# time to compile. OPTIMISED: it is, a little, because it explores all interleavings or its threads race in what headers
# define. THREADS: in some of its cases threads race, for the thread sanitizer to look at; the target
# tests.threads builds these programs, too. OPTIONS: for the compiler, like -UNDEBUG; such a program cannot use the
# precompiled header. LONG: cases that are long where the others are not.
#
# heaplab_add_test(<name> COMMAND <command>... [ENVIRONMENT <variable>=<value>...] [TIER <tier>])
#
# Adds one command.
#
# heaplab_add_python_test(<name> <script> <argument>... [ENVIRONMENT <variable>=<value>...] [TIER <tier>])
#
# Adds a script of the calling folder. HEAPLAB_EMULATOR in its environment: the words before a program that is built
# for another machine; empty for this machine.

include(GoogleTest)
include(heaplab_googletest)
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " HEAPLAB_EMULATOR)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(heaplab_test_folder result)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE folder)
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

macro(heaplab_needs package debian)
  if(HEAPLAB_TESTS_COMPLETE)
    find_package(${package} REQUIRED)
  else()
    find_package(${package} QUIET)
  endif()
  if(NOT ${package}_FOUND)
    heaplab_test_folder(folder)
    message(STATUS "tests/${folder} is left out, or a part of it: no ${package} (Debian: ${debian})")
    return()
  endif()
endmacro()

# The labels of a test: its folder, and those of its tier.
function(heaplab_labels result folder name tier)
  string(REGEX REPLACE ".*[.]" "" library "${name}")
  set(labels ${folder})
  if(NOT tier)
    set(tier ${HEAPLAB_TIER})
  endif()
  if(library IN_LIST HEAPLAB_BRIEF_LIBRARIES OR (tier STREQUAL "slow" AND library IN_LIST HEAPLAB_SELDOM_LIBRARIES))
    set(tier long)
  endif()
  if(tier)
    list(APPEND labels slow)
  endif()
  if(tier STREQUAL "long")
    list(APPEND labels long)
  endif()
  set(${result} ${labels} PARENT_SCOPE)
endfunction()

function(heaplab_build_with_folder folder target)
  if(NOT TARGET tests)
    add_custom_target(tests)
  endif()
  if(NOT TARGET tests.${folder})
    add_custom_target(tests.${folder})
    add_dependencies(tests tests.${folder})
  endif()
  add_dependencies(tests.${folder} ${target})
endfunction()

# GoogleTest's header, half of what most tests take to compile, is parsed once for all targets with the same option.
function(heaplab_precompile_googletest target option)
  string(MAKE_C_IDENTIFIER "heaplab_googletest_header${option}" header)
  if(NOT TARGET ${header})
    set(source ${PROJECT_BINARY_DIR}/googletest_header.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    add_executable(${header} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${header} PRIVATE heaplab_sanitized GTest::gtest)
    target_compile_options(${header} PRIVATE ${option})
    target_precompile_headers(${header} PRIVATE <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()

function(heaplab_discover_tests target)
  cmake_parse_arguments(arg "OPTIMISED;THREADS" "AS;TIER" "EXCEPT;OPTIONS;LONG" ${ARGN})
  set(optimisation)
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    set(optimisation -O0)
    if(arg_OPTIMISED)
      set(optimisation -O1)
    endif()
  endif()
  target_compile_options(${target} PRIVATE ${optimisation} ${arg_OPTIONS})
  if(NOT arg_OPTIONS)
    heaplab_precompile_googletest(${target} "${optimisation}")
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  heaplab_test_folder(folder)
  heaplab_build_with_folder(${folder} ${target})
  if(arg_THREADS)
    heaplab_build_with_folder(threads ${target})
  endif()
  set(prefix ${folder}.)
  if(arg_AS)
    string(APPEND prefix ${arg_AS}.)
  endif()
  set(filter)
  if(arg_LONG)
    list(JOIN arg_LONG ":" long)
    gtest_discover_tests(${target} TEST_PREFIX ${prefix} TEST_FILTER "${long}" TEST_LIST ${target}_long
      PROPERTIES LABELS "${folder};slow;long")
    list(APPEND arg_EXCEPT ${arg_LONG})
  endif()
  if(arg_EXCEPT)
    list(JOIN arg_EXCEPT ":" except)
    set(filter TEST_FILTER "-${except}")
  endif()
  heaplab_labels(labels ${folder} "" "${arg_TIER}")
  gtest_discover_tests(${target} TEST_PREFIX ${prefix} ${filter} PROPERTIES LABELS "${labels}")
endfunction()

function(heaplab_add_test name)
  cmake_parse_arguments(arg "" "TIER" "COMMAND;ENVIRONMENT" ${ARGN})
  heaplab_test_folder(folder)
  if(CMAKE_CROSSCOMPILING) # qemu notes every page of a reservation
    list(APPEND arg_ENVIRONMENT HEAPLAB_SCALLOC_ARENA=256MiB)
  endif()
  add_test(NAME ${folder}.${name} COMMAND ${arg_COMMAND})
  foreach(word IN LISTS arg_COMMAND)
    string(REGEX REPLACE "^\\$<TARGET_FILE:(.*)>$" "\\1" target "${word}")
    if(TARGET "${target}")
      heaplab_build_with_folder(${folder} ${target})
    endif()
  endforeach()
  heaplab_labels(labels ${folder} ${name} "${arg_TIER}")
  set_tests_properties(${folder}.${name} PROPERTIES LABELS "${labels}" ENVIRONMENT "${arg_ENVIRONMENT}"
    SKIP_RETURN_CODE 77)
endfunction()

function(heaplab_add_python_test name script)
  cmake_parse_arguments(arg "" "TIER" "ENVIRONMENT" ${ARGN})
  heaplab_add_test(${name} TIER "${arg_TIER}" COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_UNPARSED_ARGUMENTS}
    ENVIRONMENT ${arg_ENVIRONMENT} "HEAPLAB_EMULATOR=${HEAPLAB_EMULATOR}")
endfunction()

# heaplab_assert_everything(<target>) turns on every assertion in a test program whose subject is in headers: the
# invariants are then looked at after each transition, where interleavings are explored.
function(heaplab_assert_everything target)
  target_compile_definitions(${target} PRIVATE $<$<STREQUAL:${HEAPLAB_ASSERTIONS},>:HEAPLAB_ASSERTIONS=2>)
endfunction()
