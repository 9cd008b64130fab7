#pragma once

#include "state/store/boot_clock.hpp"
#include "state/store/store.hpp"

#include <filesystem>

namespace reprieve {

struct sqlite_store_options {
  std::int64_t most_bytes = 0; ///< limit to the size of the database; 0 for none
  revision history = 100'000;  ///< revisions that watches and reads can go back, at most
  std::function<duration()> clock = boot_time; ///< what leases are counted on
};

/// The embedded store: one directory, one process, nothing to start. Every answered write is on the
/// disk. Leases end with the process, or when it was suspended for longer than they live.
class sqlite_store final : public store {
public:
  /// Refuses a directory that another process has open, and says which process that is.
  static absl::StatusOr<std::unique_ptr<sqlite_store>> open(const std::filesystem::path& directory,
                                                            sqlite_store_options options = {});

  /// Carries out and answers what was asked before.
  ~sqlite_store() override;

  void read(range_request request, store_callback<range_result> done) override;
  void commit(transaction writes, store_callback<transaction_result> done) override;
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override;
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override;
  void revoke(lease_id lease, store_callback<revision> done) override;
  void compact(revision before, store_callback<revision> done) override;

private:
  class worker;

  explicit sqlite_store(std::unique_ptr<worker> worker);

  std::unique_ptr<worker> worker_;
};

} // namespace reprieve
