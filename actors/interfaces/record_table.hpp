#pragma once

#include "state/containers/name_map.hpp"

#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// A shard's records: as they are durable, and as they will be once the writes under way are. A
/// command changes the newest form; readers see the durable one. Records are immutable, so that a
/// slice of them can be handed over without a copy.
template <class Record>
class record_table {
public:
  using pointer = std::shared_ptr<const Record>;
  using map_type = name_map<pointer>;

  explicit record_table(map_type durable = {}) {
    entries_.reserve(durable.size());
    for (auto& [name, record] : durable)
      entries_[name].durable = std::move(record);
  }

  /// All durable records with their names, in no order.
  auto durable() const {
    const auto is_there = [](const auto& one) { return one.second.durable != nullptr; };
    const auto as_pair = [](const auto& one) {
      return std::pair<const std::string&, const pointer&>{one.first, one.second.durable};
    };
    return entries_ | std::views::filter(is_there) | std::views::transform(as_pair);
  }

  pointer durable(std::string_view name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : found->second.durable;
  }

  /// The record with all writes under way in it; null where there is none.
  pointer newest(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
      return nullptr;
    const auto& [durable, staged] = found->second;
    return staged.empty() ? durable : staged.back();
  }

  /// The names of all that are there, or under way, in no order.
  auto names() const {
    return entries_ | std::views::keys;
  }

  /// The name of one that is there, or under way; empty where there is none.
  std::string any() const {
    return entries_.empty() ? std::string{} : entries_.begin()->first;
  }

  /// Takes a new form of the record in, null to erase it; it is visible once it is settled.
  void stage(const std::string& name, pointer next) {
    entries_[name].staged.push_back(std::move(next));
  }

  /// The oldest write under way to `name` is durable. Returns the record's form.
  pointer settle(const std::string& name) {
    const auto found = entries_.find(name);
    auto& [durable, staged] = found->second;
    durable = std::move(staged.front());
    staged.erase(staged.begin());
    auto settled = durable;
    if (!durable && staged.empty())
      entries_.erase(found);
    return settled;
  }

  /// The oldest write under way to `name` will not be made: the record stays as it was.
  void drop(const std::string& name) {
    const auto found = entries_.find(name);
    auto& [durable, staged] = found->second;
    staged.erase(staged.begin());
    if (!durable && staged.empty())
      entries_.erase(found);
  }

private:
  struct entry {
    pointer durable;             ///< null where there is none yet, or none any more
    std::vector<pointer> staged; ///< mostly one
  };

  name_map<entry> entries_;
};

} // namespace reprieve
