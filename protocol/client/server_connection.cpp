#include "protocol/client/server_connection.hpp"

#include <utility>

namespace reprieve {

using std::chrono::system_clock;

server_connection server_connection::to(const std::string& address, const client_options& options) {
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
  server_connection made{address, grpc::CreateCustomChannel(address, credentials, arguments),
                         nullptr};
  made.stub = v1::Reprieve::NewStub(made.channel);
  return made;
}

bool server_connection::settle() const {
  constexpr std::chrono::milliseconds glance{2};
  const auto end = system_clock::now() + connect_time;
  auto now = channel->GetState(true);
  // That a connection was lost since the last call, gRPC notices only while somebody waits for it.
  if (now == GRPC_CHANNEL_READY && channel->WaitForStateChange(now, system_clock::now() + glance))
    now = channel->GetState(true);
  while (now != GRPC_CHANNEL_READY && now != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    if (!channel->WaitForStateChange(now, end))
      return false;
    now = channel->GetState(true);
  }
  return true;
}

} // namespace reprieve
