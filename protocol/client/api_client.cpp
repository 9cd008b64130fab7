#include "protocol/client/api_client.hpp"

#include "protocol/messages/convert_requests.hpp"
#include "state/model/unchanged_error.hpp"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

namespace reprieve {

namespace {

using std::chrono::system_clock;

/// How long a server may take to be connected to, to answer a call, and to be there after all when
/// none of them was.
constexpr std::chrono::seconds connect_time{5};
constexpr std::chrono::seconds patience{30};
/// A heartbeat must come to another server before its node counts as lost.
constexpr std::chrono::seconds heartbeat_patience{10};
/// A backup or snapshot of the largest cluster is through by then, unless something hangs.
constexpr std::chrono::hours backup_patience{1};
constexpr std::chrono::milliseconds second_chance{500};
constexpr std::chrono::milliseconds glance{2};

/// What came of asking one server.
struct attempt {
  grpc::Status status;
  bool reached = false;   ///< the server may have seen the call
  bool unchanged = false; ///< the server said that it changed nothing
};

/// A server that answers says whether something may have changed. Without that, and where gRPC
/// found nobody to connect to, the call was never sent.
attempt ended(const grpc::Status& status, const grpc::ClientContext& context) {
  const auto& said = context.GetServerTrailingMetadata();
  const auto mark = said.find(nothing_changed_mark);
  const bool answered = mark != said.end();
  const bool unsent = status.error_code() == grpc::StatusCode::UNAVAILABLE && !answered
                      && status.error_message().find("failed to connect") != std::string::npos;
  return {status, !unsent, answered && mark->second == "yes"};
}

/// Whether another server could have a better answer.
bool went_missing(const grpc::Status& answer) {
  return answer.error_code() == grpc::StatusCode::UNAVAILABLE
         || answer.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED
         || answer.error_code() == grpc::StatusCode::CANCELLED;
}

/// Whether the one who answered so may have made a change, unless it says that it has not.
bool leaves_change_open(const grpc::Status& answer) {
  return went_missing(answer) || answer.error_code() == grpc::StatusCode::UNKNOWN;
}

/// One server of several.
struct connection {
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Reprieve::Stub> stub;

  /// Waits until it is clear whether there is a connection; false where that takes too long.
  bool settle() const {
    const auto end = system_clock::now() + connect_time;
    auto now = channel->GetState(true);
    // That a connection was lost since the last call, gRPC notices only while somebody waits for
    // it.
    if (now == GRPC_CHANNEL_READY && channel->WaitForStateChange(now, system_clock::now() + glance))
      now = channel->GetState(true);
    while (now != GRPC_CHANNEL_READY && now != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      if (!channel->WaitForStateChange(now, end))
        return false;
      now = channel->GetState(true);
    }
    return true;
  }
};

connection connect(const std::string& address, const client_options& options) {
  constexpr int most_message_bytes = 256 << 20;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(most_message_bytes);
  // A client is a connection, also where one process has several.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, second_chance.count() / 5);
  const auto credentials =
    options.tls == tls_texts{}
      ? grpc::InsecureChannelCredentials()
      : grpc::SslCredentials({options.tls.authority, options.tls.key, options.tls.certificate});
  connection made{address, grpc::CreateCustomChannel(address, credentials, arguments), nullptr};
  made.stub = v1::Reprieve::NewStub(made.channel);
  return made;
}

/// Heartbeats to one server. Reads on a thread of its own, as answers come whenever they like.
class heartbeat_call {
public:
  using unknown_names = std::function<void(std::vector<std::string>)>;

  heartbeat_call(const connection& to, std::unique_ptr<grpc::ClientContext> context,
                 unknown_names unknown)
      : context_(std::move(context)), stream_(to.stub->Heartbeat(context_.get())),
        reader_([this, unknown = std::move(unknown)] {
          for (v1::HeartbeatResponse next; stream_->Read(&next);)
            unknown({next.unknown().begin(), next.unknown().end()});
        }) {}

  ~heartbeat_call() {
    if (reader_.joinable()) {
      context_->TryCancel();
      (void)finish();
    }
  }

