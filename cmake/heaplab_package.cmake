# What find_package(heaplab) finds: heaplab::local (headers) and, for each malloc library, heaplab::<name>
# (shared) and heaplab::<name>_static.
include(CMakePackageConfigHelpers)
set(heaplab_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heaplab)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heaplabConfig.cmake.in
  ${PROJECT_BINARY_DIR}/heaplabConfig.cmake INSTALL_DESTINATION ${heaplab_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heaplabConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heaplabConfig.cmake ${PROJECT_BINARY_DIR}/heaplabConfigVersion.cmake
  DESTINATION ${heaplab_package_folder} COMPONENT development)
install(EXPORT heaplab_targets NAMESPACE heaplab:: DESTINATION ${heaplab_package_folder} COMPONENT development)
