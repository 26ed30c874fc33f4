# An overlay port, which takes the sources from the clone that it lies in:
# vcpkg install heaplab-local --overlay-ports=CLONE/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DHEAPLAB_LIBRARIES=OFF -DHEAPLAB_LABORATORY=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME heaplab CONFIG_PATH lib/cmake/heaplab)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
