#pragma once

#include "actors/caf.hpp"
#include "state/records/node_record.hpp"
#include "state/records/set_aside.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// Changes of a shard's durable node records, numbered without gaps.
struct node_delta {
  std::string shard;
  std::uint64_t number = 0;
  std::vector<std::shared_ptr<const node_record>> changed;
  std::vector<std::string> removed;
  bool everything = false; ///< what a follower gets first
  bool of_bundle = false;  ///< other shards have parts of the same change
  /// With everything: nodes whose records can't be read, and which stand among those changed with
  /// what can be told of them. One that changes or goes can be read.
  std::vector<set_aside> aside{};
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::node_delta)

namespace reprieve {

using node_follower_actor = typed_actor<handles<void(node_delta)>>;

/// Send everything now and every change from then on.
struct follow_nodes {
  node_follower_actor follower;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::follow_nodes)

namespace reprieve {

/// A node shard as those see it who follow it.
using node_feed_actor = typed_actor<handles<void(follow_nodes)>>;

} // namespace reprieve
