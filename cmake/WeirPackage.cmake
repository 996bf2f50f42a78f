# SPDX-License-Identifier: Apache-2.0
#
# Debian packages, one a component of WeirInstall.cmake; scripts/package.sh builds them. `cpack -G TGZ` gives one archive a
# component.
option(WEIR_DEBIAN "Install Debian's copyright files, for scripts/package.sh" OFF)

set(CPACK_PACKAGE_CONTACT "Weir maintainers <maintainers@weir.invalid>" CACHE STRING "Maintainer named in packages")
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR Weir)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Library Runtime Development Command)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_GENERATOR DEB)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(abi ${PROJECT_VERSION_MAJOR})
set(exactly "(= ${PROJECT_VERSION})")

function(weir_package component name section)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  if(WEIR_DEBIAN)
    install(FILES ${CMAKE_SOURCE_DIR}/cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
            COMPONENT ${component})
  endif()
endfunction()

weir_package(Library libweir${abi} libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Neural networks in planned memory: library
Weir imports a model, compiles it to a program whose memory is planned to the
byte, and runs it on the processor.")
weir_package(Runtime libweir-runtime${abi} libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Neural networks in planned memory: library that runs programs
Runs what Weir has compiled, without importer, compiler and protobuf.")
weir_package(Development libweir-dev libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweir${abi} ${exactly}, libweir-runtime${abi} ${exactly}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS
    "libfmt-dev, libxxhash-dev, libhwy-dev, libprotobuf-dev, libonnx-dev, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Neural networks in planned memory: headers and static libraries
Headers for C and C++, static libraries (which link what this package
suggests), CMake and pkg-config files, examples.")
weir_package(Command weir science)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "Neural networks in planned memory: command line
Runs, measures, compiles and inspects models, shows the memory that they take
without running them, and reads the text on photos.")

include(CPack)
