#include "state/membership/shard_placement.hpp"

#include "state/records/keys.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>

namespace reprieve {

namespace {

/// What moves together.
struct unit {
  std::string name; ///< of its first part, which stands for all
  std::vector<std::string> parts;
  std::int64_t weight = 1;
};

std::string node_shard_of(const group_size& group, std::uint32_t k) {
  return "n/" + shard_name(group.name, k);
}

/// How many of the group's node shards one replica holds.
std::uint32_t shards_at_home(const group_size& group, std::int64_t nodes_per_replica) {
  if (group.nodes <= nodes_per_replica)
    return group.node_shards;
  const auto share = static_cast<std::int64_t>(group.node_shards) * nodes_per_replica / group.nodes;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(share, 1));
}

std::vector<unit> units_of(const group_size& group, std::int64_t nodes_per_replica) {
  const auto at_home = shards_at_home(group, nodes_per_replica);
  const auto nodes_of = [&](std::uint32_t shards) {
    return group.nodes * shards / group.node_shards + 1;
  };
  unit home{coordinator_of(group.name), shards_of(group), nodes_of(at_home)};
  std::vector<unit> units;
  for (auto k = at_home; k < group.node_shards; ++k) {
    std::erase(home.parts, node_shard_of(group, k));
    units.push_back({node_shard_of(group, k), {node_shard_of(group, k)}, nodes_of(1)});
  }
  units.push_back(std::move(home));
  return units;
}

/// FNV-1a, with its bits mixed once more: names that differ in the last letter are far apart.
std::uint64_t rendezvous(std::string_view what, std::string_view replica) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&](std::string_view text) {
    for (const unsigned char byte : text)
      hash = (hash ^ byte) * 1099511628211U;
  };
  add(what);
  add("@");
  add(replica);
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdU;
  hash ^= hash >> 33U;
  return hash;
}

/// Gives units to replicas, none of which gets more than its share.
class placing {
public:
  placing(std::vector<unit> units, const std::set<std::string>& replicas)
      : units_(std::move(units)) {
    for (const auto& replica : replicas)
      loads_[replica] = 0;
    std::int64_t total = 0;
    for (const auto& one : units_) {
      total += one.weight;
      most_ = std::max(most_, one.weight);
    }
    const auto count = std::ssize(replicas);
    share_ = (total + count - 1) / count;
    most_ = std::max(most_, share_ + share_ / 10);
  }

  /// What is about as good as it can be made stays as it is: else it would be moved about whenever
  /// a node comes or goes, and whoever asks for it meanwhile would have to wait.
  shard_owners run(const shard_owners& now) {
    auto moved = place(now);
    const auto after = from_most_to_least(loads_);
    for (auto& [replica, load] : loads_)
      load = 0;
    auto kept = keep(now);
    return is_about_as_good(from_most_to_least(loads_), after) ? std::move(kept) : std::move(moved);
  }

private:
  static std::vector<std::int64_t>
  from_most_to_least(const std::map<std::string, std::int64_t>& loads) {
    std::vector<std::int64_t> amounts;
    for (const auto& [replica, load] : loads)
      amounts.push_back(load);
    std::ranges::sort(amounts, std::greater{});
    return amounts;
  }

  /// Whether no replica, from who has most to who has least, has another load by more than a
  /// quarter of what each should have.
  bool is_about_as_good(const std::vector<std::int64_t>& kept,
                        const std::vector<std::int64_t>& moved) const {
    return kept <= moved || std::ranges::equal(kept, moved, [&](std::int64_t a, std::int64_t b) {
             return std::abs(a - b) <= std::max<std::int64_t>(share_ / 4, 1);
           });
  }

  /// Everything where it is, and what is nowhere where there is most room.
  shard_owners keep(const shard_owners& now) {
    shard_owners owners;
    std::vector<const unit*> homeless;
    for (const auto& one : units_)
      if (const auto at = now.find(one.name); at != now.end() && loads_.contains(at->second))
        give(owners, one, at->second);
      else
        homeless.push_back(&one);
    for (const auto* one : homeless)
      give(owners, *one, nearest(*one));
    return owners;
  }

  shard_owners place(const shard_owners& now) {
    shard_owners owners;
    std::vector<const unit*> homeless;
    // The heaviest first; of those that weigh the same, who is nearest to its replica stays there.
    const auto order = [&](const unit& one) {
      const auto at = now.find(one.name);
      return std::tuple{-one.weight, at == now.end() ? 0 : ~rendezvous(one.name, at->second),
                        std::string_view(one.name)};
    };
    std::ranges::sort(units_, {}, order);
    for (const auto& one : units_) {
      const auto at = now.find(one.name);
      if (at != now.end() && loads_.contains(at->second) && takes(at->second, one))
        give(owners, one, at->second);
      else
        homeless.push_back(&one);
    }
    for (const auto* one : homeless)
      give(owners, *one, nearest(*one));
    return owners;
  }

  bool takes(const std::string& replica, const unit& one) const {
    return loads_.at(replica) + one.weight <= most_;
  }

  void give(shard_owners& owners, const unit& one, const std::string& replica) {
    loads_[replica] += one.weight;
    for (const auto& part : one.parts)
      owners[part] = replica;
  }

  std::string nearest(const unit& one) const {
    const auto rank = [&](const auto& entry) {
      // Where none has room, whoever has the least takes it.
      return std::tuple{!takes(entry.first, one), takes(entry.first, one) ? 0 : entry.second,
                        ~rendezvous(one.name, entry.first)};
    };
    return std::ranges::min_element(loads_, {}, rank)->first;
  }

  std::vector<unit> units_;
  std::map<std::string, std::int64_t> loads_;
  std::int64_t share_ = 1; ///< what each should have
  std::int64_t most_ = 1;
};

} // namespace

std::string coordinator_of(std::string_view group) {
  return "c/" + std::string(group);
}

std::vector<std::string> shards_of(const group_size& group) {
  std::vector<std::string> parts{coordinator_of(group.name)};
  for (std::uint32_t k = 0; k < group.workload_shards; ++k)
    parts.push_back("w/" + shard_name(group.name, k));
  for (std::uint32_t k = 0; k < group.node_shards; ++k)
    parts.push_back(node_shard_of(group, k));
  return parts;
}

shard_owners place_shards(const std::vector<group_size>& groups,
                          const std::set<std::string>& replicas, const shard_owners& now,
                          std::int64_t nodes_per_replica) {
  if (replicas.empty())
    return {};
  std::vector<unit> units;
  for (const auto& group : groups)
    std::ranges::move(units_of(group, nodes_per_replica), std::back_inserter(units));
  return placing{std::move(units), replicas}.run(now);
}

} // namespace reprieve
