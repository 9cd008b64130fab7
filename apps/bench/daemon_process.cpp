#include "apps/bench/daemon_process.hpp"

#include "protocol/client/api_client.hpp"
#include "testbed/processes/free_endpoint.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <thread>

namespace reprieve {

namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& one : parts)
    all += (all.empty() ? "" : ",") + one;
  return all;
}

} // namespace

std::string beside_this_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

daemon_process::daemon_process(const daemon_settings& settings)
    : address_(free_endpoint()), output_(settings.directory + "/" + settings.name + ".log") {
  std::vector<std::string> command{settings.program,
                                   "--data",
                                   settings.directory + "/" + settings.name,
                                   "--replica",
                                   settings.name,
                                   "--listen",
                                   address_,
                                   "--peer-listen",
                                   "127.0.0.1:0",
                                   "--etcd",
                                   joined(settings.etcd),
                                   "--etcd-prefix",
                                   settings.prefix,
                                   "--requests-per-second",
                                   "0"};
  if (!settings.machines.empty())
    command.insert(command.end(), {"--machines", settings.machines});
  command.insert(command.end(), settings.more.begin(), settings.more.end());
  process_ = std::make_unique<child_process>(std::move(command), output_);
}

absl::Status daemon_process::serves(std::chrono::seconds most) {
  api_client client({{address_}});
  const auto end = std::chrono::steady_clock::now() + most;
  while (process_->running() && std::chrono::steady_clock::now() < end) {
    if (client.get({object_kind::workload, "nobody", {}, {}}).status().code()
        == absl::StatusCode::kNotFound)
      return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  return absl::UnavailableError(
    fmt::format("reprieved does not serve; it says: {}", file_contents(output_)));
}

} // namespace reprieve