  heartbeat_call(const heartbeat_call&) = delete;
  heartbeat_call& operator=(const heartbeat_call&) = delete;

  bool send(const heartbeat_request& alive) {
    return stream_->Write(to_proto(alive));
  }

  attempt end() {
    stream_->WritesDone();
    const auto status = finish();
    return ended(status, *context_);
  }

private:
  grpc::Status finish() {
    reader_.join();
    return stream_->Finish();
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::HeartbeatRequest, v1::HeartbeatResponse>> stream_;
  std::thread reader_;
};

/// Why no connection came about, as far as a person can do something about it.
std::string reason_in(const std::string& message, bool encrypted) {
  if (message.find("andshake failed") != std::string::npos)
    return fmt::format("; the TLS handshake failed: --tls-ca must be the authority of the server's "
                       "certificate, which must have the name or address in --server ({})",
                       message);
  if (message.find("Connection refused") != std::string::npos)
    return "; start reprieved, or give its address with --server";
  return fmt::format("; {} ({})",
                     encrypted ? "the server may ask for no TLS, or for another --tls-cert"
                               : "the server may ask for TLS, so give --tls-ca",
                     message);
}

absl::Status to_status(const grpc::Status& answer) {
  if (answer.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED
      && answer.error_message().find("larger than max") != std::string::npos)
    return absl::ResourceExhaustedError(
      fmt::format("the server does not take a request of this size; apply fewer objects at a time, "
                  "or raise --message-bytes of reprieved ({})",
                  answer.error_message()));
  return {static_cast<absl::StatusCode>(answer.error_code()), answer.error_message()};
}

} // namespace

struct api_client::connections {
  client_options options;
  std::vector<connection> all;
  std::size_t first = 0; ///< to be asked

  std::unique_ptr<grpc::ClientContext> make_context() const {
    auto context = std::make_unique<grpc::ClientContext>();
    if (!options.token.empty())
      context->AddMetadata("authorization", "Bearer " + options.token);
    return context;
  }

  absl::Status nobody_answers(const grpc::Status& last) const {
    return absl::UnavailableError(
      fmt::format("no server answers at {}{}", fmt::join(options.servers, ", "),
                  reason_in(last.error_message(), options.tls != tls_texts{})));
  }

  /// How it ended, for people.
  absl::Status outcome(const attempt& last) const {
    if (last.status.ok())
      return absl::OkStatus();
    if (!last.reached)
      return mark_nothing_changed(nobody_answers(last.status));
    return last.unchanged ? mark_nothing_changed(to_status(last.status)) : to_status(last.status);
  }

  /// Asks one server after the other until one is reached and `enough` says that its answer counts.
  template <class Try, class Enough>
  attempt ask_round(Try& try_one, Enough& enough) {
    attempt last;
    const auto start = first;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto at = (start + i) % all.size();
      if (!all[at].settle()) {
        last = {
          {grpc::StatusCode::UNAVAILABLE, fmt::format("{} did not take a connection in {} s",
                                                      all[at].address, connect_time.count())}};
        continue;
      }
      last = try_one(all[at]);
      if (!last.reached)
        continue;
      first = at;
      if (enough(last))
        break;
    }
    return last;
  }

  /// As above, with another round where no server was there: one may just be starting, and
  /// gRPC 1.51 can take a standing connection for a failed one.
  template <class Try, class Enough>
  attempt ask(Try try_one, Enough enough) {
    auto last = ask_round(try_one, enough);
    if (last.reached)
      return last;
    const auto end = system_clock::now() + second_chance;
    for (const auto& one : all)
      if (one.channel->WaitForConnected(end))
        break;
    return ask_round(try_one, enough);
  }

  /// Sees to it that the one to be asked first is there, if any is.
  void look_for_server() {
    (void)ask(
      [](const connection& to) {
        return attempt{grpc::Status::OK, to.channel->GetState(false) == GRPC_CHANNEL_READY};
      },
      [](const attempt&) { return true; });
  }

  /// Another is to be asked before this one.
  void pass_over(std::size_t at) {
    if (first == at)
      first = (at + 1) % all.size();
  }

  enum class effect { reads, changes };

