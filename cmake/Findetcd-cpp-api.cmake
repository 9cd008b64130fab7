# Finds etcd-cpp-apiv3, all of it or its core. Its own CMake configuration is not used: it asks for
# the C++ REST SDK, which the core does not need, loads gRPC's once more, and does not tell where its
# headers are, nor how they are to be compiled.
#
# Target: etcd-cpp-api::core. Variable: etcd-cpp-api_FOUND. Looks below CMAKE_PREFIX_PATH and
# etcd-cpp-api_ROOT, too.

find_path(ETCD_CPP_INCLUDE_DIR etcd/SyncClient.hpp)
find_library(ETCD_CPP_LIBRARY NAMES etcd-cpp-api-core etcd-cpp-api)
mark_as_advanced(ETCD_CPP_INCLUDE_DIR ETCD_CPP_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  etcd-cpp-api
  REQUIRED_VARS ETCD_CPP_LIBRARY ETCD_CPP_INCLUDE_DIR
  REASON_FAILURE_MESSAGE
    "the library etcd-cpp-apiv3, which no Debian package has, is not there: build it with \
-DBUILD_ETCD_CORE_ONLY=ON and the gRPC of this system, install it, and name the place with \
-DCMAKE_PREFIX_PATH=PLACE, or leave REPRIEVE_ETCD_CPP_APIV3 off")

if(etcd-cpp-api_FOUND AND NOT TARGET etcd-cpp-api::core)
  add_library(etcd-cpp-api::core UNKNOWN IMPORTED)
  set_target_properties(etcd-cpp-api::core PROPERTIES IMPORTED_LOCATION ${ETCD_CPP_LIBRARY}
                                                      INTERFACE_INCLUDE_DIRECTORIES ${ETCD_CPP_INCLUDE_DIR})
  # Its headers name gRPC's classes as they were in other versions, unless told so.
  target_compile_definitions(etcd-cpp-api::core INTERFACE WITH_GRPC_CHANNEL_CLASS)
  target_link_libraries(etcd-cpp-api::core INTERFACE gRPC::grpc++ protobuf::libprotobuf)
endif()
