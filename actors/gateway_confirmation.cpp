#include "actors/gateway_confirmation.hpp"

#include "actors/gateway_routes.hpp"
#include "state/membership_rules.hpp"

#include <memory>

namespace reprieve {

namespace {

using self_pointer = gateway_actor::stateful_pointer<gateway_state>;

/// Longer than it takes to see that a connection is dead.
constexpr std::chrono::seconds patience{4};

/// One confirmation under way: of each shard that was asked, whether it answered.
class confirming : public std::enable_shared_from_this<confirming> {
public:
  confirming(self_pointer self, std::function<void(confirmation)> then)
      : self_(self), then_(std::move(then)), asked_at_(self->clock().now()) {}

  template <class Handle>
  void ask(const std::string& shard, const Handle& whom) {
    if (!asked_.insert(shard).second)
      return;
    ++open_;
    self_->request(whom, patience, confirm_ownership{})
      .then(
        [me = shared_from_this(), shard](const absl::Status& how) {
          if (how.ok())
            me->self_->state.confirmed[shard] = me->asked_at_;
          me->one_less(how);
        },
        [me = shared_from_this()](caf::error& error) { me->one_less(to_status(error)); });
  }

  void is_missing(const std::string& shard, const absl::Status& why) {
    asked_.insert(shard);
    worst_.Update(why);
  }

  void one_less(const absl::Status& how) {
    worst_.Update(how);
    if (--open_ > 0)
      return;
    confirmation found{worst_, duration{0}};
    if (!worst_.ok())
      found.age = self_->clock().now() - oldest();
    then_(std::move(found));
  }

private:
  /// When the one that was confirmed first of all that were asked was.
  caf::actor_clock::time_point oldest() const {
    auto first = asked_at_;
    for (const auto& shard : asked_) {
      const auto found = self_->state.confirmed.find(shard);
      first = std::min(first, found == self_->state.confirmed.end() ? self_->state.started
                                                                    : found->second);
    }
    return first;
  }

  self_pointer self_;
  std::function<void(confirmation)> then_;
  caf::actor_clock::time_point asked_at_;
  std::set<std::string> asked_;
  absl::Status worst_;
  std::size_t open_ = 1;
};

/// Asks the shards of one kind that may own an object of the name, in any resource group.
template <class Shards>
void ask_shards(confirming& all, char kind, const std::string& group, const Shards& shards,
                const std::string& name) {
  const auto count = static_cast<std::uint32_t>(shards.size());
  const auto ask = [&](std::uint32_t k) {
    all.ask(fmt::format("{}/{}", kind, shard_name(group, k)), shards[k]);
  };
  if (!name.empty())
    ask(shard_number(name, count));
  else
    for (std::uint32_t k = 0; k < count; ++k)
      ask(k);
}

} // namespace

void confirm(self_pointer self, const std::vector<asked_object>& about,
             std::function<void(confirmation)> then) {
  auto& state = self->state;
  if (state.serving->alone) {
    then({});
    return;
  }
  auto all = std::make_shared<confirming>(self, std::move(then));
  for (const auto& [kind, name] : about) {
    if (in_catalog(kind)) {
      all->ask(std::string(queue_tree_shard), state.serving->queues);
      continue;
    }
    const bool is_node = kind == object_kind::node || kind == object_kind::pod;
    for (const auto& [group, settings] : state.known->groups) {
      const auto* there = group_named(state, group);
      if (there == nullptr)
        all->is_missing(group, not_serving(group));
      else if (is_node) // pods stand on any node
        ask_shards(*all, 'n', group, there->shards.nodes, kind == object_kind::pod ? "" : name);
      else
        ask_shards(*all, 'w', group, there->shards.workloads, name);
    }
  }
  all->one_less(absl::OkStatus());
}

} // namespace reprieve
