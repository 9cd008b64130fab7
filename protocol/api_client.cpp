#include "protocol/api_client.hpp"

#include "protocol/convert_requests.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

namespace reprieve {

/// Whether the call never reached a server.
static bool not_connected(const grpc::Status& answer) {
  return answer.error_code() == grpc::StatusCode::UNAVAILABLE
         && answer.error_message().find("connect") != std::string::npos;
}

/// How long a server that did not answer at once may take to be there after all.
static constexpr std::chrono::milliseconds second_chance{500};

struct api_client::connection {
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Reprieve::Stub> stub;

  absl::Status to_status(const grpc::Status& answer) const {
    if (answer.ok())
      return absl::OkStatus();
    if (not_connected(answer))
      return absl::UnavailableError(fmt::format(
        "no server answers at {}; start reprieved, or give its address with --server", address));
    return {static_cast<absl::StatusCode>(answer.error_code()), answer.error_message()};
  }

  /// One call of the stub; an answer that came goes through `convert`. A call that found no server
  /// changed nothing, and is made once more: gRPC 1.51 can take a standing connection for a failed
  /// one.
  template <class Response, class Call, class Request, class Convert>
  auto call(Call method, const Request& wanted, Convert convert)
    -> decltype(convert(std::declval<const Response&>())) {
    const auto message = to_proto(wanted);
    Response response;
    const auto try_once = [&] {
      constexpr std::chrono::seconds patience{30};
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + patience);
      return (stub.get()->*method)(&context, message, &response);
    };
    auto answer = try_once();
    if (not_connected(answer)
        && channel->WaitForConnected(std::chrono::system_clock::now() + second_chance))
      answer = try_once();
    if (!answer.ok())
      return to_status(answer);
    return convert(response);
  }
};

api_client::api_client(const std::string& address) : connection_(std::make_unique<connection>()) {
  constexpr int most_message_bytes = 256 << 20;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(most_message_bytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, second_chance.count() / 5);
  connection_->address = address;
  connection_->channel =
    grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  connection_->stub = v1::Reprieve::NewStub(connection_->channel);
}

api_client::~api_client() = default;
api_client::api_client(api_client&&) noexcept = default;
api_client& api_client::operator=(api_client&&) noexcept = default;

apply_result api_client::apply(const apply_request& wanted) {
  return connection_->call<v1::ApplyResponse>(
    &v1::Reprieve::Stub::Apply, wanted,
    [](const v1::ApplyResponse& answer) { return from_proto(answer); });
}

get_result api_client::get(const get_request& wanted) {
  return connection_->call<v1::GetResponse>(&v1::Reprieve::Stub::Get, wanted,
                                            [](const v1::GetResponse& answer) -> get_result {
                                              std::vector<shown_object> found;
                                              for (const auto& one : answer.objects()) {
                                                auto shown = shown_from_proto(one);
                                                if (!shown.ok())
                                                  return shown.status();
                                                found.push_back(*std::move(shown));
                                              }
                                              return found;
                                            });
}

describe_result api_client::describe(const describe_request& wanted) {
  return connection_->call<v1::DescribeResponse>(
    &v1::Reprieve::Stub::Describe, wanted,
    [](const v1::DescribeResponse& answer) { return from_proto(answer); });
}

absl::Status api_client::remove(const delete_request& wanted) {
  return connection_->call<v1::DeleteResponse>(
    &v1::Reprieve::Stub::Delete, wanted,
    [](const v1::DeleteResponse&) { return absl::OkStatus(); });
}

explain_result api_client::explain(const explain_request& wanted) {
  return connection_->call<v1::ExplainResponse>(
    &v1::Reprieve::Stub::Explain, wanted,
    [](const v1::ExplainResponse& answer) { return from_proto(answer); });
}

absl::Status api_client::events(std::int64_t after, bool follow,
                                const std::function<bool(const event&)>& each) {
  v1::EventsRequest wanted;
  wanted.set_since_sequence(after);
  wanted.set_follow(follow);
  grpc::ClientContext context;
  const auto stream = connection_->stub->Events(&context, wanted);
  v1::Event next;
  while (stream->Read(&next)) {
    const auto seen = from_proto(next);
    if (!seen.ok())
      return seen.status();
    if (!each(*seen)) {
      context.TryCancel();
      return absl::OkStatus();
    }
  }
  return connection_->to_status(stream->Finish());
}

} // namespace reprieve
