#pragma once

#include <absl/container/btree_map.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace reprieve {

/// Objects by name, as the shards of all resource groups tell of them; records are held by pointer.
///
/// A name is in one group at a time, but two shards are heard independently of each other: of what
/// has gone in one group and come in another, the coming may be heard before the going. So what was
/// told last counts, and what another group has said of the name stays behind it until that group
/// takes it back.
template <class T>
class followed_objects {
public:
  using map_type = absl::btree_map<std::string, T, std::less<>>;

  auto begin() const {
    return counting_.begin();
  }
  auto end() const {
    return counting_.end();
  }
  auto find(std::string_view name) const {
    return counting_.find(name);
  }
  auto upper_bound(std::string_view name) const {
    return counting_.upper_bound(name);
  }
  bool contains(std::string_view name) const {
    return counting_.contains(name);
  }

  /// Calls `changed` with what counted of the name before, and with what does now.
  template <class F>
  void put(T next, const F& changed) {
    const auto [found, is_new] = counting_.try_emplace(name_of(next));
    if (is_new) {
      found->second = std::move(next);
      changed(static_cast<const T*>(nullptr), &found->second);
      return;
    }
    if (group_of(found->second) != group_of(next)) {
      auto& others = behind_[found->first];
      std::erase_if(others, [&](const T& one) { return group_of(one) == group_of(next); });
      others.push_back(found->second);
    }
    const auto before = std::exchange(found->second, std::move(next));
    changed(&before, &found->second);
  }

  /// Likewise; `in_shard` tells by group and name what the shard that takes it back could have.
  template <class In, class F>
  void remove(const std::string& name, const In& in_shard, const F& changed) {
    const auto found = counting_.find(name);
    if (found == counting_.end())
      return;
    const auto others = behind_.find(name);
    if (!in_shard(group_of(found->second), name)) {
      if (others != behind_.end())
        std::erase_if(others->second, [&](const T& one) { return in_shard(group_of(one), name); });
    } else if (others == behind_.end()) {
      const auto before = std::move(found->second);
      counting_.erase(found);
      changed(&before, static_cast<const T*>(nullptr));
      return;
    } else {
      const auto before = std::exchange(found->second, std::move(others->second.back()));
      others->second.pop_back();
      changed(&before, &found->second);
    }
    if (others != behind_.end() && others->second.empty())
      behind_.erase(others);
  }

  /// The names of what the shard had, and does not have when it tells everything.
  template <class In>
  std::vector<std::string> missing_in(const std::vector<T>& everything, const In& in_shard) const {
    std::unordered_set<std::string_view> there(everything.size());
    for (const auto& one : everything)
      there.insert(name_of(one));
    std::vector<std::string> missing;
    for (const auto& [name, one] : counting_)
      if (!there.contains(name) && in_shard(group_of(one), name))
        missing.push_back(name);
    for (const auto& [name, others] : behind_)
      if (!there.contains(name)) // where none of them was the shard's, nothing is removed
        missing.push_back(name);
    return missing;
  }

private:
  template <class Record>
  static const auto& spec_of(const std::shared_ptr<const Record>& record) {
    return *record->spec;
  }
  template <class Object>
  static const Object& spec_of(const Object& object) {
    return object;
  }

  static const std::string& name_of(const T& one) {
    return spec_of(one).name;
  }

  static const std::string& group_of(const T& one) {
    if constexpr (requires { spec_of(one).resource_group; })
      return spec_of(one).resource_group;
    else
      return spec_of(one).cluster;
  }

  map_type counting_;
  std::map<std::string, std::vector<T>, std::less<>> behind_; ///< mostly nothing
};

} // namespace reprieve
