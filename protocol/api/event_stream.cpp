#include "protocol/api/event_stream.hpp"

#include "protocol/api/stream_ending.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/transport/grpc_status.hpp"

#include <reprieve/v1/api.pb.h>

#include <chrono>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

constexpr std::size_t most_at_once = 500;

} // namespace

void event_stream::start(caf::actor_system& system, gateway_actor gateway, std::int64_t after,
                         const std::shared_ptr<api_stream>& to, const stream_pointer& let_in) {
  const std::shared_ptr<event_stream> made(new event_stream(system, std::move(gateway), after, to));
  to->keep(to, [let_in] {});
  end_when_withdrawn(*let_in, to);
  to->when_written([made] { made->read_on(); });
  made->read_on();
}

void event_stream::read_on() {
  if (!to_->is_open())
    return;
  system_.spawn([stream = shared_from_this(), gateway = gateway_,
                 after = after_](caf::event_based_actor* self) {
    self->request(gateway, answer_time, next_events{after, most_at_once})
      .then(
        [self, stream](const event_page& page) {
          if (!page.events.empty()) {
            stream->send(page);
            return;
          }
          // There was none for a while, or nothing is served here yet.
          self->become([self](const to_do_later& later) {
            later.with();
            self->quit();
          });
          self->delayed_send(self, std::chrono::milliseconds{100},
                             to_do_later{[stream] { stream->read_on(); }});
        },
        [stream](const caf::error& error) { stream->to_->end(to_grpc(to_status(error))); });
  });
}

void event_stream::send(const event_page& page) {
  if (page.gap && std::exchange(sent_any_, true)) {
    to_->end({grpc::StatusCode::RESOURCE_EXHAUSTED,
              "the reader is so far behind that some events are not kept any more; begin again"});
    return;
  }
  sent_any_ = true;
  after_ = page.events.back().sequence;
  std::vector<grpc::ByteBuffer> bytes;
  for (const auto& one : page.events)
    bytes.push_back(to_bytes(to_proto(one)));
  to_->push_all(std::move(bytes));
}

} // namespace reprieve
