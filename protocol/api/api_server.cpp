#include "protocol/api/api_server.hpp"

#include "protocol/access/api_guard.hpp"
#include "protocol/access/listen_address.hpp"
#include "protocol/api/api_stream.hpp"
#include "protocol/api/backup_stream.hpp"
#include "protocol/api/event_stream.hpp"
#include "protocol/api/heartbeat_intake.hpp"
#include "protocol/api/heartbeat_stream.hpp"
#include "protocol/api/snapshot_stream.hpp"
#include "protocol/api/stream_ending.hpp"
#include "protocol/limits/caller_turns.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/transport/connection_door.hpp"
#include "protocol/transport/grpc_status.hpp"
#include "protocol/transport/server_certificates.hpp"
#include "state/model/unchanged_error.hpp"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.pb.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>

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

using let_in = std::shared_ptr<open_call>;

/// One call that has one answer.
struct asked_for {
  std::shared_ptr<api_stream> stream;
  let_in call;
  grpc::ByteBuffer request;
  turns::ticket turn; ///< of a request that is heavy; held until it has its answer
};

/// How many requests are read at a time, and how many of those are carried out that take memory.
constexpr std::size_t most_reading = 128;
constexpr std::size_t most_reading_per_client = 16;
constexpr std::size_t most_heavy = 8;
constexpr std::size_t most_heavy_per_client = 2;
constexpr std::size_t heavy_bytes = 256 << 10;

/// Reads the requests of calls that were let in, and answers them. Shared by all that still have to
/// do with a call: an actor that waits for an answer may have it for longer than there is a server.
class call_answerer final : public std::enable_shared_from_this<call_answerer> {
public:
  call_answerer(caf::actor_system& system, gateway_actor gateway, std::unique_ptr<api_guard> guard,
                const api_limits& limits)
      : system_(system), gateway_(std::move(gateway)), guard_(std::move(guard)),
        request_time_(limits.request_seconds) {}

  api_guard& guard() const {
    return *guard_;
  }

  /// Answers a call that has a request of one message.
  void begin(const std::shared_ptr<api_stream>& stream, const let_in& call) {
    reading_.take(call->client, [self = shared_from_this(), stream, call](const auto& turn) {
      stream->read_request(self->request_time_,
                           [self, stream, call, turn](grpc::ByteBuffer request) {
                             self->take(asked_for{stream, call, std::move(request), {}});
                           });
    });
  }

private:
  /// Whether the answer is made of what may be much, however little is asked.
  static bool gathers_much(api_call what) {
    return what == api_call::describe || what == api_call::explain;
  }

