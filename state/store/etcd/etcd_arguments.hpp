#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace reprieve {

/// How a connection to etcd is kept.
inline grpc::ChannelArguments etcd_arguments() {
  grpc::ChannelArguments arguments;
  // A write must not be repeated behind our back.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The answer to a read of many keys has no limit of its own.
  arguments.SetMaxReceiveMessageSize(-1);
  // Finds out that a connection is dead though nothing is said on it; etcd takes offence at more
  // than one ping in 5 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  return arguments;
}

} // namespace reprieve
