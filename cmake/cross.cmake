# For a Debian architecture that this machine does not have: the distribution's cross compiler,
# packages of that architecture unpacked below build/ (deploy/install cross puts them there), and an
# emulator that runs what is built.
#
# Variable: REPRIEVE_ARCHITECTURE, amd64 or arm64; the presets of these names set it.

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES REPRIEVE_ARCHITECTURE)
if(REPRIEVE_ARCHITECTURE STREQUAL amd64)
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
elseif(REPRIEVE_ARCHITECTURE STREQUAL arm64)
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
else()
  message(FATAL_ERROR "REPRIEVE_ARCHITECTURE is '${REPRIEVE_ARCHITECTURE}'; it has to be amd64 or arm64")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)

# Libraries and headers are those of the packages, programs such as protoc those of this machine.
cmake_path(SET CMAKE_SYSROOT NORMALIZE
           ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${REPRIEVE_ARCHITECTURE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L ${CMAKE_SYSROOT})