  /// One call of the stub; an answer that came goes through `convert`.
  template <class Response, class Call, class Request, class Convert>
  auto call(effect what, Call method, const Request& wanted, Convert convert)
    -> decltype(convert(std::declval<const Response&>())) {
    const auto message = to_proto(wanted);
    Response response;
    const auto may_be_done = [&](const attempt& last) {
      return what == effect::changes && leaves_change_open(last.status) && !last.unchanged;
    };
    const auto last = ask(
      [&](const connection& to) {
        const auto context = make_context();
        context->set_deadline(system_clock::now() + patience);
        const auto status = (to.stub.get()->*method)(context.get(), message, &response);
        return ended(status, *context);
      },
      [&](const attempt& came) { return may_be_done(came) || !went_missing(came.status); });
    if (last.status.ok())
      return convert(response);
    if (!last.reached || !may_be_done(last))
      return outcome(last);
    return absl::Status(
      to_status(last.status).code(),
      fmt::format("{}: {}; whether the change was made is not known: look, before you ask for it "
                  "again",
                  options.servers[first], last.status.error_message()));
  }

  /// Reads what `open` opens to its end, or until `take` says what is wrong or that it is enough.
  /// What was seen must not be seen again: another server is asked before the first message only.
  template <class Message, class Open, class Take>
  absl::Status read_stream(Open open, Take take) {
    bool saw_any = false;
    absl::Status taken;
    const auto last = ask(
      [&](const connection& to) {
        const auto context = make_context();
        const auto stream = open(*to.stub, *context);
        for (Message next; stream->Read(&next);) {
          saw_any = true;
          bool enough = false;
          taken = take(next, enough);
          if (!taken.ok() || enough) {
            context->TryCancel();
            (void)stream->Finish();
            return attempt{grpc::Status::OK, true};
          }
        }
        const auto status = stream->Finish();
        return ended(status, *context);
      },
      [&](const attempt& came) { return saw_any || !went_missing(came.status); });
    return taken.ok() ? outcome(last) : taken;
  }
};

/// One call, to the server that is to be asked first.
class api_client::sender final : public heartbeat_sender {
public:
  sender(connections& servers, heartbeat_call::unknown_names unknown)
      : servers_(servers), at_(servers.first),
        call_(servers.all[at_], servers.make_context(), std::move(unknown)) {}

  bool send(const heartbeat_request& alive) override {
    return call_.send(alive);
  }

  absl::Status end() override {
    const auto last = call_.end();
    if (went_missing(last.status))
      servers_.pass_over(at_);
    return servers_.outcome(last);
  }

private:
  connections& servers_;
  std::size_t at_;
  heartbeat_call call_;
};

api_client::api_client(client_options options) : connections_(std::make_unique<connections>()) {
  for (const auto& address : options.servers)
    connections_->all.push_back(connect(address, options));
  connections_->options = std::move(options);
}

void api_client::silence_transport() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr)
    gpr_set_log_function([](gpr_log_func_args*) {});
}

api_client::~api_client() = default;
api_client::api_client(api_client&&) noexcept = default;
api_client& api_client::operator=(api_client&&) noexcept = default;

apply_result api_client::apply(const apply_request& wanted) {
  return connections_->call<v1::ApplyResponse>(
    connections::effect::changes, &v1::Reprieve::Stub::Apply, wanted,
    [](const v1::ApplyResponse& answer) { return from_proto(answer); });
}

get_result api_client::get(const get_request& wanted) {
  auto next = wanted;
  auto found = get_page(next);
  while (found.ok() && !found->next.empty() && (wanted.most == 0 || found->size() < wanted.most)) {
    next.after = found->next;
    next.most = wanted.most == 0 ? 0 : wanted.most - found->size();
    auto more = get_page(next);
    if (!more.ok())
      return more;
    std::ranges::move(more->objects, std::back_inserter(found->objects));
    found->age = std::max(found->age, more->age);
    found->next = std::move(more->next);
  }
  if (found.ok() && wanted.kind == object_kind::pod)
    std::ranges::sort(found->objects, {},
                      [](const shown_object& one) { return std::get<pod>(one.what).uid; });
  return found;
}

