#include "protocol/client/api_client.hpp"

#include "protocol/client/heartbeat_call.hpp"
#include "protocol/client/server_failover.hpp"
#include "protocol/messages/convert_requests.hpp"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace reprieve {

namespace {

using std::chrono::system_clock;

/// How long a server may take to answer a call.
constexpr std::chrono::seconds patience{30};
/// A heartbeat must come to another server before its node counts as lost.
constexpr std::chrono::seconds heartbeat_patience{10};
/// A backup or snapshot of the largest cluster is through by then, unless something hangs.
constexpr std::chrono::hours backup_patience{1};

/// One call of the stub; an answer that came goes through `convert`.
template <class Response, class Call, class Request, class Convert>
auto call(server_failover& servers, call_effect what, Call method, const Request& wanted,
          Convert convert) -> decltype(convert(std::declval<const Response&>())) {
  const auto message = to_proto(wanted);
  Response response;
  const auto last = servers.ask(what, [&](const server_connection& to) {
    const auto context = servers.make_context();
    context->set_deadline(system_clock::now() + patience);
    const auto status = (to.stub.get()->*method)(context.get(), message, &response);
    return call_attempt::ended(status, *context);
  });
  if (last.status.ok())
    return convert(response);
  return servers.outcome(what, last);
}

/// Reads what `open` opens to its end, or until `take` says what is wrong or that it is enough.
/// What was seen must not be seen again: another server is asked before the first message only.
template <class Message, class Open, class Take>
absl::Status read_stream(server_failover& servers, Open open, Take take) {
  bool saw_any = false;
  absl::Status taken;
  const auto last =
    servers.ask_until([&](const call_attempt& came) { return saw_any || !came.went_missing(); },
                      [&](const server_connection& to) {
                        const auto context = servers.make_context();
                        const auto stream = open(*to.stub, *context);
                        for (Message next; stream->Read(&next);) {
                          saw_any = true;
                          bool enough = false;
                          taken = take(next, enough);
                          if (!taken.ok() || enough) {
                            context->TryCancel();
                            (void)stream->Finish();
                            return call_attempt{grpc::Status::OK, true};
                          }
                        }
                        const auto status = stream->Finish();
                        return call_attempt::ended(status, *context);
                      });
  return taken.ok() ? servers.outcome(last) : taken;
}

} // namespace

api_client::api_client(client_options options)
    : servers_(std::make_unique<server_failover>(std::move(options))) {}

void api_client::silence_transport() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr)
    gpr_set_log_function([](gpr_log_func_args*) {});
}

api_client::~api_client() = default;
api_client::api_client(api_client&&) noexcept = default;
api_client& api_client::operator=(api_client&&) noexcept = default;

apply_result api_client::apply(const apply_request& wanted) {
  return call<v1::ApplyResponse>(
    *servers_, call_effect::changes, &v1::Reprieve::Stub::Apply, wanted,
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
  return call<v1::GetResponse>(*servers_, call_effect::reads, &v1::Reprieve::Stub::Get, wanted,
                               [](const v1::GetResponse& answer) { return from_proto(answer); });
}

describe_result api_client::describe(const describe_request& wanted) {
  return call<v1::DescribeResponse>(
    *servers_, call_effect::reads, &v1::Reprieve::Stub::Describe, wanted,
    [](const v1::DescribeResponse& answer) { return from_proto(answer); });
}

absl::Status api_client::remove(const delete_request& wanted) {
  return call<v1::DeleteResponse>(*servers_, call_effect::changes, &v1::Reprieve::Stub::Delete,
                                  wanted,
                                  [](const v1::DeleteResponse&) { return absl::OkStatus(); });
}

explain_result api_client::explain(const explain_request& wanted) {
  return call<v1::ExplainResponse>(
    *servers_, call_effect::reads, &v1::Reprieve::Stub::Explain, wanted,
    [](const v1::ExplainResponse& answer) { return from_proto(answer); });
}

heartbeat_result api_client::heartbeat(const heartbeat_request& alive) {
  std::vector<std::string> unknown;
  const auto last = servers_->ask(call_effect::reads, [&](const server_connection& to) {
    unknown.clear();
    auto context = servers_->make_context();
    context->set_deadline(system_clock::now() + heartbeat_patience);
    heartbeat_call call(to, std::move(context), [&](const std::vector<std::string>& names) {
      unknown.insert(unknown.end(), names.begin(), names.end());
    });
    call.send(alive);
    return call.end();
  });
  if (!last.status.ok())
    return servers_->outcome(last);
  return unknown;
}

std::unique_ptr<heartbeat_sender>
api_client::heartbeats(std::function<void(std::vector<std::string>)> unknown) {
  servers_->look_for_server();
  return std::make_unique<first_server_heartbeats>(*servers_, std::move(unknown));
}

absl::Status api_client::events(std::int64_t after, bool follow,
                                const std::function<bool(const event&)>& each) {
  v1::EventsRequest wanted;
  wanted.set_since_sequence(after);
  wanted.set_follow(follow);
  return read_stream<v1::Event>(
    *servers_,
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
  auto read = read_stream<v1::BackupChunk>(
    *servers_,
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
  auto read = read_stream<v1::SnapshotChunk>(
    *servers_,
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
