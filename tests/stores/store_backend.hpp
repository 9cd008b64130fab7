#pragma once

#include "state/store/store.hpp"
#include "tests/support/etcd_process.hpp"

#include <ostream>

namespace reprieve {

/// One kind of store, and what the contract's tests need to do to it from outside.
class store_backend {
public:
  virtual ~store_backend() = default;

  virtual store& get() = 0;

  /// The shortest time to live that this store grants.
  virtual duration shortest_lease() const = 0;

  /// Lets so much time pass as leases are counted.
  virtual void pass(duration time) = 0;

  /// Lets `lease` end though its holder is there.
  virtual void lose(lease_id lease) = 0;

  /// Lets the holder of `lease` be gone for longer than the lease lives.
  virtual void outlive_holder(lease_id lease) = 0;

  /// Why this kind of store can't compact; empty where it can.
  virtual std::string cannot_compact() const {
    return {};
  }

  /// One with the same keys that can.
  virtual store& compactor() {
    return get();
  }
};

struct backend_kind {
  std::string name;
  std::unique_ptr<store_backend> (*make)();
  bool (*available)();

  friend std::ostream& operator<<(std::ostream& out, const backend_kind& kind) {
    return out << kind.name;
  }
};

/// memory, sqlite, etcd, and where it is built etcd_cpp.
const std::vector<backend_kind>& backend_kinds();

/// The etcd that the tests of this program share; each uses a prefix of its own.
etcd_process& shared_etcd();

std::string fresh_prefix();

} // namespace reprieve
