#include "protocol/api_server.hpp"

#include "protocol/convert_requests.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <deque>
#include <mutex>

namespace reprieve {

namespace {

/// The codes of both are the same numbers.
grpc::Status to_grpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

/// Sends the events that a follower gets down a stream, one write at a time. Lives until gRPC is
/// done with the call; the follower may outlast it.
class event_stream final : public grpc::ServerWriteReactor<v1::Event> {
public:
  void push(const event& seen) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(to_proto(seen));
    write_next();
  }

  /// Ends the stream when all is written.
  void end() {
    const std::lock_guard lock(mutex_);
    end_when_written_ = true;
    write_next();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    writing_ = false;
    if (!ok)
      finish();
    else
      write_next();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish();
  }

  void OnDone() override {
    std::function<void()> gone;
    {
      const std::lock_guard lock(mutex_);
      gone = std::move(gone_);
    }
    if (gone)
      gone();
    self_.reset();
  }

  /// Keeps the stream alive until gRPC is done; `gone` is called then.
  void keep(std::shared_ptr<event_stream> self, std::function<void()> gone) {
    const std::lock_guard lock(mutex_);
    self_ = std::move(self);
    gone_ = std::move(gone);
  }

private:
  void write_next() {
    if (writing_ || finished_)
      return;
    if (!waiting_.empty()) {
      writing_ = true;
      StartWrite(&waiting_.front());
    } else if (end_when_written_) {
      finish();
    }
  }

  void finish() {
    if (std::exchange(finished_, true))
      return;
    Finish(grpc::Status::OK);
  }

  std::mutex mutex_;
  std::deque<v1::Event> waiting_;
  bool writing_ = false;
  bool finished_ = false;
  bool end_when_written_ = false;
  std::shared_ptr<event_stream> self_;
  std::function<void()> gone_;
};

event_follower_actor::behavior_type follow_into(event_follower_actor::pointer,
                                                std::shared_ptr<event_stream> stream) {
  return {
    [stream](const event& seen) { stream->push(seen); },
  };
}

class service final : public v1::Reprieve::CallbackService {
public:
  service(caf::actor_system& system, gateway_actor gateway)
      : system_(system), gateway_(std::move(gateway)) {}

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

  grpc::ServerWriteReactor<v1::Event>* Events(grpc::CallbackServerContext*,
                                              const v1::EventsRequest* request) override {
    auto stream = std::make_shared<event_stream>();
    if (request->follow()) {
      auto follower = system_.spawn(follow_into, stream);
      stream->keep(stream,
                   [follower] { caf::anon_send_exit(follower, caf::exit_reason::user_shutdown); });
      caf::anon_send(gateway_, follow_events{request->since_sequence(), follower});
    } else {
      stream->keep(stream, {});
      system_.spawn([stream, gateway = gateway_,
                     after = request->since_sequence()](caf::event_based_actor* self) {
        self->request(gateway, answer_time, read_events{after, {}})
          .then(
            [stream](const event_list& kept) {
              for (const auto& one : kept)
                stream->push(one);
              stream->end();
            },
            [stream](const caf::error&) { stream->end(); });
      });
    }
    return stream.get();
  }

private:
  /// Asks the gateway and finishes the call with its answer; `fill` writes a good one down.
  template <class Result, class Request, class F>
  grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext* context, const Request& request,
                                   F fill) {
    auto* reactor = context->DefaultReactor();
    const auto wanted = from_proto(request);
    if (!wanted.ok()) {
      reactor->Finish(to_grpc(wanted.status()));
      return reactor;
    }
    system_.spawn(
      [reactor, fill, wanted = *wanted, gateway = gateway_](caf::event_based_actor* self) {
        self->request(gateway, answer_time, wanted)
          .then(
            [reactor, fill](const Result& result) {
              if constexpr (std::is_same_v<Result, absl::Status>) {
                reactor->Finish(to_grpc(result));
              } else {
                if (result.ok())
                  fill(*result);
                reactor->Finish(to_grpc(result.status()));
              }
            },
            [reactor](const caf::error& error) { reactor->Finish(to_grpc(to_status(error))); });
      });
    return reactor;
  }

  caf::actor_system& system_;
  gateway_actor gateway_;
};

class running_server final : public api_server {
public:
  running_server(caf::actor_system& system, gateway_actor gateway)
      : service_(system, std::move(gateway)) {}

  ~running_server() override {
    stop();
  }

  absl::Status listen(const std::string& address) {
    constexpr int most_message_bytes = 64 << 20;
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.SetMaxReceiveMessageSize(most_message_bytes);
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
  service service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

} // namespace

absl::StatusOr<std::unique_ptr<api_server>>
api_server::start(const std::string& address, caf::actor_system& system, gateway_actor gateway) {
  auto server = std::make_unique<running_server>(system, std::move(gateway));
  if (auto listening = server->listen(address); !listening.ok())
    return listening;
  return server;
}

} // namespace reprieve
