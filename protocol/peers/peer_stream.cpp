#include "protocol/peers/peer_stream.hpp"

#include "protocol/access/certificates.hpp"
#include "protocol/access/file_watch.hpp"
#include "protocol/access/listen_address.hpp"
#include "protocol/access/secret.hpp"
#include "protocol/transport/connection_door.hpp"
#include "protocol/transport/grpc_status.hpp"
#include "protocol/transport/server_certificates.hpp"
#include "protocol/transport/write_queue.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/peer.grpc.pb.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

/// Larger payloads go in several envelopes.
constexpr std::size_t most_at_once = 1 << 20;
/// Connections of other processes of the cluster, of which each has one.
constexpr std::int64_t most_peers = 1000;
/// A connection has one stream, and another for as long as it takes to see that the first has
/// ended.
constexpr int most_streams = 16;
/// What a whole letter may come to. Who is asked hears of decisions and of files that were applied;
/// who asks is told all that a shard has, or a resource group.
constexpr std::size_t most_heard = std::size_t{256} << 20;
constexpr std::size_t most_told = std::size_t{1} << 30;
/// A peer that does not answer to this is gone.
constexpr int ping_milliseconds = 1000;
constexpr int ping_timeout_milliseconds = 2000;

/// Under which who dials shows the secret of whom it dials.
constexpr const char* secret_header = "reprieve-secret";
/// Likewise its own name.
constexpr const char* name_header = "reprieve-replica";

/// Calls `each` with the envelopes that the letter goes in.
template <class F>
void split(peer_envelope letter, F each) {
  v1::PeerEnvelope first;
  first.set_number(letter.number);
  first.set_answers(letter.answers);
  first.set_to(std::move(letter.to));
  first.set_kind(std::move(letter.kind));
  first.set_traceparent(std::move(letter.trace.traceparent));
  first.set_tracestate(std::move(letter.trace.tracestate));
  first.set_epoch(letter.epoch);
  first.set_status(static_cast<int>(letter.how.code()));
  first.set_reason(std::string(letter.how.message()));
  if (letter.payload.size() <= most_at_once) {
    first.set_payload(std::move(letter.payload));
    each(std::move(first));
    return;
  }
  first.set_payload(letter.payload.substr(0, most_at_once));
  first.set_more(true);
  each(std::move(first));
  for (std::size_t at = most_at_once; at < letter.payload.size(); at += most_at_once) {
    v1::PeerEnvelope next;
    next.set_payload(letter.payload.substr(at, most_at_once));
    next.set_more(at + most_at_once < letter.payload.size());
    each(std::move(next));
  }
}

/// Puts letters together again from envelopes in their order.
class letter_gatherer {
public:
  explicit letter_gatherer(std::size_t most) : most_(most) {}

  /// The letter, when it is whole; or `kResourceExhausted` where it is too large.
  absl::StatusOr<std::optional<peer_envelope>> take(v1::PeerEnvelope& part) {
    const auto before = gathering_ ? letter_.payload.size() : 0;
    if (part.payload().size() > most_ - before) {
      letter_ = {};
      return absl::ResourceExhaustedError(
        fmt::format("a letter of more than {} bytes is not taken", most_));
    }
    if (gathering_) {
      letter_.payload += part.payload();
    } else {
      letter_ = {};
      letter_.number = part.number();
      letter_.answers = part.answers();
      letter_.to = std::move(*part.mutable_to());
      letter_.kind = std::move(*part.mutable_kind());
      letter_.trace = {part.traceparent(), part.tracestate()};
      letter_.epoch = part.epoch();
      letter_.how = absl::Status(static_cast<absl::StatusCode>(part.status()), part.reason());
      letter_.payload = std::move(*part.mutable_payload());
    }
    gathering_ = part.more();
    if (gathering_)
      return std::nullopt;
    return std::move(letter_);
  }

private:
  std::size_t most_;
  peer_envelope letter_;
  bool gathering_ = false;
};

// -- who is at the other end ----------------------------------------------------------------------

std::string_view organisation_of(peer_role role) {
  return role == peer_role::machines ? "reprieve:machines" : "reprieve:peer";
}

/// Whether the certificate of the other end says that it has the role, and where it is bound to
/// names of replicas, that it has this one.
absl::Status check_role(const grpc::AuthContext* connection, peer_role wanted,
                        std::string_view name) {
  const auto shown = connection == nullptr
                       ? std::vector<grpc::string_ref>{}
                       : connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  const auto who = shown.empty()
                     ? absl::StatusOr<certificate_subject>(absl::NotFoundError("no certificate"))
                     : subject_of({shown.front().data(), shown.front().size()});
  if (!who.ok())
    return absl::UnauthenticatedError("it shows no certificate that can be read");
  const auto organisation = organisation_of(wanted);
  if (std::ranges::find(who->organisations, organisation) == who->organisations.end())
    return absl::PermissionDeniedError(
      fmt::format("the organisation in its certificate must be {}", organisation));
  if (wanted == peer_role::replica && !who->units.empty()
      && std::ranges::find(who->units, name) == who->units.end())
    return absl::PermissionDeniedError(fmt::format("its certificate is for {}, and not for '{}'",
                                                   fmt::join(who->units, ", "), name));
  return absl::OkStatus();
}

