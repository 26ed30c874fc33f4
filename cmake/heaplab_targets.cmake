# What every target of heaplab shares, and how a folder becomes a target.

find_package(Threads REQUIRED)

add_library(heaplab_options INTERFACE)
# A project that takes heaplab in is not troubled by the warnings of its compiler about heaplab.
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(heaplab_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
endif()
# The build-id is how a run proves which library served it.
target_link_options(heaplab_options INTERFACE -Wl,--build-id=sha1)
target_include_directories(heaplab_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_libraries(heaplab_options INTERFACE Threads::Threads)
if(NOT HEAPLAB_ASSERTIONS STREQUAL "")
  target_compile_definitions(heaplab_options INTERFACE HEAPLAB_ASSERTIONS=${HEAPLAB_ASSERTIONS})
endif()

# Sanitizers watch programs and tests. A library that is itself the malloc stays
# uninstrumented: the sanitizer runtime would replace the malloc under test.
add_library(heaplab_sanitized INTERFACE)
target_link_libraries(heaplab_sanitized INTERFACE heaplab_options)
if(HEAPLAB_SANITIZE)
  target_compile_options(heaplab_sanitized INTERFACE
    -fsanitize=${HEAPLAB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized) # false where gcc instruments
  target_link_options(heaplab_sanitized INTERFACE -fsanitize=${HEAPLAB_SANITIZE})
  # The thread sanitizer reports a race on the pipes that the check of virtual tables opens in each thread.
  if(HEAPLAB_SANITIZE MATCHES "thread")
    target_compile_options(heaplab_sanitized INTERFACE -fno-sanitize=vptr)
  endif()
endif()

# Sources of the target are compiled together, eight at a time: most take longer to read headers than to compile. Then
# no two of them may use a name of an unnamed namespace for different things.
function(heaplab_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEAPLAB_UNITY})
endfunction()

# Adds every sub-folder that has a CMakeLists.txt but those that are named: a new workload, allocator or
# test suite is a new folder and nothing else.
function(heaplab_add_subfolders)
  file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(entry IN LISTS entries)
    cmake_path(GET entry PARENT_PATH folder)
    if(NOT folder IN_LIST ARGN)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()
