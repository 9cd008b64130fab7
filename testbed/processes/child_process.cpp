#include "testbed/processes/child_process.hpp"

#include "testbed/processes/temporary_directory.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

namespace reprieve {

child_process::child_process(std::vector<std::string> command, const std::string& output) {
  std::vector<char*> words;
  for (auto& word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) { // only calls that are safe after a fork with threads
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int in = ::open("/dev/null", O_RDONLY);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::getppid() == parent)
      ::execv(words[0], words.data());
    ::_exit(127);
  }
}

child_process::~child_process() {
  kill();
}

void child_process::signal(int number) {
  if (running())
    ::kill(process_, number);
}

void child_process::freeze() {
  signal(SIGSTOP);
  if (process_ > 0 && ::waitpid(process_, &status_, WUNTRACED) == process_ && !WIFSTOPPED(status_))
    process_ = 0;
}

void child_process::kill() {
  if (!running())
    return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, &status_, 0);
  process_ = 0;
}

bool child_process::running() {
  if (process_ > 0 && ::waitpid(process_, &status_, WNOHANG) == process_)
    process_ = 0;
  return process_ > 0;
}

int child_process::wait(std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (running()) {
    if (std::chrono::steady_clock::now() > end) {
      kill();
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

run_result run_program(const std::vector<std::string>& command, std::chrono::milliseconds most) {
  const temporary_directory directory;
  const auto output = (directory.path() / "output").string();
  child_process program(command, output);
  const int code = program.wait(most);
  return {code, file_contents(output)};
}

std::string file_contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace reprieve
