#include "tests/integration/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace reprieve {

daemon_process::daemon_process(std::filesystem::path data, std::vector<std::string> more)
    : data_(std::move(data)), address_file_((data_ / "address").string()) {
  std::filesystem::create_directories(data_);
  std::filesystem::permissions(data_, std::filesystem::perms::owner_all);
  std::filesystem::remove(address_file_);
  std::vector<std::string> command{REPRIEVE_BINARIES "/reprieved",
                                   "--data",
                                   data_.string(),
                                   "--address-file",
                                   address_file_,
                                   "--trace",
                                   "file:" + (data_ / "trace.jsonl").string()};
  if (std::find(more.begin(), more.end(), "--listen") == more.end())
    more.insert(more.end(), {"--listen", "127.0.0.1:0"});
  command.insert(command.end(), more.begin(), more.end());
  process_ = std::make_unique<child_process>(std::move(command), (data_ / "output").string());
}

void daemon_process::freeze() {
  process_->freeze();
}

bool daemon_process::serves() {
  for (int i = 0; i < 600 && process_->running(); ++i) {
    address_ = file_contents(address_file_);
    if (!address_.empty()) {
      address_.pop_back();
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  return false;
}

void daemon_process::kill() {
  process_->kill();
}

int daemon_process::stop() {
  process_->signal(SIGTERM);
  return process_->wait(std::chrono::seconds{20});
}

std::vector<std::string> daemon_process::command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> whole{REPRIEVE_BINARIES "/reprieve", "--server", address_};
  whole.insert(whole.end(), arguments.begin(), arguments.end());
  return whole;
}

run_result daemon_process::cli(const std::vector<std::string>& arguments) const {
  return run_program(command(arguments));
}

int daemon_process::pods(const std::string& workload, const std::string& phase) const {
  std::istringstream lines(cli({"get", "pods"}).output);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string node;
    std::string at;
    words >> name >> node >> at;
    count += name.starts_with(workload + "-") && at == phase ? 1 : 0;
  }
  return count;
}

std::int64_t daemon_process::memory() const {
  std::ifstream in("/proc/" + std::to_string(id()) + "/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmRSS:"))
      return std::stoll(line.substr(6)) << 10;
  return 0;
}

std::string daemon_process::output() const {
  return file_contents((data_ / "output").string());
}

std::string demo_manifest(const std::string& name) {
  return REPRIEVE_SOURCE "/deploy/demo-manifests/" + name;
}

} // namespace reprieve
