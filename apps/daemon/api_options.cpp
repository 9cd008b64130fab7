#include "apps/daemon/api_options.hpp"

#include "protocol/limits/descriptor_limit.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace reprieve {

static void add_limit(CLI::App& app, const char* name, std::int64_t& value, std::int64_t least,
                      const char* text) {
  app.add_option(name, value, text)
    ->check(CLI::Range(least, std::int64_t{std::numeric_limits<std::int32_t>::max()}))
    ->capture_default_str();
}

void add_api_options(CLI::App& app, api_settings& api, gateway_limits& limits) {
  app.add_option("--tls-cert", api.tls.certificate,
                 "certificate of the API, which is encrypted then; followed when it changes");
  app.add_option("--tls-key", api.tls.key, "key of the certificate; likewise");
  app.add_option("--tls-ca", api.tls.authority,
                 "certificates that those of clients are checked by; without --tokens each client "
                 "must show one; likewise");
  app.add_option("--tokens", api.callers, "file with callers, their roles and tokens; likewise");
  app.add_option("--audit", api.audit, "file for a record of every call that changes something");
  app.add_flag("--insecure", api.insecure,
               "listen beyond this machine without encryption or without asking who calls");
  auto& most = api.limits;
  add_limit(app, "--connections", most.connections, 1,
            "most connections open at a time; fewer where the system gives fewer descriptors");
  add_limit(app, "--connections-per-host", most.connections_per_host, 1, "likewise of one address");
  add_limit(app, "--message-bytes", most.message_bytes, 1024, "largest request");
  add_limit(app, "--calls", most.calls, 1, "most calls under way at a time, without watches");
  add_limit(app, "--calls-per-client", most.calls_per_client, 1, "likewise of one client");
  add_limit(app, "--unread-bytes", most.unread_bytes, 1 << 20,
            "most bytes of answers that nobody has taken yet");
  add_limit(app, "--unread-bytes-per-client", most.unread_bytes_per_client, 1 << 20,
            "likewise of one client");
  add_limit(app, "--streams", most.streams, 0, "most watches open at a time");
  add_limit(app, "--streams-per-client", most.streams_per_client, 0, "likewise of one client");
  add_limit(app, "--request-seconds", most.request_seconds, 1,
            "seconds that a request may take to come, once it was begun");
  add_limit(app, "--answer-seconds", most.answer_seconds, 1,
            "seconds that a client may take for a part of an answer");
  add_limit(app, "--requests-per-second", most.requests_per_second, 0,
            "of one client; 0 for as many as come");
  add_limit(app, "--workloads-per-queue", limits.workloads_per_queue, 0,
            "most workloads that one queue may have");
}

void fit_connections(api_limits& limits) {
  // What is left is for files, the store and other replicas.
  constexpr std::int64_t other_descriptors = 1100;
  const auto descriptors = raise_descriptor_limit();
  limits.connections =
    std::min(limits.connections, std::max(descriptors - other_descriptors, descriptors / 2));
  // One address is to leave something for others, however few there may be.
  limits.connections_per_host =
    std::min(limits.connections_per_host, std::max<std::int64_t>(limits.connections / 2, 1));
}

} // namespace reprieve
