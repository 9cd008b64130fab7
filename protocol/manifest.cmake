# Manifests in YAML and JSON, read and written.
reprieve_library(reprieve_manifest
  SOURCES
    manifest_emitter.cpp
    manifest_parser.cpp
    manifest_reader.cpp
    manifest_scalar.cpp
    manifest_tree.cpp
    manifest_writer.cpp
    snapshot_manifests.cpp
    utf8.cpp
  LINK reprieve_state
  # The package calls its target one name before 0.8 and the other after.
  PRIVATE_LINK $<IF:$<TARGET_EXISTS:yaml-cpp::yaml-cpp>,yaml-cpp::yaml-cpp,yaml-cpp>)
