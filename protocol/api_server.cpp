#include "protocol/api_server.hpp"

#include "protocol/api_guard.hpp"
#include "protocol/backup_stream.hpp"
#include "protocol/convert_requests.hpp"
#include "protocol/grpc_status.hpp"
#include "protocol/heartbeat_intake.hpp"
#include "protocol/heartbeat_stream.hpp"
#include "protocol/listen_address.hpp"
#include "protocol/server_certificates.hpp"
#include "protocol/snapshot_stream.hpp"
#include "protocol/stream_ending.hpp"
#include "protocol/write_queue.hpp"
#include "state/nothing_changed.hpp"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace reprieve {

namespace {

void finish_call(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
                 const absl::Status& answer) {
  context->AddTrailingMetadata(nothing_changed_mark,
                               certainly_nothing_changed(answer) ? "yes" : "unsaid");
  reactor->Finish(to_grpc(answer));
}

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

using event_stream = write_queue<grpc::ServerWriteReactor<v1::Event>, v1::Event>;

event_follower_actor::behavior_type follow_into(event_follower_actor::pointer,
                                                std::shared_ptr<event_stream> stream) {
  return {
    [stream](const event& seen) { stream->push(to_proto(seen)); },
  };
}

class service final : public v1::Reprieve::CallbackService {
public:
  service(caf::actor_system& system, gateway_actor gateway, std::unique_ptr<api_guard> guard)
      : system_(system), gateway_(std::move(gateway)), guard_(std::move(guard)),
        heartbeats_(system, gateway_) {}

  grpc::ServerUnaryReactor* Apply(grpc::CallbackServerContext* context,
                                  const v1::ApplyRequest* request,
                                  v1::ApplyResponse* response) override {
    return answer<apply_result>(context, *request, [request, response](const auto& outcomes) {
      *response = to_proto(*request, outcomes);
    });
  }

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const v1::GetRequest* request,
                                v1::GetResponse* response) override {
    return answer<get_result>(context, *request, [response](const auto& found) {
      for (const auto& one : found)
        *response->add_objects() = to_proto(one);
      response->set_age_ns(found.age.count());
    });
  }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) override {
    return answer<describe_result>(context, *request,
                                   [response](const auto& found) { *response = to_proto(found); });
  }

  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context,
                                   const v1::DeleteRequest* request, v1::DeleteResponse*) override {
    return answer<absl::Status>(context, *request, [](const auto&) {});
  }

  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context,
                                    const v1::ExplainRequest* request,
                                    v1::ExplainResponse* response) override {
    return answer<explain_result>(context, *request,
                                  [response](const auto& found) { *response = to_proto(found); });
  }

  grpc::ServerBidiReactor<v1::HeartbeatRequest, v1::HeartbeatResponse>*
  Heartbeat(grpc::CallbackServerContext* context) override {
    return heartbeat_stream::start(heartbeats_, let_stay(*context, api_call::heartbeat));
  }

  grpc::ServerWriteReactor<v1::Event>* Events(grpc::CallbackServerContext* context,
                                              const v1::EventsRequest* request) override {
    auto stream = std::make_shared<event_stream>();
    auto let_in = let_stay(*context, api_call::events);
    if (!let_in.ok()) {
      stream->keep(stream, {});
      stream->end(to_grpc(let_in.status()));
    } else if (request->follow()) {
      auto follower = system_.spawn(follow_into, stream);
      stream->keep(stream, [follower, held = *let_in] {
        caf::anon_send_exit(follower, caf::exit_reason::user_shutdown);
      });
      end_when_withdrawn(**let_in, stream);
      caf::anon_send(gateway_, follow_events{request->since_sequence(), follower});
    } else {
      stream->keep(stream, [held = *let_in] {});
      system_.spawn([stream, gateway = gateway_,
                     after = request->since_sequence()](caf::event_based_actor* self) {
        self->request(gateway, answer_time, read_events{after, {}})
          .then(
            [stream](const event_list& kept) {
              for (const auto& one : kept)
                stream->push(to_proto(one));
              stream->end();
            },
            [stream](const caf::error&) { stream->end(); });
      });
    }
    return stream.get();
  }

  grpc::ServerWriteReactor<v1::BackupChunk>* Backup(grpc::CallbackServerContext* context,
                                                    const v1::BackupRequest*) override {
    return backup_stream::start(system_, gateway_, let_stay(*context, api_call::backup));
  }

  grpc::ServerWriteReactor<v1::SnapshotChunk>* Snapshot(grpc::CallbackServerContext* context,
                                                        const v1::SnapshotRequest*) override {
    return snapshot_stream::start(system_, gateway_, let_stay(*context, api_call::snapshot));
  }

