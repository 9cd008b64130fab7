#pragma once

#include "state/store/store.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace reprieve {

/// Small transactions put together into one, which holds when each of them does: they have no key
/// in common but for those that they only compare, and with the same number. Where it does not
/// hold nothing is written, and each can still be tried by itself.
class joint_transaction {
public:
  /// Whether a transaction may be part of one at all: it is small, and touches single keys that no
  /// lease takes away.
  static bool takes(const transaction& writes);

  /// Whether it is small enough to go along, whatever it is about.
  bool has_room_for(const transaction& writes) const;

  /// False where the transaction has to wait for the next.
  bool add(const transaction& writes);

  bool is_empty() const {
    return whole_.operations.empty();
  }

  const transaction& whole() const {
    return whole_;
  }

private:
  bool fits(const transaction& writes) const;

  transaction whole_;
  std::size_t bytes_ = 0;
  std::set<std::string, std::less<>> written_;
  std::map<std::string, comparison, std::less<>> compared_;
};

} // namespace reprieve
