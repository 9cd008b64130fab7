#include "protocol/api/api_service.hpp"

#include "protocol/api/heartbeat_stream.hpp"
#include "protocol/transport/grpc_status.hpp"
#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

std::string header(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end())
    return {};
  return {found->second.data(), found->second.size()};
}

call_origin origin_of(const grpc::CallbackServerContext& context) {
  call_origin origin;
  origin.peer = context.peer();
  origin.shown.authorization = header(context, "authorization");
  origin.trace = {header(context, "traceparent"), header(context, "tracestate")};
  const auto connection = context.auth_context();
  if (connection && connection->IsPeerAuthenticated())
    for (const auto& pem : connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME))
      origin.shown.certificate.assign(pem.data(), pem.size());
  return origin;
}

} // namespace

api_service::api_service(caf::actor_system& system, const gateway_actor& gateway,
                         std::unique_ptr<api_guard> guard, const api_limits& limits)
    : answerer_(std::make_shared<call_answerer>(system, gateway, std::move(guard), limits)),
      answer_time_(limits.answer_seconds), heartbeats_(system, gateway) {}

void api_service::use_door(connection_door& door) {
  door_ = &door;
}

template <class Stream>
void api_service::set_bounds(const std::shared_ptr<Stream>& stream, const open_call& call) {
  // Nothing is counted any more when gRPC is done with the call, for which a server waits.
  stream->count_by([guard = &answerer_->guard(), client = call.client](std::int64_t bytes) {
    return guard->room_for(client, bytes);
  });
  stream->allow_for_a_write(answer_time_);
  waiting_.add(stream);
}

grpc::ServerGenericBidiReactor*
api_service::CreateReactor(grpc::GenericCallbackServerContext* context) {
  constexpr std::string_view prefix = "/reprieve.v1.Reprieve/";
  const std::string_view method = context->method();
  const auto what =
    method.starts_with(prefix) ? api_call_from(method.substr(prefix.size())) : std::nullopt;
  if (!what)
    return shut_out(*context, absl::UnimplementedError(fmt::format(
                                "this server has no {}; is the client of a later version?",
                                presentable(method.substr(0, 100)))));
  auto call = answerer_->guard().enter(origin_of(*context), *what);
  if (!call.ok())
    return shut_out(*context, call.status());
  const bool has_name = !(*call)->record.who.empty();
  door_->let_in_call(context->peer(), has_name ? (*call)->client : std::string{});
  return *what == api_call::heartbeat ? hear(*context, *call) : start(*context, *call);
}

grpc::ServerGenericBidiReactor* api_service::shut_out(grpc::CallbackServerContext& context,
                                                      const absl::Status& why) {
  door_->refused_call(context.peer());
  const auto stream = std::make_shared<api_stream>(context);
  stream->keep(stream, {});
  stream->finish_with({}, mark_nothing_changed(why));
  return stream.get();
}

grpc::ServerGenericBidiReactor* api_service::start(grpc::CallbackServerContext& context,
                                                   const std::shared_ptr<open_call>& call) {
  const auto stream = std::make_shared<api_stream>(context);
  stream->keep(stream, [call] {});
  set_bounds(stream, *call);
  answerer_->begin(stream, call);
  return stream.get();
}

grpc::ServerGenericBidiReactor* api_service::hear(grpc::CallbackServerContext& context,
                                                  const std::shared_ptr<open_call>& call) {
  const auto stream = heartbeat_stream::make(context, heartbeats_);
  set_bounds(stream, *call);
  stream->begin(answerer_->guard().keep_open(call));
  return stream.get();
}

} // namespace reprieve
