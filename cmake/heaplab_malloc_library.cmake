# heaplab_add_malloc_library(<name> [SOURCES <file>...] [DEFINITIONS <name>=<value>...] [EXPORTS <symbol>...])
#
# Makes lib/libheaplab_<name>.so, which replaces malloc by being preloaded or linked, and
# lib/libheaplab_<name>.a, which replaces it by being linked, from library.cpp of the calling folder (see
# src/shim/bind.h) and SOURCES. Their CMake targets, heaplab::<name> and heaplab::<name>_static, and the
# pkg-config file heaplab-<name> bring the folder of <heaplab/*.h> along. EXPORTS names what the library
# offers beyond the contract of src/shim. Variants of an allocator are further calls with other DEFINITIONS.
#
# The global property HEAPLAB_MALLOC_LIBRARIES lists the names: the test suites run on each.
#
# heaplab_add_shared_malloc(<target> [SOURCES <file>...] [DEFINITIONS <name>=<value>...])
#
# Makes the shared library alone, neither installed nor listed.
#
# heaplab_add_asserting_malloc(<name> [SOURCES <file>...] [DEFINITIONS <name>=<value>...])
#
# Makes such a library, heaplab_<name>_asserting, in which every assertion is on, for the tests. The global property
# HEAPLAB_ASSERTING_LIBRARIES lists the names.

# Recognising calls of malloc would let the compiler make calloc call itself.
set(heaplab_malloc_compile_options
  -O2 -fno-exceptions -fno-rtti -fasynchronous-unwind-tables -fvisibility=hidden -ftls-model=initial-exec
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free -fno-builtin-aligned_alloc)
if(HEAPLAB_USDT)
  list(APPEND heaplab_malloc_compile_options -DHEAPLAB_USDT=1)
endif()

# Linked as a C program is: without a C++ run-time library.
# initfirst: fork handlers are registered before anybody else's (src/shim/fork_safety.h).
# nodelete: blocks and thread-exit handlers outlive a dlclose.
# dynamic-list: what -Bsymbolic must leave to the dynamic loader.
set(heaplab_malloc_link_options
  LINKER:-z,now,-z,relro,-z,defs,-z,initfirst,-z,nodelete,--as-needed,-Bsymbolic
  LINKER:--dynamic-list=${PROJECT_SOURCE_DIR}/src/shim/replaceable.txt)

function(heaplab_malloc_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE heaplab_base)
  target_compile_options(${target} PRIVATE ${heaplab_malloc_compile_options})
endfunction()

function(heaplab_add_shared_malloc target)
  cmake_parse_arguments(arg "" "" "SOURCES;DEFINITIONS" ${ARGN})
  heaplab_malloc_objects(${target}_c library.cpp ${arg_SOURCES})
  target_compile_definitions(${target}_c PRIVATE HEAPLAB_BIND_C ${arg_DEFINITIONS})
  heaplab_malloc_objects(${target}_cxx library.cpp)
  target_compile_definitions(${target}_cxx PRIVATE HEAPLAB_BIND_CXX ${arg_DEFINITIONS})

  add_library(${target} SHARED
    $<TARGET_OBJECTS:${target}_c> $<TARGET_OBJECTS:${target}_cxx> $<TARGET_OBJECTS:heaplab_cxx_runtime_shared>)
  target_link_options(${target} PRIVATE ${heaplab_malloc_link_options})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:heaplab_options>)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endfunction()

function(heaplab_add_asserting_malloc name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEFINITIONS" ${ARGN})
  heaplab_add_shared_malloc(heaplab_${name}_asserting
    SOURCES ${arg_SOURCES} DEFINITIONS ${arg_DEFINITIONS} HEAPLAB_ASSERTIONS=2)
  set_property(GLOBAL APPEND PROPERTY HEAPLAB_ASSERTING_LIBRARIES ${name})
endfunction()

function(heaplab_malloc_package name target)
  # A program that names no allocation function itself must get the library all the same.
  target_link_options(${target} INTERFACE LINKER:--undefined=malloc)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(heaplab::${name} ALIAS ${target})
  install(TARGETS ${target} EXPORT heaplab_targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endfunction()

function(heaplab_add_malloc_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEFINITIONS;EXPORTS" ${ARGN})
  set(target heaplab_${name})

  heaplab_add_shared_malloc(${target} SOURCES ${arg_SOURCES} DEFINITIONS ${arg_DEFINITIONS})
  set_target_properties(${target} PROPERTIES HEAPLAB_EXPORTS "${arg_EXPORTS}")
  heaplab_malloc_package(${name} ${target})

  add_library(${target}_static STATIC
    $<TARGET_OBJECTS:${target}_c> $<TARGET_OBJECTS:${target}_cxx> $<TARGET_OBJECTS:heaplab_cxx_runtime_static>)
  set_target_properties(${target}_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${target}
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  heaplab_malloc_package(${name}_static ${target}_static)

  set(HEAPLAB_LIBRARY_NAME ${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/heaplab_malloc_library.pc.in
    ${PROJECT_BINARY_DIR}/pkgconfig/heaplab-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/heaplab-${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  set_property(GLOBAL APPEND PROPERTY HEAPLAB_MALLOC_LIBRARIES ${name})
endfunction()
