#include "protocol/peers/peer_dialing.hpp"

#include "protocol/peers/letter_parts.hpp"
#include "protocol/peers/peer_connection.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/peer.grpc.pb.h>

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace reprieve {

namespace {

/// What a whole letter may come to: who asks is told all that a shard has, or a resource group.
constexpr std::size_t most_told = std::size_t{1} << 30;

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
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, peer_connection::ping_milliseconds);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, peer_connection::ping_timeout_milliseconds);
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
      context_.AddMetadata(peer_connection::secret_header, with_.how.secret);
    if (!with_.how.own_name.empty())
      context_.AddMetadata(peer_connection::name_header, with_.how.own_name);
    stub_->async()->Talk(&context_, this);
    AddHold();
    StartRead(&next_);
    StartCall();
  }

  void send(peer_envelope letter) override {
    const std::lock_guard lock(mutex_);
    if (ended_)
      return;
    split_letter(std::move(letter),
                 [&](v1::PeerEnvelope part) { waiting_.push_back(std::move(part)); });
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

} // namespace

wire_maker dial_over_grpc(dial_settings with) {
  const auto words = std::make_shared<first_words>(with.say);
  return [with = std::move(with), words](const std::string& address, peer_events events) {
    auto wire =
      std::make_shared<dialed_wire>(dialed_wire::settings{address, with, words}, std::move(events));
    wire->start(wire);
    return wire;
  };
}

} // namespace reprieve
