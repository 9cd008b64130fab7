#pragma once

#include "actors/gateway.hpp"
#include "protocol/api_guard.hpp"
#include "protocol/write_queue.hpp"

#include <reprieve/v1/api.pb.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace reprieve {

/// One backup on its way to a client. The next page is read when the one before has gone out, so
/// that one who reads slowly fills no memory.
class backup_stream final
    : public write_queue<grpc::ServerWriteReactor<v1::BackupChunk>, v1::BackupChunk>,
      public std::enable_shared_from_this<backup_stream> {
public:
  /// Owned by the call. Where it was not let in it ends at once with the reason.
  static backup_stream* start(caf::actor_system& system, gateway_actor gateway,
                              const absl::StatusOr<stream_pointer>& let_in);

  void OnWriteDone(bool ok) override;

private:
  backup_stream(caf::actor_system& system, gateway_actor gateway)
      : system_(system), gateway_(std::move(gateway)) {}

  /// Asks for the next page.
  void read_on();
  void send(const backup_page& page);

  caf::actor_system& system_;
  gateway_actor gateway_;
  backup_page_request next_;
  std::int64_t count_ = 0;
  std::atomic<std::size_t> unwritten_ = 0; ///< chunks of the page that is going out
};

} // namespace reprieve
