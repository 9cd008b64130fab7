#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace reprieve::replicas {

/// A way from one process to another that can be cut: passes bytes on between whoever connects here
/// and the target. While it is cut nothing passes, and nobody is told: connections stay open, and
/// what is sent waits, as when a cable is pulled.
class cut_wire {
public:
  explicit cut_wire(std::string target);
  ~cut_wire();
  cut_wire(const cut_wire&) = delete;
  cut_wire& operator=(const cut_wire&) = delete;

  /// Where to connect.
  const std::string& endpoint() const {
    return endpoint_;
  }

  void cut() {
    cut_ = true;
  }
  void heal() {
    cut_ = false;
  }

private:
  void run();

  std::string target_;
  std::string endpoint_;
  int listener_ = -1;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

} // namespace reprieve::replicas
