# Finds jemalloc, whose Debian package has no CMake configuration.
#
# Target: jemalloc::jemalloc, which takes the place of the C library's allocator in whatever program
# links it.

find_library(JEMALLOC_LIBRARY jemalloc)
mark_as_advanced(JEMALLOC_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(jemalloc REQUIRED_VARS JEMALLOC_LIBRARY)

if(jemalloc_FOUND AND NOT TARGET jemalloc::jemalloc)
  add_library(jemalloc::jemalloc INTERFACE IMPORTED)
  # Nobody refers to it by name, so that a linker which leaves out what is not needed would.
  target_link_libraries(jemalloc::jemalloc
                        INTERFACE -Wl,--push-state,--no-as-needed ${JEMALLOC_LIBRARY} -Wl,--pop-state)
endif()
