#include "protocol/api/call_answerer.hpp"

#include "protocol/api/backup_stream.hpp"
#include "protocol/api/event_stream.hpp"
#include "protocol/api/snapshot_stream.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/transport/grpc_status.hpp"
#include "state/model/unchanged_error.hpp"

#include <reprieve/v1/api.pb.h>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// How many requests are read at a time, and how many of those are carried out that take memory.
constexpr std::size_t most_reading = 128;
constexpr std::size_t most_reading_per_client = 16;
constexpr std::size_t most_heavy = 8;
constexpr std::size_t most_heavy_per_client = 2;
constexpr std::size_t heavy_bytes = 256 << 10;

/// Whether the answer is made of what may be much, however little is asked.
bool gathers_much(api_call what) {
  return what == api_call::describe || what == api_call::explain;
}

} // namespace

call_answerer::call_answerer(caf::actor_system& system, gateway_actor gateway,
                             std::unique_ptr<api_guard> guard, const api_limits& limits)
    : system_(system), gateway_(std::move(gateway)), guard_(std::move(guard)),
      request_time_(limits.request_seconds), reading_(most_reading, most_reading_per_client),
      heavy_(most_heavy, most_heavy_per_client) {}

void call_answerer::begin(const std::shared_ptr<api_stream>& stream,
                          const std::shared_ptr<open_call>& call) {
  reading_.take(call->client, [self = shared_from_this(), stream, call](const auto& turn) {
    stream->read_request(self->request_time_, [self, stream, call, turn](grpc::ByteBuffer request) {
      self->take(asked_for{stream, call, std::move(request), {}});
    });
  });
}

void call_answerer::take(asked_for asked) {
  if (asked.request.Length() <= heavy_bytes && !gathers_much(asked.call->asked.what)) {
    carry_out(std::move(asked));
    return;
  }
  const auto held = std::make_shared<asked_for>(std::move(asked));
  heavy_.take(held->call->client, [self = shared_from_this(), held](turns::ticket turn) {
    held->turn = std::move(turn);
    if (held->stream->is_open()) // else whoever asked has gone, or the server has
      self->carry_out(std::move(*held));
  });
}

stream_pointer call_answerer::open_stream_for(const asked_for& asked) {
  auto open = guard_->keep_open(asked.call);
  if (open.ok())
    return *open;
  asked.stream->end(to_grpc(open.status()));
  return nullptr;
}

template <class Request, class Result, class F>
void call_answerer::answer(asked_for asked, F respond) {
  auto message = from_bytes<Request>(asked.request);
  auto wanted = message.ok() ? from_proto(*message) : message.status();
  using wanted_type = typename decltype(wanted)::value_type;
  auto begun = message.status();
  if (begun.ok())
    begun = guard_->begin(*asked.call, asked_by(wanted.ok() ? *wanted : wanted_type{}));
  if (!begun.ok()) {
    asked.stream->finish_with({}, mark_nothing_changed(begun));
    return;
  }
  const auto finish = [self = shared_from_this(), stream = asked.stream, call = asked.call,
                       turn = asked.turn](grpc::ByteBuffer answer, const absl::Status& how) {
    stream->finish_with(std::move(answer), self->guard_->end(*call, how));
  };
  if (!wanted.ok()) {
    finish({}, mark_nothing_changed(wanted.status()));
    return;
  }
  if constexpr (requires { wanted->by; })
    wanted->by = asked.call->who;
  system_.spawn([finish, respond, call = asked.call, wanted = *std::move(wanted),
                 gateway = gateway_](caf::event_based_actor* self) {
    self->request(gateway, answer_time, wanted)
      .then(
        [finish, respond, call](const Result& result) {
          if constexpr (std::is_same_v<Result, absl::Status>)
            finish(to_bytes(respond(*call, result)), result);
          else if (result.ok())
            finish(to_bytes(respond(*call, *result)), absl::OkStatus());
          else
            finish({}, result.status());
        },
        [finish](const caf::error& error) { finish({}, to_status(error)); });
  });
}

void call_answerer::follow(asked_for asked) {
  const auto& stream = asked.stream;
  const auto wanted = from_bytes<v1::EventsRequest>(asked.request);
  if (!wanted.ok()) {
    stream->end(to_grpc(wanted.status()));
    return;
  }
  const auto open = open_stream_for(asked);
  if (!open)
    return;
  if (wanted->follow()) {
    event_stream::start(system_, gateway_, wanted->since_sequence(), stream, open);
    return;
  }
  stream->keep(stream, [open] {});
  system_.spawn(
    [stream, gateway = gateway_, after = wanted->since_sequence()](caf::event_based_actor* self) {
      self->request(gateway, answer_time, read_events{after, {}})
        .then(
          [stream](const event_list& kept) {
            std::vector<grpc::ByteBuffer> all;
            for (const auto& one : kept)
              all.push_back(to_bytes(to_proto(one)));
            stream->push_all(std::move(all));
            stream->end();
          },
          [stream](const caf::error&) { stream->end(); });
    });
}

void call_answerer::carry_out(asked_for asked) {
  switch (asked.call->asked.what) {
  case api_call::apply:
    answer<v1::ApplyRequest, apply_result>(
      std::move(asked), [](const open_call& call, const std::vector<apply_outcome>& outcomes) {
        return to_proto(call.asked.objects, outcomes);
      });
    break;
  case api_call::get:
    answer<v1::GetRequest, get_result>(
      std::move(asked), [](const auto&, const shown_objects& found) { return to_proto(found); });
    break;
  case api_call::describe:
    answer<v1::DescribeRequest, describe_result>(
      std::move(asked), [](const auto&, const description& found) { return to_proto(found); });
    break;
  case api_call::remove:
    answer<v1::DeleteRequest, absl::Status>(
      std::move(asked), [](const auto&, const auto&) { return v1::DeleteResponse{}; });
    break;
  case api_call::explain:
    answer<v1::ExplainRequest, explain_result>(
      std::move(asked), [](const auto&, const explanation& found) { return to_proto(found); });
    break;
  case api_call::events:
    follow(std::move(asked));
    break;
  case api_call::backup:
    if (auto open = open_stream_for(asked))
      backup_stream::start(system_, gateway_, asked.stream, open);
    break;
  case api_call::snapshot:
    if (auto open = open_stream_for(asked))
      snapshot_stream::start(system_, gateway_, asked.stream, open);
    break;
  case api_call::heartbeat:
    break; // its messages are read one by one
  }
}

} // namespace reprieve
