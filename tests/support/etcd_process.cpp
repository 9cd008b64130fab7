#include "tests/support/etcd_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace reprieve {

namespace {

std::string find_etcd() {
  const char* path = std::getenv("PATH");
  for (std::string rest = path ? path : ""; !rest.empty();) {
    const auto end = rest.find(':');
    const auto candidate = rest.substr(0, end) + "/etcd";
    if (::access(candidate.c_str(), X_OK) == 0)
      return candidate;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return {};
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

bool etcd_process::available() {
  return !find_etcd().empty();
}

etcd_process::etcd_process(std::vector<std::string> arguments, std::string url_scheme)
    : arguments_(std::move(arguments)), scheme_(std::move(url_scheme)), endpoint_(free_endpoint()),
      peer_endpoint_(free_endpoint()) {
  start();
}

etcd_process::~etcd_process() {
  kill();
}

std::vector<std::string> etcd_process::command() const {
  const auto clients = scheme_ + "://" + endpoint_;
  const auto peers = "http://" + peer_endpoint_;
  std::vector<std::string> command = {find_etcd(),
                                      "--name=only",
                                      "--data-dir=" + (directory_.path() / "data").string(),
                                      "--listen-client-urls=" + clients,
                                      "--advertise-client-urls=" + clients,
                                      "--listen-peer-urls=" + peers,
                                      "--initial-advertise-peer-urls=" + peers,
                                      "--initial-cluster=only=" + peers,
                                      "--logger=zap",
                                      "--log-outputs=stderr"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  return command;
}

void etcd_process::start() {
  const auto log = (directory_.path() / "log").string();
  auto words = command();
  std::vector<char*> pointers;
  for (auto& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // For an arm64 machine; this program may be of another architecture, in an emulator.
  ::setenv("ETCD_UNSUPPORTED_ARCH", "arm64", 1);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) { // only calls that are safe after a fork with threads
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    if (::getppid() == parent)
      ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  for (int i = 0; i < 400; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (contents(log).find("serving client traffic") != std::string::npos)
      return;
    if (::waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = 0;
      break;
    }
  }
  throw std::runtime_error("etcd does not start: " + contents(log));
}

void etcd_process::start_on(std::string endpoint) {
  endpoint_ = std::move(endpoint);
  start();
}

void etcd_process::kill() {
  if (process_ == 0)
    return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = 0;
}

void etcd_process::pause() {
  ::kill(process_, SIGSTOP);
  int status = 0; // its threads go on for a moment
  if (::waitpid(process_, &status, WUNTRACED) == process_ && !WIFSTOPPED(status))
    process_ = 0;
}

void etcd_process::resume() {
  ::kill(process_, SIGCONT);
}

} // namespace reprieve