  /// The request is there. One that takes memory waits for its turn.
  void take(asked_for asked) {
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

  void carry_out(asked_for asked) {
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

  /// Has the call stay open. What goes over it later is not a request of its own.
  stream_pointer open_stream_for(const asked_for& asked) {
    auto open = guard_->keep_open(asked.call);
    if (open.ok())
      return *open;
    asked.stream->end(to_grpc(open.status()));
    return nullptr;
  }

  /// Asks the gateway and ends the call with its answer; `respond` makes the message of a good one.
  /// All calls but streams come through here.
  template <class Request, class Result, class F>
  void answer(asked_for asked, F respond) {
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

  /// Sends the events that are asked for.
  void follow(asked_for asked) {
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

  caf::actor_system& system_;
  gateway_actor gateway_;
  std::unique_ptr<api_guard> guard_;
  std::chrono::seconds request_time_;
  turns reading_{most_reading, most_reading_per_client};
  turns heavy_{most_heavy, most_heavy_per_client};
};

/// All calls come in here, before anything of their bodies is read.
class service final : public grpc::CallbackGenericService {
public:
  service(caf::actor_system& system, const gateway_actor& gateway, std::unique_ptr<api_guard> guard,
          const api_limits& limits)
      : answerer_(std::make_shared<call_answerer>(system, gateway, std::move(guard), limits)),
        answer_time_(limits.answer_seconds), heartbeats_(system, gateway) {}

  grpc::ServerGenericBidiReactor*
  CreateReactor(grpc::GenericCallbackServerContext* context) override {
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

  /// Where connections come in; to be said before the first call.
  void use_door(connection_door& door) {
    door_ = &door;
  }

private:
  /// Ends a call of which nothing was begun.
  grpc::ServerGenericBidiReactor* shut_out(grpc::CallbackServerContext& context,
                                           const absl::Status& why) {
    door_->refused_call(context.peer());
    const auto stream = std::make_shared<api_stream>(context);
    stream->keep(stream, {});
    stream->finish_with({}, mark_nothing_changed(why));
    return stream.get();
  }

  /// Begins a call that was let in and has a request of one message.
  grpc::ServerGenericBidiReactor* start(grpc::CallbackServerContext& context, const let_in& call) {
    const auto stream = std::make_shared<api_stream>(context);
    stream->keep(stream, [call] {});
    set_bounds(stream, *call);
    answerer_->begin(stream, call);
    return stream.get();
  }

  /// Begins a call that was let in and has heartbeats.
  grpc::ServerGenericBidiReactor* hear(grpc::CallbackServerContext& context, const let_in& call) {
    const auto stream = heartbeat_stream::make(context, heartbeats_);
    set_bounds(stream, *call);
    stream->begin(answerer_->guard().keep_open(call));
    return stream.get();
  }

  /// Answers that the caller does not take have to end somewhere.
  template <class Stream>
  void set_bounds(const std::shared_ptr<Stream>& stream, const open_call& call) {
    // Nothing is counted any more when gRPC is done with the call, for which a server waits.
    stream->count_by([guard = &answerer_->guard(), client = call.client](std::int64_t bytes) {
      return guard->room_for(client, bytes);
    });
    stream->allow_for_a_write(answer_time_);
    waiting_.add(stream);
  }

  std::shared_ptr<call_answerer> answerer_;
  connection_door* door_ = nullptr;
  std::chrono::seconds answer_time_;
  heartbeat_intake heartbeats_;
  waiting_for_callers waiting_; ///< last, for its thread looks at calls
};

constexpr std::size_t most_memory = std::size_t{2} << 30;

/// What gRPC itself sees to. Clients that are gone without a word give their streams back within a
/// minute and a half; a connection has room for its watches and some calls beside them.
void set_limits(grpc::ServerBuilder& builder, const api_limits& limits) {
  const auto bounded = [](std::int64_t value) {
    return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
  };
  builder.SetMaxReceiveMessageSize(bounded(limits.message_bytes));
  // Behind all other bounds: what connections and messages may take together.
  builder.SetResourceQuota(grpc::ResourceQuota("api").Resize(most_memory));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             bounded(limits.streams_per_client + 100));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A window that is large enough for any call, in place of one that is found out by pings: with
  // small messages from many clients these would be most of what is sent.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 20);
}

class running_server final : public api_server {
public:
  running_server(caf::actor_system& system, const gateway_actor& gateway,
                 std::unique_ptr<api_guard> guard, const api_limits& limits)
      : service_(system, gateway, std::move(guard), limits) {}

  ~running_server() override {
    stop();
  }

  absl::Status listen(const std::string& address, const api_settings& settings) {
    // As Debian builds it, Abseil looks for deadlocks with every lock that gRPC takes.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    auto made = credentials(settings);
    if (!made.ok())
      return made.status();
    credentials_ = *std::move(made);
    auto opened = connection_door::open(
      {address, settings.limits.connections, settings.limits.connections_per_host, settings.say});
    if (!opened.ok())
      return opened.status();
    door_ = *std::move(opened);
    service_.use_door(*door_);
    grpc::ServerBuilder builder;
    door_->lead_to(builder, credentials_);
    set_limits(builder, settings.limits);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    if (!server_)
      return absl::InternalError(fmt::format("gRPC can't serve on {}", address));
    door_->let_in();
    return absl::OkStatus();
  }

  const std::string& address() const override {
    return door_->address();
  }

  void stop() override {
    if (door_)
      door_->close();
    if (server_)
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds{1});
  }

private:
  /// What the server shows; certificates are followed as their files change.
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>>
  credentials(const api_settings& settings) {
    if (settings.tls.empty())
      return grpc::InsecureServerCredentials();
    const auto& files = settings.tls;
    const auto certificates = std::make_shared<server_certificates>(files);
    watch_.add({files.certificate, files.key, files.authority}, [certificates, say = settings.say] {
      const auto loaded = certificates->load();
      say(loaded.ok()
            ? "the certificates have changed and are in use for new connections"
            : fmt::format("{}; the certificates from before stay", std::string(loaded.message())));
    });
    if (auto loaded = certificates->load(); !loaded.ok())
      return loaded;
    return certificates->credentials(settings.callers.empty());
  }

  service service_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<connection_door> door_;
  std::unique_ptr<grpc::Server> server_;
  file_watch watch_;
};

} // namespace

absl::StatusOr<std::unique_ptr<api_server>> api_server::start(const std::string& address,
                                                              caf::actor_system& system,
                                                              gateway_actor gateway,
                                                              const api_settings& settings) {
  const protection how{!settings.tls.certificate.empty(), asks_who_calls(settings),
                       settings.insecure};
  if (auto safe = check_exposure(address, how); !safe.ok())
    return safe;
  auto guard = api_guard::make(settings);
  if (!guard.ok())
    return guard.status();
  auto server =
    std::make_unique<running_server>(system, gateway, *std::move(guard), settings.limits);
  if (auto listening = server->listen(address, settings); !listening.ok())
    return listening;
  return server;
}

} // namespace reprieve
