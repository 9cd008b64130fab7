#pragma once

#include "state/store/etcd/etcd_options.hpp"
#include "state/store/store.hpp"

namespace reprieve {

/// What one member of etcd says of itself.
struct etcd_member {
  std::string version;
  std::int64_t bytes = 0; ///< of its database
  bool has_leader = false;
};

/// The store contract on etcd (3.4 or later), spoken directly. One thread of its own runs all
/// callbacks, however many watches and leases there are.
class etcd_store final : public store {
public:
  /// Does not wait for a connection; a call answers `kUnavailable` when there is none.
  static absl::StatusOr<std::unique_ptr<etcd_store>> open(etcd_options options);

  /// Cancels what is under way, and answers it. Leases are left to expire.
  ~etcd_store() override;

  void read(range_request request, store_callback<range_result> done) override;
  void commit(transaction writes, store_callback<transaction_result> done) override;
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override;
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override;
  void revoke(lease_id lease, store_callback<revision> done) override;
  duration lasts_until(lease_id lease) const override;
  void compact(revision before, store_callback<revision> done) override;

  /// Encrypts with these from now on, while it runs: every new connection is made with them.
  /// Streams that are open go on until they break.
  absl::Status use(etcd_tls tls);

  /// Likewise asks for tokens with this password.
  void use_password(std::string password);

  /// Asks the member that calls go to at present.
  void ask_member(store_callback<etcd_member> done);

private:
  class session;

  explicit etcd_store(std::unique_ptr<session> session);

  std::unique_ptr<session> session_;
};

} // namespace reprieve
