#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace reprieve {

/// Waits for SIGINT or SIGTERM, or until `lost` says that the replica can't go on. Who asks for the
/// end gets it in any case: at once while the replica does not serve yet, and soon if something
/// keeps it from ending by itself, as a store that does not answer or a log that nobody reads. What
/// was acknowledged is in the store, and its leases end.
class ending {
public:
  /// To be made before any thread starts, so that none of them takes the signals.
  ending();
  ~ending();
  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;

  void lost(const std::string& why);

  /// From now on there is something to end.
  void serves();

  /// The exit code.
  int wait();

private:
  void watch();

  int signals_ = -1;
  int ended_ = -1;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> serves_ = false;
  std::thread watch_;
};

} // namespace reprieve