get_result api_client::get_page(const get_request& wanted) {
  return connections_->call<v1::GetResponse>(
    connections::effect::reads, &v1::Reprieve::Stub::Get, wanted,
    [](const v1::GetResponse& answer) { return from_proto(answer); });
}

describe_result api_client::describe(const describe_request& wanted) {
  return connections_->call<v1::DescribeResponse>(
    connections::effect::reads, &v1::Reprieve::Stub::Describe, wanted,
    [](const v1::DescribeResponse& answer) { return from_proto(answer); });
}

absl::Status api_client::remove(const delete_request& wanted) {
  return connections_->call<v1::DeleteResponse>(
    connections::effect::changes, &v1::Reprieve::Stub::Delete, wanted,
    [](const v1::DeleteResponse&) { return absl::OkStatus(); });
}

explain_result api_client::explain(const explain_request& wanted) {
  return connections_->call<v1::ExplainResponse>(
    connections::effect::reads, &v1::Reprieve::Stub::Explain, wanted,
    [](const v1::ExplainResponse& answer) { return from_proto(answer); });
}

heartbeat_result api_client::heartbeat(const heartbeat_request& alive) {
  std::vector<std::string> unknown;
  const auto last = connections_->ask(
    [&](const connection& to) {
      unknown.clear();
      auto context = connections_->make_context();
      context->set_deadline(system_clock::now() + heartbeat_patience);
      heartbeat_call call(to, std::move(context), [&](const std::vector<std::string>& names) {
        unknown.insert(unknown.end(), names.begin(), names.end());
      });
      call.send(alive);
      return call.end();
    },
    [](const attempt& came) { return !went_missing(came.status); });
  if (!last.status.ok())
    return connections_->outcome(last);
  return unknown;
}

std::unique_ptr<heartbeat_sender>
api_client::heartbeats(std::function<void(std::vector<std::string>)> unknown) {
  connections_->look_for_server();
  return std::make_unique<sender>(*connections_, std::move(unknown));
}

absl::Status api_client::events(std::int64_t after, bool follow,
                                const std::function<bool(const event&)>& each) {
  v1::EventsRequest wanted;
  wanted.set_since_sequence(after);
  wanted.set_follow(follow);
  return connections_->read_stream<v1::Event>(
    [&](v1::Reprieve::Stub& at, grpc::ClientContext& context) {
      return at.Events(&context, wanted);
    },
    [&](const v1::Event& next, bool& enough) {
      const auto seen = from_proto(next);
      enough = seen.ok() && !each(*seen);
      return seen.status();
    });
}

absl::Status api_client::backup(backup_sink& into) {
  std::int64_t came = 0;
  std::int64_t all = 0;
  auto read = connections_->read_stream<v1::BackupChunk>(
    [&](v1::Reprieve::Stub& at, grpc::ClientContext& context) {
      context.set_deadline(system_clock::now() + backup_patience);
      return at.Backup(&context, {});
    },
    [&](const v1::BackupChunk& next, bool&) {
      absl::Status taken;
      if (next.has_header())
        taken = into.begin(from_proto(next.header()));
      for (const auto& one : next.records()) {
        if (!taken.ok())
          break;
        taken = into.add(from_proto(one));
        ++came;
      }
      all = next.count();
      return taken;
    });
  if (read.ok() && (came == 0 || came != all))
    return absl::DataLossError(
      fmt::format("the server ended the backup after {} records, and says it has {}", came, all));
  return read;
}

absl::Status api_client::snapshot(const std::function<absl::Status(const std::string&)>& take) {
  bool whole = false;
  auto read = connections_->read_stream<v1::SnapshotChunk>(
    [&](v1::Reprieve::Stub& at, grpc::ClientContext& context) {
      context.set_deadline(system_clock::now() + backup_patience);
      return at.Snapshot(&context, {});
    },
    [&](const v1::SnapshotChunk& next, bool&) {
      whole = next.last();
      return take(next.manifests());
    });
  if (read.ok() && !whole)
    return absl::DataLossError("the server ended the snapshot before it was whole");
  return read;
}

} // namespace reprieve
