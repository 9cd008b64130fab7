#pragma once

#include "state/text_map.hpp"

#include <memory>
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
  using map_type = text_map<pointer>;

  explicit record_table(map_type durable = {}) : durable_(std::move(durable)) {}

  const map_type& durable() const {
    return durable_;
  }

  pointer durable(std::string_view name) const {
    const auto found = durable_.find(name);
    return found == durable_.end() ? nullptr : found->second;
  }

  /// The record with all writes under way in it; null where there is none.
  pointer newest(std::string_view name) const {
    const auto found = staged_.find(name);
    return found == staged_.end() ? durable(name) : found->second.back();
  }

  /// Takes a new form of the record in, null to erase it; it is visible once it is settled.
  void stage(const std::string& name, pointer next) {
    staged_[name].push_back(std::move(next));
  }

  /// The oldest write under way to `name` is durable. Returns the record's form.
  pointer settle(const std::string& name) {
    const auto found = staged_.find(name);
    auto next = std::move(found->second.front());
    found->second.erase(found->second.begin());
    if (found->second.empty())
      staged_.erase(found);
    if (next)
      durable_[name] = next;
    else
      durable_.erase(name);
    return next;
  }

private:
  map_type durable_;
  text_map<std::vector<pointer>> staged_; ///< mostly one each
};

} // namespace reprieve
