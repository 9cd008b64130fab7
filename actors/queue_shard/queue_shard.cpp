#include "actors/queue_shard/queue_shard.hpp"

#include "actors/queue_shard/queue_stage_runner.hpp"
#include "state/admission/admission.hpp"
#include "state/admission/queue_cycles.hpp"
#include "state/records/keys.hpp"

namespace reprieve {

namespace {

using self_pointer = queue_shard_pointer;

std::string key_of(std::string_view tree, object_kind kind, std::string_view name) {
  switch (kind) {
  case object_kind::priority_class:
    return keys::priority_class(tree, name);
  case object_kind::resource_group:
    return keys::resource_group(tree, name);
  default:
    return keys::queue(tree, name);
  }
}

ledger_entry write_of_object(std::string_view tree, const object& o) {
  auto key = key_of(tree, kind_of(o), name_of(o));
  if (const auto* tier = std::get_if<priority_class>(&o))
    return write_of(std::move(key), tier);
  if (const auto* group = std::get_if<resource_group>(&o))
    return write_of(std::move(key), group);
  return write_of(std::move(key), std::get_if<queue>(&o));
}

/// Brings these back to what they are in the durable catalog.
void take_back(catalog& newest, const catalog& known,
               const std::vector<object_reference>& changed) {
  const auto restore = [&](const auto& entries, const object_reference& one) {
    if (const auto* before = find(entries, one.name))
      put_in(newest, object{*before});
    else
      remove_from(newest, one.kind, one.name);
  };
  for (const auto& one : changed)
    if (one.kind == object_kind::priority_class)
      restore(known.classes, one);
    else if (one.kind == object_kind::resource_group)
      restore(known.groups, one);
    else
      restore(known.queues, one);
}

/// What becomes of one entry of the catalog; it goes where nothing comes in its place.
struct catalog_change {
  object_reference what;
  std::optional<object> next;
  bool unfinished = false; ///< a resource group of which more is to come

