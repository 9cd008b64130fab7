#include "protocol/snapshot_stream.hpp"

#include "protocol/grpc_status.hpp"
#include "protocol/stream_ending.hpp"

namespace reprieve {

namespace {

/// A chunk has about this much: whole objects, and so a little more.
constexpr std::size_t chunk_bytes = 1U << 20U;

} // namespace

snapshot_stream* snapshot_stream::start(caf::actor_system& system, gateway_actor gateway,
                                        const absl::StatusOr<stream_pointer>& let_in) {
  const std::shared_ptr<snapshot_stream> made(new snapshot_stream);
  made->keep(made, [held = let_in.value_or(nullptr)] {});
  if (!let_in.ok()) {
    made->end(to_grpc(let_in.status()));
    return made.get();
  }
  end_when_withdrawn(**let_in, made);
  // Longer than the gateway waits for those it asks, whose reason is better than none.
  constexpr auto patience = 2 * answer_time;
  system.spawn([stream = made, gateway = std::move(gateway)](caf::event_based_actor* self) {
    self->request(gateway, patience, snapshot_request{})
      .then(
        [stream](const snapshot_result& taken) {
          if (!taken.ok()) {
            stream->end(to_grpc(taken.status()));
            return;
          }
          stream->rest_.emplace(*taken);
          stream->send_next();
        },
        [stream](const caf::error& error) { stream->end(to_grpc(to_status(error))); });
  });
  return made.get();
}

void snapshot_stream::OnWriteDone(bool ok) {
  write_queue::OnWriteDone(ok);
  if (ok && !all_sent_)
    send_next();
}

void snapshot_stream::send_next() {
  v1::SnapshotChunk next;
  next.set_manifests(rest_->next(chunk_bytes));
  all_sent_ = next.manifests().empty(); // before it is written, and so before anybody looks
  next.set_last(all_sent_);
  const bool last = all_sent_;
  push(std::move(next));
  if (last)
    end();
}

} // namespace reprieve
