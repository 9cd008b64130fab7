#include "actors/gateway/gateway_confirmation.hpp"

#include "actors/durability/store_reading.hpp"
#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/replica/shard_loader.hpp"
#include "state/membership/membership_rules.hpp"

#include <algorithm>
#include <memory>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Longer than it takes to see that a connection is dead.
constexpr std::chrono::milliseconds patience{4000};
/// Long enough for one that is there, where the store knows as well.
constexpr std::chrono::milliseconds short_patience{300};

/// One confirmation under way: of each shard that was asked, whether it answered.
class confirming : public std::enable_shared_from_this<confirming> {
public:
  confirming(self_pointer self, std::function<void(confirmation)> then)
      : self_(self), then_(std::move(then)), asked_at_(self->clock().now()) {}

  template <class Handle>
  void ask(const std::string& shard, const Handle& whom) {
    if (asked_.insert(shard).second)
      ask_for(shard, whom, patience,
              [me = shared_from_this()](const absl::Status& why) { me->one_less(why); });
  }

  /// Likewise, but who does not answer soon is done without: `otherwise` has to see to it that
  /// `one_less` is called.
  template <class Handle, class F>
  void ask_or(const std::string& shard, const Handle& whom, F otherwise) {
    if (asked_.insert(shard).second)
      ask_for(shard, whom, short_patience,
              [otherwise](const absl::Status&) mutable { otherwise(); });
  }

  /// Something else is waited for.
  void one_more() {
    ++open_;
  }

  void use(std::shared_ptr<const catalog> known, revision at) {
    known_ = std::move(known);
    known_at_ = at;
  }

  self_pointer self() const {
    return self_;
  }

  /// Whether nobody was asked by that name before.
  bool is_new(const std::string& asked) {
    return asked_.insert(asked).second;
  }

  void is_missing(const std::string& shard, const absl::Status& why) {
    asked_.insert(shard);
    worst_.Update(why);
  }

  /// `ask_more` is called when all have answered: what they told may show that others have to be
  /// asked as well. It ends when that is not so any more.
  void continue_with(std::function<void()> ask_more) {
    ask_more_ = std::move(ask_more);
  }

  void one_less(const absl::Status& how) {
    worst_.Update(how);
    if (--open_ > 0)
      return;
    if (ask_more_ && worst_.ok())
      ask_more_();
    if (open_ > 0)
      return;
    confirmation found{worst_, duration{0}, known_ ? known_ : self_->state.known,
                       known_ ? known_at_ : self_->state.known_at};
    if (!worst_.ok())
      found.age = self_->clock().now() - oldest();
    then_(std::move(found));
  }

private:
  template <class Handle, class F>
  void ask_for(const std::string& shard, const Handle& whom, std::chrono::milliseconds time,
               F failed) {
    one_more();
    self_->request(whom, time, confirm_ownership{})
      .then(
        [me = shared_from_this(), shard, failed](const absl::Status& how) mutable {
          if (!how.ok()) {
            failed(how);
            return;
          }
          me->self_->state.confirmed[shard] = me->asked_at_;
          me->one_less(how);
        },
        [failed](caf::error& error) mutable { failed(to_status(error)); });
  }

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
  std::function<void()> ask_more_;
  std::shared_ptr<const catalog> known_; ///< from the store; null where the gateway's will do
  revision known_at_ = 0;                ///< likewise
  absl::Status worst_;
  std::size_t open_ = 1;
};

/// Asks the shards of one kind that may own an object of the name in the resource group.
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

/// Where the store has the record of such an object.
std::string key_of(object_kind kind, const std::string& shard, const std::string& name) {
  switch (kind) {
  case object_kind::node:
    return keys::node(shard, name);
  case object_kind::disruption_budget:
    return keys::budget(shard, name);
  case object_kind::placement:
    return keys::placement(shard, name);
  default:
    return keys::workload(shard, name);
  }
}

