# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where, in four components, which are the Debian packages of scripts/package.sh:
#
#   Library      libweir.so.0            Runtime      libweir_runtime.so.0
#   Development  headers, static libraries, CMake and pkg-config files, examples     Command      weir
#
#   find_package(weir)                                  weir::weir, weir::runtime
#   find_package(weir COMPONENTS weir_static …)         weir::weir_static, weir::runtime_static, and what they need
#   pkg-config [--static] weir, weir_runtime
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
set(examples ${CMAKE_INSTALL_DATADIR}/doc/weir/examples)

# One file of targets a library: none asks for the files of another.
foreach(entry "weir weir_library Library" "runtime weir_runtime_library Runtime"
              "weir_static weir_static Development" "runtime_static weir_runtime_static Development")
  string(REPLACE " " ";" entry ${entry})
  list(GET entry 0 export)
  list(GET entry 1 target)
  list(GET entry 2 component)
  install(TARGETS ${target} EXPORT weir_${export}_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT Development
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT weir_${export}_targets NAMESPACE weir:: FILE weir-${export}.cmake DESTINATION ${package}
          COMPONENT Development)
endforeach()
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/weir-config.cmake.in weir-config.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(weir-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weir-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/weir-config-version.cmake
        DESTINATION ${package} COMPONENT Development)

# The prefix is where the .pc file lies, so that an installation can be moved.
set(pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH WEIR_PC_PREFIX ${pkgconfig} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH WEIR_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH WEIR_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" WEIR_PC_PREFIX ${WEIR_PC_PREFIX})
foreach(WEIR_LIBRARY weir weir_runtime)
  set(WEIR_PC_PRIVATE "-lfmt -lxxhash -lhwy -lpthread -lstdc++ -lm")
  if(WEIR_LIBRARY STREQUAL weir)
    set(WEIR_PC_PRIVATE "-lonnx_proto -lprotobuf ${WEIR_PC_PRIVATE}")
  endif()
  configure_file(library.pc.in ${WEIR_LIBRARY}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${WEIR_LIBRARY}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT Development)
endforeach()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.c ${CMAKE_SOURCE_DIR}/examples/*.cpp)
install(FILES ${sources} ${CMAKE_SOURCE_DIR}/examples/installed/CMakeLists.txt DESTINATION ${examples}
        COMPONENT Development)
install(FILES ${CMAKE_SOURCE_DIR}/src/base/allocation_window.h DESTINATION ${examples}/base COMPONENT Development)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir COMPONENT Command)
if(NOT WEIR_DEBIAN)  # whose packages name the system's copy
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir COMPONENT Command)
endif()