/// Says things once for each address, so that a peer that is dialed again and again fills no log.
class first_words {
public:
  explicit first_words(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  void say(const std::string& address, const std::string& what) {
    {
      const std::lock_guard lock(mutex_);
      if (!said_.insert(address).second)
        return;
    }
    say_(what);
  }

  /// All is well there: what goes wrong next is news.
  void forget(const std::string& address) {
    const std::lock_guard lock(mutex_);
    said_.erase(address);
  }

private:
  std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::set<std::string> said_;
};

// -- the side that asked --------------------------------------------------------------------------

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const tls_files& tls) {
  if (tls.empty())
    return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  // What can't be read leaves the connection refused, which is tried again.
  if (const auto texts = read_tls(tls); texts.ok()) {
    options.pem_root_certs = texts->authority;
    options.pem_cert_chain = texts->certificate;
    options.pem_private_key = texts->key;
  }
  return grpc::SslCredentials(options);
}

class dialed_wire final : public peer_wire,
                          public grpc::ClientBidiReactor<v1::PeerEnvelope, v1::PeerEnvelope> {
public:
  struct settings {
    std::string address;
    dial_settings how;
    std::shared_ptr<first_words> words;
  };

  dialed_wire(settings with, peer_events events)
      : with_(std::move(with)), events_(std::move(events)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ping_milliseconds);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_timeout_milliseconds);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    // Each connection stands for itself: one that broke is not shared with the next.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ =
      grpc::CreateCustomChannel(with_.address, client_credentials(with_.how.tls), arguments);
    stub_ = v1::Peers::NewStub(channel_);
  }

  void start(std::shared_ptr<dialed_wire> self) {
    self_ = std::move(self);
    if (with_.how.tls.empty() && !with_.how.secret.empty())
      context_.AddMetadata(secret_header, with_.how.secret);
    if (!with_.how.own_name.empty())
      context_.AddMetadata(name_header, with_.how.own_name);
    stub_->async()->Talk(&context_, this);
    AddHold();
    StartRead(&next_);
    StartCall();
  }

  void send(peer_envelope letter) override {
    const std::lock_guard lock(mutex_);
    if (ended_)
      return;
    split(std::move(letter), [&](v1::PeerEnvelope part) { waiting_.push_back(std::move(part)); });
    write_next();
  }

  void close() override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(ended_, true))
        return;
    }
    context_.TryCancel();
    RemoveHold();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok)
      return;
    if (!with_.how.tls.empty())
      if (auto right =
            check_role(context_.auth_context().get(), with_.how.whom, with_.how.their_name);
          !right.ok()) {
        with_.words->say(with_.address, fmt::format("nothing is sent to {}: {}", with_.address,
                                                    std::string(right.message())));
        close();
        return;
      }
    with_.words->forget(with_.address);
    events_.opened();
    const std::lock_guard lock(mutex_);
    known_ = true;
    if (!ended_)
      write_next();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      close();
      return;
    }
    auto letter = gatherer_.take(next_);
    if (!letter.ok()) {
      with_.words->say(with_.address,
                       fmt::format("the connection to {} is ended: {}", with_.address,
                                   std::string(letter.status().message())));
      close();
      return;
    }
    if (*letter && is_known())
      events_.arrived(**std::move(letter));
    StartRead(&next_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      close();
      return;
    }
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    writing_ = false;
    if (!ended_)
      write_next();
  }

  void OnDone(const grpc::Status& how) override {
    if (how.error_code() == grpc::StatusCode::PERMISSION_DENIED
        || how.error_code() == grpc::StatusCode::UNAUTHENTICATED)
      with_.words->say(with_.address, fmt::format("{} does not let this process in: {}",
                                                  with_.address, how.error_message()));
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    events_.closed();
    const auto last = std::move(self_); // gRPC does not touch it any more
  }

private:
  bool is_known() {
    const std::lock_guard lock(mutex_);
    return known_;
  }

  void write_next() {
    if (known_ && !writing_ && !waiting_.empty()) {
      writing_ = true;
      StartWrite(&waiting_.front());
    }
  }

  settings with_;
  peer_events events_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Peers::Stub> stub_;
  grpc::ClientContext context_;
  v1::PeerEnvelope next_;
  letter_gatherer gatherer_{most_told};
  std::mutex mutex_;
  std::deque<v1::PeerEnvelope> waiting_;
  bool known_ = false; ///< who is at the other end
  bool writing_ = false;
  bool ended_ = false;
  std::shared_ptr<dialed_wire> self_;
};

// -- the side that is asked -----------------------------------------------------------------------

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
    split(std::move(letter), [&](v1::PeerEnvelope part) { stream_->push(std::move(part)); });
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
                        shown(context, name_header));
    if (secret_.empty() || is_secret(shown(context, secret_header), secret_))
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
                               ping_milliseconds / 2);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ping_milliseconds);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_timeout_milliseconds);
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

absl::Status check_peer_files(const tls_files& tls) {
  if (tls.empty() || (!tls.certificate.empty() && !tls.key.empty() && !tls.authority.empty()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
    "both ends of a connection between processes of the cluster check each other; give a "
    "certificate, its key and the authority together, or none of them: {} is missing",
    tls.certificate.empty() ? "the certificate"
    : tls.key.empty()       ? "the key"
                            : "the authority"));
}

wire_maker dial_over_grpc(dial_settings with) {
  const auto words = std::make_shared<first_words>(with.say);
  return [with = std::move(with), words](const std::string& address, peer_events events) {
    auto wire =
      std::make_shared<dialed_wire>(dialed_wire::settings{address, with, words}, std::move(events));
    wire->start(wire);
    return wire;
  };
}

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
