# Finds the C++ Actor Framework, whose Debian package has no CMake configuration.
#
# Targets: CAF::core, and CAF::io and CAF::openssl where their libraries are there.
# Variables: CAF_FOUND, CAF_VERSION.

find_path(CAF_INCLUDE_DIR caf/actor_system.hpp)
find_library(CAF_CORE_LIBRARY caf_core)
find_library(CAF_IO_LIBRARY caf_io)
find_library(CAF_OPENSSL_LIBRARY caf_openssl)
mark_as_advanced(CAF_INCLUDE_DIR CAF_CORE_LIBRARY CAF_IO_LIBRARY CAF_OPENSSL_LIBRARY)

# CAF_VERSION in the header is one number: 1706 stands for 0.17.6.
if(CAF_INCLUDE_DIR AND EXISTS ${CAF_INCLUDE_DIR}/caf/config.hpp)
  file(STRINGS ${CAF_INCLUDE_DIR}/caf/config.hpp _caf_line REGEX "#define CAF_VERSION [0-9]+")
  if(_caf_line MATCHES "([0-9]+)$")
    math(EXPR _caf_major "${CMAKE_MATCH_1} / 10000")
    math(EXPR _caf_minor "${CMAKE_MATCH_1} / 100 % 100")
    math(EXPR _caf_patch "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION ${_caf_major}.${_caf_minor}.${_caf_patch})
  endif()
endif()

foreach(_caf_component ${CAF_FIND_COMPONENTS})
  string(TOUPPER ${_caf_component} _caf_upper)
  if(CAF_${_caf_upper}_LIBRARY)
    set(CAF_${_caf_component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CAF
  REQUIRED_VARS CAF_CORE_LIBRARY CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS)

if(CAF_FOUND)
  find_package(Threads REQUIRED)
  function(_caf_target component library)
    if(library AND NOT TARGET CAF::${component})
      add_library(CAF::${component} UNKNOWN IMPORTED)
      set_target_properties(CAF::${component} PROPERTIES IMPORTED_LOCATION ${library}
                                                         INTERFACE_INCLUDE_DIRECTORIES ${CAF_INCLUDE_DIR})
      target_link_libraries(CAF::${component} INTERFACE ${ARGN})
    endif()
  endfunction()
  _caf_target(core "${CAF_CORE_LIBRARY}" Threads::Threads)
  _caf_target(io "${CAF_IO_LIBRARY}" CAF::core)
  _caf_target(openssl "${CAF_OPENSSL_LIBRARY}" CAF::io)
endif()
