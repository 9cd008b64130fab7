#include "actors/node_shard/node_specs.hpp"

#include "actors/node_shard/lost_nodes.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// A node of that name was deleted by force, and what was left on it goes first.
void tell_that_it_is_cleaned(self_pointer self, const std::string& node, std::size_t left) {
  self->send(self->state.events,
             event{0,
                   self->state.clock.now(self),
                   "Node",
                   node,
                   "Stopping",
                   fmt::format("{} that {} given up with an earlier node of that name {} stopped "
                               "before anything comes",
                               left == 1 ? "a pod" : fmt::format("{} pods", left),
                               left == 1 ? "was" : "were", left == 1 ? "is" : "are"),
                   {},
                   {}});
}

} // namespace

void put_all(self_pointer self, const put_nodes& wanted, status_answer answer,
             std::string lent_for) {
  auto& state = self->state;
  if (is_closed(self) && !wanted.nodes.empty()) {
    answer(used_goes({object_kind::node, wanted.nodes.front().name},
                     {object_kind::resource_group, group_of_shard(state.shard)}));
    return;
  }
  for (const auto& spec : wanted.nodes)
    if (const auto* aside = state.aside.find(object_kind::node, spec.name)) {
      refuse(self, cannot_be_made(*aside), std::move(answer));
      return;
    }
  for (std::size_t i = 0; i < wanted.nodes.size(); ++i) {
    const auto known = state.records.newest(wanted.nodes[i].name);
    if (!is_as_told(wanted.told, i, known ? &*known->spec : nullptr, wanted.nodes[i])) {
      refuse(self, came_in_between(), std::move(answer));
      return;
    }
  }
  record_changes changes;
  std::vector<ledger_entry> beside;
  by_name<left_pods> back;
  for (const auto& spec : wanted.nodes) {
    auto next = edit(state, spec.name);
    if (next && *next->spec == spec)
      continue;
    if (!next)
      next = std::make_shared<node_record>();
    const auto name = spec.name;
    next->spec = spec;
    if (const auto left = state.left_behind.find(name); left != state.left_behind.end()) {
      next->status.left_behind = left->second.uids;
      back.insert(state.left_behind.extract(left));
      beside.push_back({keys::left_behind(state.shard, name), {}, false});
    }
    changes[name] = std::move(next);
  }
  write_records(
    self, std::move(changes),
    [self, answer, back] {
      watch_own_nodes(self);
      for (const auto& [name, left] : back) {
        stop_left_behind(self, name);
        tell_that_it_is_cleaned(self, name, left.uids.size());
      }
      answer(absl::OkStatus());
    },
    {{}, std::move(lent_for)},
    [self, answer, back](const absl::Status& why) {
      self->state.left_behind.insert(back.begin(), back.end());
      answer(why);
    },
    std::move(beside));
}

} // namespace reprieve