private:
  /// Lets a call in that stays open. What goes over it later is not a request of its own.
  absl::StatusOr<stream_pointer> let_stay(const grpc::CallbackServerContext& context,
                                          api_call what) {
    auto call = guard_->begin(origin_of(context), {what});
    if (!call.ok())
      return call.status();
    auto stream = guard_->keep_open(*call);
    (void)guard_->end(**call, stream.status());
    return stream;
  }

  /// Lets the call in, asks the gateway and finishes the call with its answer; `fill` writes a good
  /// one down. All calls but streams come through here.
  template <class Result, class Request, class F>
  grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext* context, const Request& request,
                                   F fill) {
    auto* reactor = context->DefaultReactor();
    auto wanted = from_proto(request);
    using wanted_type = typename decltype(wanted)::value_type;
    auto call = guard_->begin(origin_of(*context), asked_by(wanted.ok() ? *wanted : wanted_type{}));
    if (!call.ok()) {
      finish_call(context, reactor, call.status());
      return reactor;
    }
    auto finish = [this, context, reactor, call = *call](const absl::Status& how) {
      finish_call(context, reactor, guard_->end(*call, how));
    };
    if (!wanted.ok()) {
      finish(wanted.status());
      return reactor;
    }
    if constexpr (std::is_same_v<wanted_type, delete_request>)
      wanted->by = (*call)->who;
    system_.spawn([finish, fill, wanted = *std::move(wanted),
                   gateway = gateway_](caf::event_based_actor* self) {
      self->request(gateway, answer_time, wanted)
        .then(
          [finish, fill](const Result& result) {
            if constexpr (std::is_same_v<Result, absl::Status>) {
              finish(result);
            } else {
              if (result.ok())
                fill(*result);
              finish(result.status());
            }
          },
          [finish](const caf::error& error) { finish(to_status(error)); });
    });
    return reactor;
  }

  caf::actor_system& system_;
  gateway_actor gateway_;
  std::unique_ptr<api_guard> guard_;
  heartbeat_intake heartbeats_;
};

/// What gRPC itself sees to. Clients that are gone without a word give their streams back within a
/// minute and a half; a connection has room for its watches and some calls beside them.
void set_limits(grpc::ServerBuilder& builder, const api_limits& limits) {
  const auto bounded = [](std::int64_t value) {
    return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
  };
  builder.SetMaxReceiveMessageSize(bounded(limits.message_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             bounded(limits.streams_per_client + 100));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
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
  running_server(caf::actor_system& system, gateway_actor gateway, std::unique_ptr<api_guard> guard)
      : service_(system, std::move(gateway), std::move(guard)) {}

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
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(address, credentials_, &port);
    set_limits(builder, settings.limits);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0)
      return absl::UnavailableError(fmt::format(
        "can't listen on {}; is another program there? Give another with --listen", address));
    address_ = fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
    return absl::OkStatus();
  }

  const std::string& address() const override {
    return address_;
  }

  void stop() override {
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
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
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
  auto server = std::make_unique<running_server>(system, std::move(gateway), *std::move(guard));
  if (auto listening = server->listen(address, settings); !listening.ok())
    return listening;
  return server;
}

} // namespace reprieve
