#pragma once

#include "state/store/store.hpp"

#include <memory>
#include <utility>

namespace reprieve {

/// A store that passes everything on to the one behind it, for those to derive from who want
/// something of it to be different.
class forwarding_store : public store {
public:
  explicit forwarding_store(std::shared_ptr<store> behind) : behind_(std::move(behind)) {}

  void read(range_request request, store_callback<range_result> done) override {
    behind_->read(std::move(request), std::move(done));
  }
  void commit(transaction writes, store_callback<transaction_result> done) override {
    behind_->commit(std::move(writes), std::move(done));
  }
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override {
    return behind_->watch(std::move(range), from, std::move(each));
  }
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override {
    behind_->grant(time_to_live, std::move(done), std::move(lost));
  }
  void revoke(lease_id lease, store_callback<revision> done) override {
    behind_->revoke(lease, std::move(done));
  }
  duration lasts_until(lease_id lease) const override {
    return behind_->lasts_until(lease);
  }
  void compact(revision before, store_callback<revision> done) override {
    behind_->compact(before, std::move(done));
  }

protected:
  store& behind() {
    return *behind_;
  }

private:
  std::shared_ptr<store> behind_;
};

} // namespace reprieve
