#include "protocol/peers/peer_server.hpp"

#include "protocol/access/file_watch.hpp"
#include "protocol/access/listen_address.hpp"
#include "protocol/access/secret.hpp"
#include "protocol/peers/letter_parts.hpp"
#include "protocol/peers/peer_connection.hpp"
#include "protocol/peers/peer_role.hpp"
#include "protocol/transport/connection_door.hpp"
#include "protocol/transport/grpc_status.hpp"
#include "protocol/transport/server_certificates.hpp"
#include "protocol/transport/write_queue.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/peer.grpc.pb.h>

#include <chrono>
#include <mutex>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

/// Connections of other processes of the cluster, of which each has one.
constexpr std::int64_t most_peers = 1000;
/// A connection has one stream, and another for as long as it takes to see that the first has
/// ended.
constexpr int most_streams = 16;
/// What a whole letter may come to: who is asked hears of decisions and of files that were applied.
constexpr std::size_t most_heard = std::size_t{256} << 20;

class served_stream final
    : public write_queue<grpc::ServerBidiReactor<v1::PeerEnvelope, v1::PeerEnvelope>,
                         v1::PeerEnvelope> {
public:
  served_stream(grpc::CallbackServerContext& context, std::function<void(const std::string&)> say)
      : write_queue(context), caller_(context.peer()), say_(std::move(say)) {}

  void begin(wire_end_actor session) {
    session_ = std::move(session);
    while_open([this] {
      StartSendInitialMetadata();
      StartRead(&next_);
    });
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      end();
      return;
    }
    auto letter = gatherer_.take(next_);
    if (!letter.ok()) {
      say_(fmt::format("a connection from {} is ended: {}", presentable(caller_),
                       std::string(letter.status().message())));
      break_off(to_grpc(letter.status()));
      return;
    }
    if (*letter)
      caf::anon_send(session_, wire_arrived{**std::move(letter)});
    while_open([this] { StartRead(&next_); });
  }

private:
  wire_end_actor session_;
  std::string caller_;
  std::function<void(const std::string&)> say_;
  v1::PeerEnvelope next_;
  letter_gatherer gatherer_{most_heard};
};

class served_wire final : public peer_wire {
public:
  explicit served_wire(std::shared_ptr<served_stream> stream) : stream_(std::move(stream)) {}

  void send(peer_envelope letter) override {
    const std::lock_guard lock(mutex_); // parts of one letter stay together
    split_letter(std::move(letter), [&](v1::PeerEnvelope part) { stream_->push(std::move(part)); });
  }

  void close() override {
    stream_->end();
  }

private:
  std::mutex mutex_;
  std::shared_ptr<served_stream> stream_;
};

class refused_stream final : public grpc::ServerBidiReactor<v1::PeerEnvelope, v1::PeerEnvelope> {
public:
  explicit refused_stream(const absl::Status& why) {
    Finish(to_grpc(why));
  }

  void OnDone() override {
    delete this; // NOLINT: gRPC is done with it, and nobody else knows it
  }
};

class service final : public v1::Peers::CallbackService {
public:
  explicit service(peer_server::session_maker sessions) : sessions_(std::move(sessions)) {}

  /// Who is told of those that are shut out.
  void use_log(std::function<void(const std::string&)> say) {
    say_ = std::move(say);
  }

  /// Where connections come in.
  void use_door(connection_door& door) {
    door_ = &door;
  }

  /// From now on only replicas are let in, by their certificates.
  void check_certificates() {
    checks_certificates_ = true;
  }

  /// The same, by what they show.
  void check_secret(std::string secret) {
    secret_ = std::move(secret);
  }