/// Sees to it that the store has no object of the kind with one of these names, in order, in a
/// shard of another resource group than theirs.
void read_names(const std::shared_ptr<confirming>& all, object_kind kind, const std::string& shard,
                const std::vector<std::string>& names) {
  const key_range range{key_of(kind, shard, names.front()),
                        key_of(kind, shard, names.back()) + '\0'};
  all->self()
    ->request(all->self()->state.serving->store, patience, range_request{range, 0, 0, true})
    .then(
      [all, kind, shard, names](range_answer& answer) {
        if (!answer.ok()) {
          all->one_less(answer.status());
          return;
        }
        const auto taken = std::ranges::find_if(answer->values, [&](const key_value& one) {
          return std::binary_search(names.begin(), names.end(), keys::last_part(one.key));
        });
        all->one_less(taken == answer->values.end()
                        ? absl::OkStatus()
                        : absl::UnavailableError(fmt::format(
                          "{} {} is in shard {}, whose owner does not answer", to_string(kind),
                          std::string(keys::last_part(taken->key)), shard)));
      },
      [all](caf::error& error) { all->one_less(to_status(error)); });
}

/// Asks those who may own the objects in the resource group.
void ask_group(confirming& all, const std::string& group, const asked_object& about) {
  const auto* there = group_named(all.self()->state, group);
  if (there == nullptr)
    all.is_missing(group, not_serving(group));
  else if (about.kind == object_kind::pod) // stands on any node
    ask_shards(all, 'n', group, there->shards.nodes, "");
  else if (about.kind == object_kind::node)
    ask_shards(all, 'n', group, there->shards.nodes, about.name);
  else
    ask_shards(all, 'w', group, there->shards.workloads, about.name);
}

/// Likewise where the object may be in another resource group as well: of one that is not served
/// yet, the store tells whether it has the name.
void ask_another_group(confirming& all, const std::string& group, const asked_object& about) {
  const auto& state = all.self()->state;
  const bool has_record = about.kind != object_kind::pod && !about.name.empty();
  if (group_named(state, group) != nullptr || !has_record) {
    ask_group(all, group, about);
    return;
  }
  const bool is_node = about.kind == object_kind::node;
  const auto shard =
    shard_name(group, shard_number(about.name, is_node ? state.serving->schema.node_shards
                                                       : state.serving->schema.workload_shards));
  if (!all.is_new(key_of(about.kind, shard, about.name)))
    return;
  all.one_more();
  read_names(all.shared_from_this(), about.kind, shard, {about.name});
}

/// Asks those who may own the objects, and have not been asked yet. A name is in one resource group
/// only; where nobody is known to have it, and of all of a kind, those of all groups are asked, and
/// who knows which groups there are.
void ask_owners(confirming& all, const std::vector<asked_object>& about) {
  const auto& state = all.self()->state;
  for (const auto& one : about) {
    const auto home = one.name.empty() ? std::nullopt : home_of(state, one.kind, one.name);
    const auto& only = home ? *home : one.resource_group;
    if (!in_catalog(one.kind) && state.known->groups.contains(only)) {
      ask_group(all, only, one);
      continue;
    }
    all.ask(std::string(queue_tree_shard), state.serving->queues);
    if (in_catalog(one.kind) || !only.empty())
      continue;
    for (const auto& [group, settings] : state.known->groups)
      ask_another_group(all, group, one);
  }
}

/// Asks the workload shards of one resource group about the names that they may have.
void ask_about_names(const std::shared_ptr<confirming>& all, const std::string& group,
                     const std::vector<asked_workload>& about) {
  const auto& state = all->self()->state;
  const auto count = state.serving->schema.workload_shards;
  struct names_there {
    std::vector<std::string> names;
    bool own = false; ///< one of them is or will be there
  };
  std::map<std::uint32_t, names_there> shards;
  for (const auto& one : about) {
    auto& there = shards[shard_number(one.name, count)];
    there.names.push_back(one.name);
    there.own = there.own || one.resource_group == group;
  }
  const auto* serving = group_named(state, group);
  for (auto& [k, there] : shards) {
    std::ranges::sort(there.names);
    const auto shard = shard_name(group, k);
    const auto key = "w/" + shard;
    const auto look = [all, shard, names = there.names] {
      read_names(all, object_kind::workload, shard, names);
    };
    if (serving != nullptr && there.own) {
      all->ask(key, serving->shards.workloads[k]);
    } else if (serving != nullptr) {
      all->ask_or(key, serving->shards.workloads[k], look);
    } else if (there.own) {
      all->is_missing(key, not_serving(group));
    } else {
      all->one_more();
      look();
    }
  }
}

