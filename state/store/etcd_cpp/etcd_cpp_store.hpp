#pragma once

#include "state/store/etcd/etcd_options.hpp"
#include "state/store/store.hpp"

namespace reprieve {

/// The store contract on etcd (3.4 or later) through the library etcd-cpp-apiv3. One thread of its
/// own runs all callbacks; the library's calls block a small number of others, and each watch has
/// one that the library brings.
///
/// Two things can't be done through the library, and are refused with `kUnimplemented`:
///  - compaction, for which it has no call; etcd does it by itself, if it is told to;
///  - certificates together with a user, for which it has no constructor.
/// It does not let us say that a member without a leader shall refuse: a watch there is silent
/// until the member has one again.
class etcd_cpp_store final : public store {
public:
  /// Does not wait for a connection; a call answers `kUnavailable` when there is none.
  static absl::StatusOr<std::unique_ptr<etcd_cpp_store>> open(etcd_options options);

  /// Answers what is under way, and waits until the library has given it up: up to two seconds
  /// longer than a call may take. Leases are left to expire.
  ~etcd_cpp_store() override;

  void read(range_request request, store_callback<range_result> done) override;
  void commit(transaction writes, store_callback<transaction_result> done) override;
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override;
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override;
  void revoke(lease_id lease, store_callback<revision> done) override;
  duration lasts_until(lease_id lease) const override;

  /// Always `kUnimplemented`.
  void compact(revision before, store_callback<revision> done) override;

  /// Encrypts with these from now on, while it runs: every new connection is made with them.
  /// Streams that are open go on until they break.
  absl::Status use(etcd_tls tls);

  /// Likewise asks for tokens with this password.
  void use_password(std::string password);

private:
  class session;

  explicit etcd_cpp_store(std::unique_ptr<session> session);

  std::unique_ptr<session> session_;
};

} // namespace reprieve
