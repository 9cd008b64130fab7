#include "tests/engine/worlds/sharded_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace reprieve::tests {

namespace {

/// Tells a shard what its whole replicas have on nodes that are not its own.
void put_cards(cluster_view& own, const cluster_view& merged, const std::vector<pod>& pods) {
  for (const auto& p : pods)
    if (const auto id = portion_of(p); id.whole_replica() && own.find_portion(id) != no_row)
      own.put_elsewhere(id, merged.part_of(merged.find_portion(id), [&](node_row n) {
        return own.find_node(merged.node_name(n)) == no_row;
      }));
}

} // namespace

sharded_cluster::sharded_cluster(const cluster& in, const cluster_view& merged, std::size_t shards,
                                 std::mt19937_64& random, cards known)
    : views_(shards) {
  std::map<std::string, std::size_t> owners;
  for (const auto& n : in.all_nodes()) {
    owners[n.name] = random() % shards;
    views_[owners[n.name]].put_node(n);
  }
  for (const auto& p : in.all_pods())
    views_[owners.at(p.node)].put_pod(p);
  for (auto& own : views_) {
    if (known == cards::with)
      put_cards(own, merged, in.all_pods());
    own.settle();
  }
}

std::vector<shard_evaluation> sharded_cluster::evaluated(const evaluation_request& asked,
                                                         std::mt19937_64& random) const {
  std::vector<shard_evaluation> answers;
  for (const auto& own : views_)
    answers.push_back(evaluate(own, asked));
  std::ranges::shuffle(answers, random);
  return answers;
}

cluster full_of_groups(int nodes, std::mt19937_64& random) {
  cluster full;
  std::vector<std::string> places;
  for (int i = 0; i < nodes; ++i) {
    const auto name = fmt::format("n{:04}", i);
    full.node(name, gpu(8));
    places.insert(places.end(), 8, name);
  }
  std::ranges::shuffle(places, random);
  for (std::size_t g = 0; g < places.size() / 8; ++g)
    full.group(fmt::format("w{:04}", g), {places.begin() + 8 * g, places.begin() + 8 * g + 8},
               prio{1 + static_cast<std::int32_t>(random() % 6)}, gpu(1),
               started{static_cast<std::int64_t>(random() % 3000)});
  return full;
}

} // namespace reprieve::tests
