#include "protocol/api/snapshot_stream.hpp"

#include "protocol/api/stream_ending.hpp"
#include "protocol/transport/grpc_status.hpp"

#include <reprieve/v1/api.pb.h>

namespace reprieve {

namespace {

/// A chunk has about this much: whole objects, and so a little more.
constexpr std::size_t chunk_bytes = 1U << 20U;

} // namespace

void snapshot_stream::start(caf::actor_system& system, gateway_actor gateway,
                            const std::shared_ptr<api_stream>& to, const stream_pointer& let_in) {
  const std::shared_ptr<snapshot_stream> made(new snapshot_stream(to));
  to->keep(to, [let_in] {});
  end_when_withdrawn(*let_in, to);
  // Longer than the gateway waits for those it asks, whose reason is better than none.
  constexpr auto patience = 2 * answer_time;
  system.spawn([made, gateway = std::move(gateway)](caf::event_based_actor* self) {
    self->request(gateway, patience, snapshot_request{})
      .then([made](const snapshot_result& taken) { made->begin(taken); },
            [made](const caf::error& error) { made->to_->end(to_grpc(to_status(error))); });
  });
}

void snapshot_stream::begin(const snapshot_result& taken) {
  if (!taken.ok()) {
    to_->end(to_grpc(taken.status()));
    return;
  }
  rest_.emplace(*taken);
  to_->when_written([self = shared_from_this()] { self->send_next(); });
  send_next();
}

void snapshot_stream::send_next() {
  v1::SnapshotChunk next;
  next.set_manifests(rest_->next(chunk_bytes));
  const bool last = next.manifests().empty();
  next.set_last(last);
  if (last)
    to_->push_last(to_bytes(next));
  else
    to_->push(to_bytes(next));
}

} // namespace reprieve
