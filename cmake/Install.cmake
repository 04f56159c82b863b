# `cmake --install`: the library, its public headers, and a package that find_package(lowtide CONFIG)
# finds. Programs install themselves.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lowtide)
install(TARGETS lowtide EXPORT lowtide FILE_SET HEADERS)
install(EXPORT lowtide NAMESPACE lowtide:: FILE lowtideTargets.cmake DESTINATION ${package_dir})

get_target_property(LOWTIDE_LIBRARY_TYPE lowtide TYPE)
configure_package_config_file(cmake/lowtideConfig.cmake.in lowtideConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lowtideConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lowtideConfig.cmake
              ${PROJECT_BINARY_DIR}/lowtideConfigVersion.cmake
        DESTINATION ${package_dir})
