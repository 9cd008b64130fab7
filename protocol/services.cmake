# Who may call the API, how often, and what is recorded of it; TLS files. Without gRPC and actors.
reprieve_library(reprieve_access
  SOURCES
    protocol/api_guard.cpp
    protocol/audit_log.cpp
    protocol/caller_file.cpp
    protocol/certificates.cpp
    protocol/client_limit.cpp
    protocol/descriptor_limit.cpp
    protocol/file_watch.cpp
    protocol/identification.cpp
    protocol/listen_address.cpp
    protocol/open_connections.cpp
    protocol/rate_limit.cpp
    protocol/secret.cpp
    protocol/tls_files.cpp
    protocol/turns.cpp
    protocol/waiting_for_callers.cpp
  LINK reprieve_state reprieve_observability
  PRIVATE_LINK reprieve_private_file nlohmann_json::nlohmann_json OpenSSL::Crypto Threads::Threads)

# What serves the actors to other processes. Its sources stand in protocol/, but it comes after
# actors/, which uses the records and messages that protocol/ has, too.
reprieve_library(reprieve_protocol
  SOURCES
    protocol/api_server.cpp
    protocol/backup_stream.cpp
    protocol/connection_door.cpp
    protocol/event_stream.cpp
    protocol/grpc_log.cpp
    protocol/grpc_status.cpp
    protocol/heartbeat_intake.cpp
    protocol/heartbeat_stream.cpp
    protocol/listening_sockets.cpp
    protocol/paged_deltas.cpp
    protocol/peer_link.cpp
    protocol/peer_messages.cpp
    protocol/peer_messages_bundles.cpp
    protocol/peer_messages_evaluation.cpp
    protocol/peer_messages_machines.cpp
    protocol/peer_messages_nodes.cpp
    protocol/peer_messages_queues.cpp
    protocol/peer_messages_snapshot.cpp
    protocol/peer_messages_workloads.cpp
    protocol/peer_network.cpp
    protocol/peer_proxies.cpp
    protocol/peer_session.cpp
    protocol/peer_stream.cpp
    protocol/remote_machines.cpp
    protocol/server_certificates.cpp
    protocol/snapshot_stream.cpp
  LINK reprieve_actors reprieve_access
  PRIVATE_LINK reprieve_manifest reprieve_service_messages absl::synchronization)
reprieve_precompiled(reprieve_protocol_headers
  HEADERS actors/caf.hpp <grpcpp/grpcpp.h> <fmt/format.h> <memory> <string> <utility> actors/gateway.hpp actors/replica.hpp
          actors/simulated_cluster.hpp protocol/peer_messages.hpp <reprieve/v1/api.pb.h> <reprieve/v1/peer.pb.h>
  LINK reprieve_actors reprieve_access reprieve_manifest reprieve_service_messages)
target_precompile_headers(reprieve_protocol REUSE_FROM reprieve_protocol_headers)