/// Goes by the catalog that the store has.
void read_catalog(const std::shared_ptr<confirming>& all,
                  const std::vector<asked_workload>& about) {
  const auto prefix = std::string(queue_tree_shard) + "/";
  read_all(all->self(), all->self()->state.serving->store, {prefix},
           [all, about](absl::StatusOr<key_values> found) {
             if (found.ok()) {
               auto known = std::make_shared<const catalog>(catalog_in(*found));
               for (const auto& [group, settings] : known->groups)
                 if (!all->self()->state.known->groups.contains(group))
                   ask_about_names(all, group, about);
               revision newest = 0;
               for (const auto& one : *found)
                 newest = std::max(newest, one.modified);
               all->use(std::move(known), newest);
             }
             all->one_less(found.status());
           });
}

/// Whether nobody else is there who could have changed anything, and all have told what they have.
bool knows_all(const gateway_state& state) {
  return state.serving->alone && state.unheard.empty() && state.ending == 0
         && std::ranges::all_of(state.known->groups, [&](const auto& one) {
              return group_named(state, one.first) != nullptr;
            });
}

/// How often all are asked again.
constexpr int most_rounds = 5;

/// Calls `ask` with what to call then, and again where a shard has told of a part of a bundle
/// meanwhile: others that were asked before may have told nothing of theirs yet.
void ask_in_rounds(self_pointer self, std::function<void(std::function<void(confirmation)>)> ask,
                   std::function<void(confirmation)> then, int rounds = most_rounds) {
  const auto before = self->state.told_of_bundles;
  const auto answered = [self, ask, then = std::move(then), rounds, before](confirmation found) {
    if (found.how.ok() && rounds > 1 && self->state.told_of_bundles != before)
      ask_in_rounds(self, ask, then, rounds - 1);
    else
      then(std::move(found));
  };
  ask(answered);
}

/// Nothing where nobody has to be asked; then `then` has been called.
std::shared_ptr<confirming> begin_to_confirm(self_pointer self,
                                             std::function<void(confirmation)> then) {
  if (!knows_all(self->state))
    return std::make_shared<confirming>(self, std::move(then));
  then({absl::OkStatus(), duration{0}, self->state.known});
  return nullptr;
}

void confirm_once(self_pointer self, const std::vector<asked_object>& about,
                  std::function<void(confirmation)> then) {
  const auto all = begin_to_confirm(self, std::move(then));
  if (!all)
    return;
  all->continue_with([&asked = *all, about] { ask_owners(asked, about); });
  all->one_less(absl::OkStatus());
}

void confirm_workloads_once(self_pointer self, const std::vector<asked_workload>& about,
                            std::function<void(confirmation)> then) {
  const auto all = begin_to_confirm(self, std::move(then));
  if (!all)
    return;
  auto& state = self->state;
  all->ask_or(std::string(queue_tree_shard), state.serving->queues,
              [all, about] { read_catalog(all, about); });
  for (const auto& [group, settings] : state.known->groups)
    ask_about_names(all, group, about);
  all->one_less(absl::OkStatus());
}

} // namespace

void confirm(self_pointer self, const std::vector<asked_object>& about,
             std::function<void(confirmation)> then) {
  ask_in_rounds(
    self, [self, about](auto answered) { confirm_once(self, about, std::move(answered)); },
    std::move(then));
}

void confirm_workloads(self_pointer self, const std::vector<asked_workload>& about,
                       std::function<void(confirmation)> then) {
  ask_in_rounds(
    self,
    [self, about](auto answered) { confirm_workloads_once(self, about, std::move(answered)); },
    std::move(then));
}

} // namespace reprieve
