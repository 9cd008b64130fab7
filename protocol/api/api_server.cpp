#include "protocol/api/api_server.hpp"

#include "protocol/access/api_guard.hpp"
#include "protocol/access/file_watch.hpp"
#include "protocol/access/listen_address.hpp"
#include "protocol/api/api_service.hpp"
#include "protocol/transport/connection_door.hpp"
#include "protocol/transport/server_certificates.hpp"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace reprieve {

namespace {

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

  api_service service_;
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
