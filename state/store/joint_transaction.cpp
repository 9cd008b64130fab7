#include "state/store/joint_transaction.hpp"

#include <algorithm>
#include <variant>

namespace reprieve {

namespace {

/// Larger ones have little to gain, and would keep others waiting.
constexpr std::size_t most_operations = 32;
constexpr std::size_t most_bytes = store_limits::bytes / 16;

/// The one key that is written; every operation of those that are taken has one.
const std::string& key_of(const operation& one) {
  const auto* written = std::get_if<put>(&one);
  return written != nullptr ? written->key : std::get<erase>(one).range.begin;
}

std::size_t bytes_of(const transaction& writes) {
  std::size_t bytes = 0;
  for (const auto& one : writes.comparisons)
    bytes += one.key.size();
  for (const auto& one : writes.operations) {
    const auto* written = std::get_if<put>(&one);
    bytes += key_of(one).size() + (written != nullptr ? written->value.size() : 0);
  }
  return bytes;
}

bool alike(const comparison& a, const comparison& b) {
  return a.field == b.field && a.to == b.to;
}

bool touches_one_key(const operation& one) {
  if (const auto* written = std::get_if<put>(&one))
    return written->lease == 0;
  return std::get<erase>(one).range.end.empty();
}

} // namespace

bool joint_transaction::takes(const transaction& writes) {
  return !writes.operations.empty() && writes.operations.size() <= most_operations
         && writes.comparisons.size() <= most_operations
         && std::ranges::all_of(writes.operations, touches_one_key)
         && bytes_of(writes) <= most_bytes;
}

bool joint_transaction::has_room_for(const transaction& writes) const {
  return whole_.operations.size() + writes.operations.size() <= store_limits::operations
         && whole_.comparisons.size() + writes.comparisons.size() <= store_limits::comparisons
         && bytes_ + bytes_of(writes) <= store_limits::bytes * 3 / 4;
}

bool joint_transaction::fits(const transaction& writes) const {
  if (!has_room_for(writes))
    return false;
  return std::ranges::none_of(writes.operations,
                              [&](const operation& one) {
                                return written_.contains(key_of(one))
                                       || compared_.contains(key_of(one));
                              })
         && std::ranges::none_of(writes.comparisons, [&](const comparison& one) {
              const auto same = compared_.find(one.key);
              return written_.contains(one.key)
                     || (same != compared_.end() && !alike(same->second, one));
            });
}

bool joint_transaction::add(const transaction& writes) {
  if (!fits(writes))
    return false;
  bytes_ += bytes_of(writes);
  for (const auto& one : writes.comparisons) {
    const auto [same, fresh] = compared_.emplace(one.key, one);
    if (fresh || !alike(same->second, one))
      whole_.comparisons.push_back(one);
  }
  for (const auto& one : writes.operations) {
    written_.insert(key_of(one));
    whole_.operations.push_back(one);
  }
  return true;
}

} // namespace reprieve
