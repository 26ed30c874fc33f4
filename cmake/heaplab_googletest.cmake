# GoogleTest as GTest::gtest and GTest::gtest_main: Debian's library, or built of Debian's sources of it where the
# compiler is for another machine.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
elseif(NOT TARGET GTest::gtest)
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()