  grpc::ServerBidiReactor<v1::PeerEnvelope, v1::PeerEnvelope>*
  Talk(grpc::CallbackServerContext* context) override {
    if (const auto right = may_come_in(*context); !right.ok()) {
      door_->refused_call(context->peer());
      return new refused_stream(right); // NOLINT: it deletes itself
    }
    door_->let_in_call(context->peer());
    auto stream = std::make_shared<served_stream>(*context, say_);
    auto session = sessions_(std::make_shared<served_wire>(stream));
    stream->keep(stream, [session] { caf::anon_send(session, wire_closed{}); });
    stream->begin(session);
    return stream.get();
  }

private:
  static std::string_view shown(const grpc::CallbackServerContext& context, const char* header) {
    const auto found = context.client_metadata().find(header);
    if (found == context.client_metadata().end())
      return {};
    return {found->second.data(), found->second.size()};
  }

  absl::Status may_come_in(const grpc::CallbackServerContext& context) const {
    if (checks_certificates_)
      return check_role(context.auth_context().get(), peer_role::replica,
                        shown(context, peer_connection::name_header));
    if (secret_.empty() || is_secret(shown(context, peer_connection::secret_header), secret_))
      return absl::OkStatus();
    return absl::UnauthenticatedError(
      "only replicas of the cluster are let in here, which know from "
      "its store what to show");
  }

  peer_server::session_maker sessions_;
  connection_door* door_ = nullptr;
  bool checks_certificates_ = false;
  std::string secret_;
  std::function<void(const std::string&)> say_ = [](const std::string&) {};
};

class grpc_peer_server final : public peer_server {
public:
  explicit grpc_peer_server(session_maker sessions) : service_(std::move(sessions)) {}

  ~grpc_peer_server() override {
    stop();
  }

  absl::Status listen(const settings& with) {
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               peer_connection::ping_milliseconds / 2);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, peer_connection::ping_milliseconds);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                               peer_connection::ping_timeout_milliseconds);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, most_streams);
    credentials_ = grpc::InsecureServerCredentials();
    service_.check_secret(with.secret);
    service_.use_log(with.say);
    if (!with.tls.empty()) {
      service_.check_certificates();
      certificates_ = std::make_shared<server_certificates>(with.tls);
      if (auto loaded = certificates_->load(); !loaded.ok())
        return loaded;
      credentials_ = certificates_->credentials(true);
      watch_.add({with.tls.certificate, with.tls.key, with.tls.authority},
                 [certificates = certificates_, say = with.say] {
                   const auto loaded = certificates->load();
                   say(loaded.ok() ? std::string("the peers' certificates were replaced")
                                   : std::string(loaded.message()));
                 });
    }
    auto opened = connection_door::open({with.listen, most_peers, most_peers, with.say});
    if (!opened.ok())
      return absl::Status(opened.status().code(),
                          fmt::format("{}; that is where other replicas come in (--peer-listen)",
                                      std::string(opened.status().message())));
    door_ = *std::move(opened);
    service_.use_door(*door_);
    door_->lead_to(builder, credentials_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (!server_)
      return absl::InternalError(fmt::format("gRPC can't serve on {}", with.listen));
    door_->let_in();
    return absl::OkStatus();
  }

  const std::string& address() const override {
    return door_->address();
  }

  void stop() override {
    if (door_)
      door_->close();
    if (auto server = std::exchange(server_, nullptr)) {
      server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds{200});
      server->Wait();
    }
  }

private:
  service service_;
  std::shared_ptr<server_certificates> certificates_;
  file_watch watch_;
  /// The server asks them at every connection, and does not keep them.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<connection_door> door_;
  std::unique_ptr<grpc::Server> server_;
};

} // namespace

absl::StatusOr<std::unique_ptr<peer_server>> peer_server::start(session_maker sessions,
                                                                const settings& with) {
  if (auto whole = check_peer_files(with.tls); !whole.ok())
    return whole;
  const bool encrypted = !with.tls.empty();
  if (auto allowed = check_exposure(with.listen, {encrypted, encrypted, with.insecure});
      !allowed.ok())
    return allowed;
  auto server = std::make_unique<grpc_peer_server>(std::move(sessions));
  if (auto listens = server->listen(with); !listens.ok())
    return listens;
  return server;
}

} // namespace reprieve
