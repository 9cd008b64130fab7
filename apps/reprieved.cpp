// The daemon: wires the store, the cluster, the actors and the API together.

#include "apps/daemon/api_options.hpp"
#include "apps/daemon/daemon_options.hpp"
#include "apps/daemon/ending.hpp"
#include "apps/daemon/fail.hpp"
#include "apps/daemon/privileges.hpp"
#include "apps/daemon/serve.hpp"
#include "apps/daemon/trace_option.hpp"
#include "observability/tracing.hpp"
#include "protocol/transport/grpc_log.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

int main(int argc, char** argv) {
  using namespace reprieve;

  umask(S_IRWXG | S_IRWXO); // what it writes is for its owner alone
  daemon_options options;
  CLI::App app{"reprieved: the Reprieve scheduler"};
  add_daemon_options(app, options);
  CLI11_PARSE(app, argc, argv);
  fit_connections(options.api.limits);
  options.api.say = [](const std::string& what) { fmt::print(stderr, "reprieved: {}\n", what); };
  limit_grpc_log(options.api.say);
  if (auto changed = give_up_rights(options.user, options.data, options.api.say); !changed.ok())
    return fail(changed);

  ending end;
  auto traced = parse_trace(options.trace);
  if (!traced.ok())
    return fail(traced.status());
  traced->instance = options.replica;
  if (auto started = start_tracing(*traced); !started.ok())
    return fail(started);
  const int code = serve(options, end);
  stop_tracing();
  return code;
}