  bool is_of_group() const {
    return what.kind == object_kind::resource_group;
  }
};

/// Whether more is to come with the resource group that is changed.
ledger_entry write_of_mark(std::string_view tree, const catalog_change& one) {
  ledger_entry mark{keys::unfinished_group(tree, one.what.name), {}};
  if (one.unfinished)
    mark.value = [] { return std::string{}; };
  return mark;
}

void make(const catalog_change& one, catalog& in) {
  if (one.next)
    put_in(in, *one.next);
  else
    remove_from(in, one.what.kind, one.what.name);
}

revision revision_of(const queue_shard_state& state) {
  return state.ledger.settings.sequence_revision;
}

/// Whether the queues still form a tree with the changes, which gateways may have looked at before
/// others were made.
absl::Status check_tree(const catalog& newest, const objects_aside& aside,
                        const std::vector<catalog_change>& changes) {
  auto after = newest;
  for (const auto& one : changes)
    make(one, after);
  bool moves_queues = false;
  for (const auto& one : changes) {
    const auto* put_in = one.next ? std::get_if<queue>(&*one.next) : nullptr;
    moves_queues = moves_queues || (put_in != nullptr && !put_in->parent.empty());
    if (put_in != nullptr && !put_in->parent.empty() && !after.queues.contains(put_in->parent))
      return used_goes(one.what, {object_kind::queue, put_in->parent});
    // What its record says of its own parent is not known here.
    if (put_in != nullptr && !put_in->parent.empty())
      if (const auto* parent = aside.find(object_kind::queue, put_in->parent))
        if (const auto* before = find(newest.queues, put_in->name);
            before == nullptr || before->parent != put_in->parent)
          return cannot_be_above(*parent);
    if (!one.next)
      if (const auto user = user_in_catalog(one.what.kind, one.what.name, after))
        return in_use(one.what, *user);
  }
  if (moves_queues && !cycles_in(after.queues).empty())
    return came_in_between();
  return absl::OkStatus();
}

/// Makes the changes durable, then visible, then answers.
void commit(self_pointer self, std::vector<catalog_change> changes, status_answer answer,
            std::string lent_for = {}) {
  auto& state = self->state;
  if (auto stands = check_tree(state.newest, state.aside, changes); !stands.ok()) {
    answer(stands);
    return;
  }
  std::vector<ledger_entry> writes;
  std::vector<object_reference> changed;
  for (const auto& one : changes) {
    writes.push_back(one.next ? write_of_object(state.tree, *one.next)
                              : ledger_entry{key_of(state.tree, one.what.kind, one.what.name), {}});
    changed.push_back(one.what);
    make(one, state.newest);
    if (one.is_of_group() && state.ledger.settings.owner->schema() >= schema_with_promises)
      writes.push_back(write_of_mark(state.tree, one));
  }
  const bool of_bundle = !lent_for.empty();
  write_then(
    self, std::move(writes),
    [self, changes = std::move(changes), answer, of_bundle] {
      auto next = std::make_shared<catalog>(*self->state.known);
      auto& unfinished = self->state.unfinished;
      for (const auto& one : changes) {
        make(one, *next);
        if (one.unfinished)
          unfinished.insert(one.what.name);
        else if (one.is_of_group())
          unfinished.erase(one.what.name);
      }
      self->state.known = next;
      for (const auto& one : changes)
        self->state.aside.remove(one.what.kind, one.what.name);
      for (const auto& follower : self->state.followers)
        self->send(follower, catalog_update{next, unfinished, revision_of(self->state), of_bundle,
                                            self->state.aside.all()});
      stage_is_due(self);
      answer(absl::OkStatus());
    },
    {{}, std::move(lent_for)},
    [self, answer, changed = std::move(changed)](const absl::Status& why) {
      take_back(self->state.newest, *self->state.known, changed);
      answer(why);
    });
}

std::vector<catalog_change> changes_of(const objects_aside&, const put_catalog& wanted) {
  std::vector<catalog_change> changes;
  for (const auto& one : wanted.objects)
    changes.push_back({{kind_of(one), name_of(one)},
                       one,
                       wanted.unfinished && kind_of(one) == object_kind::resource_group});
  return changes;
}

/// Of a queue that can't be read, one like new stays, as work may stand on it.
std::vector<catalog_change> changes_of(const objects_aside& aside, const remove_catalog& wanted) {
  std::vector<catalog_change> changes;
  for (const auto& name : wanted.names) {
    auto& one = changes.emplace_back(catalog_change{{wanted.kind, name}, {}});
    if (wanted.kind == object_kind::queue && aside.find(wanted.kind, name) != nullptr)
      one.next = queue_of_no_settings(name);
  }
  return changes;
}

/// What of the change can't be made, as its name is that of something that can't be read.
const set_aside* taken_name(const objects_aside& aside, const put_catalog& wanted) {
  for (const auto& one : wanted.objects)
    if (const auto* there = aside.find(kind_of(one), name_of(one)))
      return there;
  return nullptr;
}

const set_aside* taken_name(const objects_aside&, const remove_catalog&) {
  return nullptr;
}

/// Whether the entry comes to what whoever applies it is told.
bool is_as_told(const catalog& newest, const std::vector<apply_outcome>& told, std::size_t index,
                const object& next) {
  if (const auto* tier = std::get_if<priority_class>(&next))
    return is_as_told(told, index, find(newest.classes, tier->name), *tier);
  if (const auto* group = std::get_if<resource_group>(&next))
    return is_as_told(told, index, find(newest.groups, group->name), *group);
  const auto* q = std::get_if<queue>(&next);
  return q == nullptr || is_as_told(told, index, find(newest.queues, q->name), *q);
}

bool is_as_told(const catalog& newest, const put_catalog& wanted) {
  for (std::size_t i = 0; i < wanted.objects.size(); ++i)
    if (!is_as_told(newest, wanted.told, i, wanted.objects[i]))
      return false;
  return true;
}

bool is_as_told(const catalog&, const remove_catalog&) {
  return true;
}

/// Makes the change where it comes to what whoever asks for it is told.
template <class Change>
void make(self_pointer self, const Change& wanted, status_answer answer,
          std::string lent_for = {}) {
  const auto& aside = self->state.aside;
  if (const auto* taken = taken_name(aside, wanted))
    refuse(self, cannot_be_made(*taken), std::move(answer));
  else if (is_as_told(self->state.newest, wanted))
    commit(self, changes_of(aside, wanted), std::move(answer), std::move(lent_for));
  else
    refuse(self, came_in_between(), std::move(answer));
}

template <class Change>
caf::result<absl::Status> make_change(self_pointer self, const Change& wanted) {
  return answer_when_nothing_is_lent(
    self, [self, wanted](auto answer) { make(self, wanted, std::move(answer)); });
}

template <class Change>
caf::result<lent_result> make_change(self_pointer self, const lend<Change>& wanted) {
  return lend_for(self, wanted, [self, wanted](status_answer answer) {
    make(self, wanted.change, std::move(answer), wanted.bundle);
  });
}

/// Whether a coordinator of a later epoch has spoken for the group.
bool is_outdated(queue_shard_state::participant& group, revision epoch) {
  if (epoch < group.epoch)
    return true;
  group.epoch = epoch;
  return false;
}

/// As the stage found the queues last; before it has run for the first time, as they were left.
by_name<queue_status> statuses_now(const queue_shard_state& state) {
  auto found = state.statuses;
  for (const auto& [name, record] : state.quota)
    found.try_emplace(name, queue_status{{}, record.allocated, {}, record.preempting});
  return found;
}

void tell_sizes(self_pointer self) {
  if (!self->state.counter)
    return;
  groups_counted counted;
  for (const auto& [name, group] : self->state.groups)
    if (group.has_told)
      counted.nodes[name] = group.told.nodes;
  self->send(self->state.counter, std::move(counted));
}

void tell_catalog(self_pointer self, follow_catalog& wanted) {
  auto& state = self->state;
  self->send(wanted.follower, catalog_update{state.known, state.unfinished, revision_of(state),
                                             true, state.aside.all()});
  add_follower(self, state.followers, std::move(wanted.follower));
}

void take_holder(self_pointer self, follow_quota& wanted) {
  auto& group = self->state.groups[wanted.resource_group];
  if (is_outdated(group, wanted.epoch))
    return;
  group.holder = std::move(wanted.holder);
  ++group.holders;
  group.lowering = false;
  tell_grants(self, wanted.resource_group);
}

void take_report(self_pointer self, quota_report& told) {
  auto& group = self->state.groups[told.resource_group];
  if (is_outdated(group, told.epoch) || (group.has_told && group.told == told))
    return;
  const bool other_size = group.told.nodes != told.nodes;
  group.told = std::move(told);
  group.has_told = true;
  if (other_size)
    tell_sizes(self);
  stage_is_due(self);
}

void begin_with(self_pointer self, queue_shard_settings settings) {
  auto& state = self->state;
  state.tree = std::move(settings.tree);
  state.newest = std::move(settings.known);
  state.known = std::make_shared<const catalog>(state.newest);
  state.unfinished = std::move(settings.unfinished);
  state.aside = std::move(settings.aside);
  state.quota = std::move(settings.quota);
  state.newest_quota = state.quota;
  state.ledger = ledger{std::move(settings.ledger)};
  state.clock = settings.clock;
  state.counter = std::move(settings.counter);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
}

} // namespace

private_queue_shard_actor::behavior_type queue_shard(self_pointer self,
                                                     queue_shard_settings settings) {
  begin_with(self, std::move(settings));
  return {
    [self](const put_catalog& wanted) { return make_change(self, wanted); },
    [self](const remove_catalog& wanted) { return make_change(self, wanted); },
    [self](const lend<put_catalog>& wanted) { return make_change(self, wanted); },
    [self](const lend<remove_catalog>& wanted) { return make_change(self, wanted); },
    [self](const lent_end& end) { return end_lent(self, end); },
    [self](follow_catalog& wanted) { tell_catalog(self, wanted); },
    [self](follow_quota& wanted) { take_holder(self, wanted); },
    [self](quota_report& told) { take_report(self, told); },
    [self](read_queues) { return statuses_now(self->state); },
    [self](run_stage) { start_stage(self); },
    [self](confirm_ownership) { return confirm_shard(self); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
