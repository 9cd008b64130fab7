#include "tests/simulation/truth.hpp"

#include "actors/node_shard/lost_nodes.hpp"
#include "state/quantities/quantity.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve::simulation {

namespace {

using stage = simulated_journal::stage;

bool is_bound(const pod& p) {
  return takes_room(p.phase) && p.phase != pod_phase::nominated;
}

std::string text_of(const pod_list& pods) {
  std::string text;
  for (const auto& p : pods)
    text += fmt::format("\n  {} phase {} takes {}, placed by {}, evicted by '{}'{}", p.uid,
                        static_cast<int>(p.phase), amount_of(p.requests, resource::gpu),
                        p.placed_by, p.evicted_by, p.stop_told == no_time ? "" : ", told");
  return text;
}

const std::string& key_of(const operation& one) {
  const auto* put_in = std::get_if<put>(&one);
  return put_in != nullptr ? put_in->key : std::get<erase>(one).range.begin;
}

/// Whether the key is that of a record with a name that no other resource group may have.
bool has_name(const std::string& key) {
  return key.size() > 2 && key[1] == '/' && std::string_view("nwbp").find(key[0]) != key.npos;
}

std::set<std::string, std::less<>> uids_of(const victim& one) {
  std::set<std::string, std::less<>> uids;
  for (const auto& p : one.pods)
    uids.insert(p.uid);
  return uids;
}

/// Ends of pods that no decision asked for carry a reason instead.
bool is_decision(const std::string& evicted_by) {
  return !evicted_by.empty() && evicted_by != not_wanted && evicted_by != given_up;
}

} // namespace

void truth::complain(std::string what) {
  if (broken_.empty())
    broken_ = std::move(what);
}

// -- who writes -----------------------------------------------------------------------------------

void truth::written(const transaction& writes, revision, int generation) {
  for (const auto& one : writes.operations) {
    const auto* put_in = std::get_if<put>(&one);
    if (put_in != nullptr && put_in->key.starts_with(keys::owners))
      owner_written(std::string(keys::last_part(put_in->key)), put_in->value, generation);
  }
  // Whose program does not know the records must not touch them.
  if (programs_[generation] < schema_)
    complain(fmt::format("process {} knows version {} and wrote to a store of version {}",
                         generation, programs_[generation], schema_));
  const auto repeated = made_good(writes);
  for (const auto& one : writes.operations) {
    check_writer(one, writes.comparisons, generation);
    if (!repeated.contains(key_of(one)))
      carry_out(one);
  }
  check_names();
  check_files();
}

void truth::carry_out(const operation& one) {
  if (const auto* put_in = std::get_if<put>(&one))
    put_key(put_in->key, put_in->value);
  else
    erase_range(std::get<erase>(one).range);
}

/// The keys of what was promised and committed before: that counted from then on.
std::set<std::string> truth::made_good(const transaction& writes) const {
  std::set<std::string> repeated;
  for (const auto& one : writes.operations)
    if (const auto found = promises_.find(key_of(one));
        found != promises_.end() && std::holds_alternative<erase>(one) && found->second.counts)
      for (const auto& promised : found->second.writes)
        repeated.insert(key_of(promised));
  return repeated;
}

/// What the shard has promised with the batch counts from now on.
void truth::promise_counts(const std::string& shard, const sequence_record& batch) {
  for (std::uint32_t i = 0; i < batch.promised; ++i) {
    const auto found = promises_.find(keys::promise(shard, batch.number, i));
    if (found == promises_.end()) {
      complain(fmt::format("{} has committed a promise of {} chunks, and {} is missing", shard,
                           batch.promised, i));
      return;
    }
    found->second.counts = true;
    std::ranges::for_each(found->second.writes, [&](const operation& one) { carry_out(one); });
  }
}

/// What stands in one file comes as a whole.
void truth::check_files() {
  std::set<std::int32_t> forms;
  int there = 0;
  for (const auto& [name, budget] : budgets_)
    if (name.starts_with(of_a_file)) {
      forms.insert(budget.min_available.value_or(0));
      ++there;
    }
  if (forms.size() > 1 || (there != 0 && there != objects_in_a_file))
    complain(fmt::format("{} of {} objects of a file are there, in {} forms", there,
                         objects_in_a_file, forms.size()));
}

/// What has a name of its own is there, in one resource group. Who knew no names left some without.
void truth::check_names() {
  std::set<std::string_view> promised;
  for (const auto& [key, one] : promises_)
    for (const auto& write : one.writes)
      if (const auto* name = std::get_if<put>(&write))
        promised.insert(name->key);
  for (const auto& [key, shard] : names_)
    if (!shards_[key].contains(shard) && !promised.contains(key))
      complain(fmt::format("{} is taken for {}, which has nothing of the name", key, shard));
}

/// Whatever is owned has one owner.
void truth::owner_written(const std::string& replica, const std::string& value, int generation) {
  const auto record = *decode<owner_record>(value);
  for (const auto& shard : record.owned)
    for (const auto& [name, other] : owners_)
      if (name != replica && other.owned.contains(shard))
        complain(fmt::format("{} is owned by {} and by {}", shard, name, replica));
  owners_[replica] = {generation, record.owned};
}

/// Only who owns it writes it, or whoever does so while that one is in its place.
void truth::check_writer(const operation& one, std::span<const comparison> compared,
                         int generation) {
  const auto* put_in = std::get_if<put>(&one);
  const auto& key = key_of(one);
  if (key.starts_with("meta/"))
    return;
  auto shard = key.starts_with("seq/") ? key.substr(4) : key.substr(0, key.find('/', 2));
  if (key.starts_with("f/"))
    shard = key.substr(2, key.find('/', 4) - 2);
  bool free_name = false;
  if (key.starts_with(keys::names)) {
    const auto taken = names_.find(key);
    // Who takes a record away that has no name of its own, as its writer knew none, may free that
    // of another.
    const bool some_without = std::ranges::any_of(
      programs_, [](const auto& program) { return program.second < schema_with_names; });
    free_name = put_in == nullptr && (taken == names_.end() || some_without);
    const auto kind = key.substr(keys::names.size(), 2);
    if (!free_name)
      shard = kind + (put_in != nullptr ? put_in->value : taken->second);
  }
  if (shard.starts_with("b/") || shard.starts_with("p/"))
    shard.front() = 'w';
  if (shard.starts_with("l/"))
    shard.front() = 'n';
  if (key.starts_with(keys::slot_pages))
    shard = "w/" + std::string(keys::shard_of(key));
  const bool in_its_place = std::ranges::any_of(owners_, [&](const auto& owner) {
    return owner.second.owned.contains(shard)
           && std::ranges::find(compared, keys::owner(owner.first), &comparison::key)
                != compared.end();
  });
  if (in_its_place)
    return;
  const auto found = std::ranges::find(owners_, generation,
                                       [](const auto& entry) { return entry.second.generation; });
  if (found == owners_.end())
    complain(
      fmt::format("process {} wrote {} although its place is taken or lost", generation, key));
  else if (!free_name && !key.starts_with("d/") && !key.starts_with(keys::owners)
           && !found->second.owned.contains(shard))
    complain(fmt::format("process {} wrote {} and does not own {}", generation, key, shard));
}

void truth::put_key(const std::string& key, const std::string& value) {
  const std::string name(keys::last_part(key));
  if (has_name(key)) {
    const auto its_name = keys::name_of(key);
    const auto taken = names_.find(its_name);
    if (shards_[its_name].emplace(keys::shard_of(key)).second && taken != names_.end()
        && taken->second != keys::shard_of(key))
      complain(fmt::format("{} was made, and its name belongs to {}", key, taken->second));
  }
  if (key.starts_with(keys::names)) {
    if (const auto taken = names_.find(key); taken != names_.end() && taken->second != value)
      complain(
        fmt::format("{} was taken by {} already, and now for {}", key, taken->second, value));
    names_[key] = value;
  }
  if (key.starts_with("f/"))
    promises_[key] = {decode<promised_writes>(value)->writes, false};
  else if (key.starts_with("seq/"))
    promise_counts(key.substr(4), *decode<sequence_record>(value));
  else if (key.starts_with("n/"))
    node_written(*decode<node_record>(value));
  else if (key.starts_with("l/"))
    left_behind_[name] = *decode<left_pods>(value);
  else if (key.starts_with("w/"))
    own_record_written(*decode<workload_record>(value));
  else if (key.starts_with(keys::slot_pages))
    page_written(key, *decode<slot_page>(value));
  else if (key.starts_with("b/"))
    budgets_[name] = *decode<disruption_budget>(value);
  else if (key.starts_with("p/"))
    placements_[name] = *decode<placement>(value);
  else if (key == keys::schema)
    schema_ = decode<schema_record>(value)->version;
  else if (key.find("/quota/") != std::string::npos)
    quota_written(name, *decode<quota_record>(value));
  else if (key.find("/queue/") != std::string::npos)
    queue_written(*decode<queue>(value));
  else if (key.find("/group/") != std::string::npos)
    groups_.insert(name);
  else if (key.starts_with(keys::decision_bodies) && keys::is_finished_head(key)) {
    if (!ended_.contains(keys::decision_of_body(key))) // else it was moved to the archive
      decision_done(value);
  } else if (key.starts_with(keys::decision_bodies))
    bodies_[key] = value;
  else if (key.starts_with(keys::open_decisions))
    decision_written(name, value);
  else if (key.starts_with(keys::done_decisions))
    decision_done(value);
}

void truth::erase_range(const key_range& range) {
  if (range.end.empty()) {
    erase_key(range.begin);
    return;
  }
  std::erase_if(bodies_, [&](const auto& one) { return contains(range, one.first); });
}

void truth::erase_key(const std::string& key) {
  const std::string name(keys::last_part(key));
  names_.erase(key);
  promises_.erase(key);
  if (has_name(key))
    shards_[keys::name_of(key)].erase(std::string(keys::shard_of(key)));
  if (key.starts_with("n/")) {
    if (const auto found = nodes_.find(name); found != nodes_.end()) {
      // Those that have gone by then may leave it with the same write.
      const auto stay = std::ranges::count_if(found->second.pods, [&](const pod& p) {
        return p.phase == pod_phase::nominated || is_running(p.uid);
      });
      if (stay > 0)
        complain(fmt::format("node {} was taken away with {} pods on it", name, stay));
      causes_.changed(found->second.spec->resource_group, now_());
      nodes_.erase(found);
    }
  } else if (key.starts_with("l/")) {
    left_behind_.erase(name);
  } else if (key.starts_with("w/")) {
    if (const auto known = expected_.find(name);
        known != expected_.end() && known->second.is_sure() && !comes_late(name, std::nullopt))
      complain(fmt::format("workload {} was acknowledged and is lost", name));
    if (const auto left = pages_.find(name); left != pages_.end() && !left->second.empty())
      complain(fmt::format("workload {} has gone, and {} pages of its slots have not", name,
                           left->second.size()));
    own_slots_.erase(name);
    if (const auto found = workloads_.find(name); found != workloads_.end()) {
      causes_.changed(found->second.spec->resource_group, now_());
      workloads_.erase(found);
    }
  } else if (key.starts_with(keys::slot_pages)) {
    const auto [workload, number] = keys::page_at(key);
    pages_[std::string(workload)].erase(number);
  } else if (key.starts_with("b/")) {
    budgets_.erase(name);
  } else if (key.starts_with("p/")) {
    placements_.erase(name);
  } else if (key.find("/quota/") != std::string::npos) {
    quota_written(name, {});
  } else if (key.find("/group/") != std::string::npos) {
    groups_.erase(name);
  } else if (key.find("/queue/") != std::string::npos) {
    queues_.erase(name);
    causes_.changed({}, now_());
  } else if (key.starts_with(keys::open_decisions)) {
    open_.erase(name);
    over_.insert(name);
  }
}

// -- nodes and pods -------------------------------------------------------------------------------

void truth::node_written(node_record record) {
  ++moves_;
  const auto name = record.spec->name;
  check_room(record);
  const auto before = nodes_.find(name);
  note_changes(before == nodes_.end() ? nullptr : &before->second, record);
  for (const auto& p : record.pods) {
    requests_[p.uid] = p.requests;
    if (p.phase != pod_phase::nominated)
      came_.insert(p.uid);
    check_told(p, before == nodes_.end() ? nullptr : find_pod(before->second, p.uid));
  }
  if (before != nodes_.end())
    for (const auto& old : before->second.pods)
      if (is_bound(old) && find_pod(record, old.uid) == nullptr
          && std::ranges::find(record.status.left_behind, old.uid)
               == record.status.left_behind.end()
          && is_running(old.uid))
        complain(fmt::format("pod {} was forgotten while it is on node {}", old.uid, name));
  check_limits(before == nodes_.end() ? nullptr : &before->second, record);
  nodes_[name] = std::move(record);
}

/// Invariant 1: what is bound fits, and so does what is held once those have gone who make room.
void truth::check_room(const node_record& record) {
  resources bound;
  resources promised;
  std::map<std::string_view, resources> comes; // by decision
  std::map<std::string_view, resources> goes;
  for (const auto& p : record.pods) {
    if (!takes_room(p.phase))
      continue;
    for (const auto& [resource, amount] : p.requests) {
      if (is_bound(p))
        bound[resource] += amount;
      // Who was told does go; who was not goes for its own decision's pods only.
      if (!is_bound(p))
        comes[p.placed_by][resource] += amount;
      else if (!p.evicted_by.empty() && p.stop_told == no_time)
        goes[p.evicted_by][resource] += amount;
      else if (p.stop_told == no_time)
        promised[resource] += amount;
    }
  }
  for (auto& [decision, amounts] : goes)
    for (const auto& [resource, amount] : amounts)
      comes[decision][resource] = std::max(comes[decision][resource], amount);
  for (const auto& [decision, amounts] : comes)
    for (const auto& [resource, amount] : amounts)
      promised[resource] += amount;
  const auto check = [&](const resources& taken, std::string_view how) {
    for (const auto& [resource, amount] : taken)
      if (const auto capacity = amount_of(record.spec->capacity, resource); amount > capacity)
        complain(fmt::format("node {} has {} {} and {} is {} on it:{}", record.spec->name, capacity,
                             resource, amount, how, text_of(record.pods)));
  };
  check(bound, "bound");
  check(promised, "promised");
}

/// Invariant 3: told after the commit, by one decision, and never taken back.
void truth::check_told(const pod& p, const pod* before) {
  if (p.placed_by == placed_by_cluster && before != nullptr && before->stop_told != no_time
      && before->evicted_by.empty()) {
    // Its cluster stops it; a decision may only take it away by force, when its time is over.
    if (p.phase == pod_phase::force_deleting && before->phase == pod_phase::terminating
        && p.stop_told < before->stop_told + before->checkpoint_time + before->grace_period)
      complain(fmt::format("pod {} is force-deleted before its grace period is over", p.uid));
    return;
  }
  if (before != nullptr && before->stop_told != no_time
      && (p.stop_told == no_time || p.evicted_by != before->evicted_by))
    complain(fmt::format("pod {} was told to go by {} and is now told by '{}'", p.uid,
                         before->evicted_by, p.evicted_by));
  if (p.stop_told == no_time || !is_decision(p.evicted_by)
      || (before != nullptr && before->stop_told != no_time))
    return;
  ++counted_.evictions;
  const auto open = open_.find(p.evicted_by);
  if (open == open_.end() || open->second.phase == decision_phase::preparing)
    complain(
      fmt::format("pod {} is told to go by {}, which is not committed", p.uid, p.evicted_by));
  const auto [told, first] = told_by_.try_emplace(p.uid, p.evicted_by);
  if (!first && told->second != p.evicted_by)
    complain(
      fmt::format("pod {} is told to go by {} and by {}", p.uid, told->second, p.evicted_by));
}

void truth::lived(const simulated_journal::entry& pod) {
  const auto before = machines_.find(pod.uid);
  if (pod.at == stage::starting) {
    ++counted_.starts;
    if (before != machines_.end())
      complain(fmt::format("pod {} was started twice", pod.uid));
    check_that_the_last_has_gone(pod);
  }
  if (pod.at == stage::stopping) {
    if (before != machines_.end() && before->second.at == stage::stopping && !pod.forced)
      complain(fmt::format("pod {} was stopped twice", pod.uid));
    if (is_decision(pod.decision)) {
      const auto open = open_.find(pod.decision);
      const bool committed =
        (open != open_.end() && open->second.phase != decision_phase::preparing)
        || ended_.contains(pod.decision);
      if (!committed)
        complain(
          fmt::format("pod {} is stopped for {}, which is not committed", pod.uid, pod.decision));
    }
  }
  if (pod.forced && pod.told != no_time && pod.since < pod.told + pod.grace)
    complain(fmt::format("pod {} was taken from its machine before its time was over", pod.uid));
  machines_[pod.uid] = pod;
  if (pod.at != stage::starting)
    return;
  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end() && pod.counted)
    return; // its cluster has not heard yet that the node is not ours any more
  resources used;
  for (const auto& [uid, one] : machines_)
    if (one.node == pod.node && is_on_a_machine(one.at))
      for (const auto& [resource, amount] : one.requests)
        used[resource] += amount;
  for (const auto& [resource, amount] : used)
    if (node == nodes_.end() || amount > amount_of(node->second.spec->capacity, resource))
      complain(fmt::format("the machine {} runs more than it has of {}", pod.node, resource));
}

bool truth::is_running(const std::string& uid) const {
  const auto machine = machines_.find(uid);
  return machine != machines_.end() && is_on_a_machine(machine->second.at);
}

const pod* truth::record_of(const simulated_journal::entry& on_machine) const {
  const auto node = nodes_.find(on_machine.node);
  return node == nodes_.end() ? nullptr : find_pod(node->second, on_machine.uid);
}

std::vector<std::string> truth::busy_machines() const {
  std::set<std::string> found;
  for (const auto& [uid, one] : machines_)
    if (is_on_a_machine(one.at) && !one.counted)
      found.insert(one.node);
  return {found.begin(), found.end()};
}

/// It may be started once more only where nobody has heard that it was.
void truth::forgot(const std::string& uid) {
  const auto found = machines_.find(uid);
  if (found == machines_.end())
    return;
  const pod* record = record_of(found->second);
  if (record != nullptr && record->phase == pod_phase::bound)
    machines_.erase(found);
  else if (is_on_a_machine(found->second.at))
    found->second.at = stage::stopped;
}

/// Nobody runs twice at a time, unless his machine was given up for lost.
void truth::check_that_the_last_has_gone(const simulated_journal::entry& pod) {
  const auto place_of = [](std::string_view uid) { return uid.substr(0, uid.rfind('.')); };
  for (const auto& [uid, one] : machines_) {
    const auto node = nodes_.find(one.node);
    const auto* there = node == nodes_.end() || !is_on_a_machine(one.at) || uid == pod.uid
                            || place_of(uid) != place_of(pod.uid)
                          ? nullptr
                          : find_pod(node->second, uid);
    const auto owner = there == nullptr ? workloads_.end() : workloads_.find(there->workload);
    if (owner != workloads_.end() && owner->second.spec->kind == workload_kind::batch)
      complain(fmt::format("pod {} starts, and {} is still there", pod.uid, uid));
  }
}

/// It has gone, or has been told to for another reason: somebody deleted its workload.
bool truth::is_going(const std::string& uid) const {
  return std::ranges::none_of(nodes_, [&](const auto& one) {
    const pod* there = find_pod(one.second, uid);
    return there != nullptr && there->phase != pod_phase::gone && there->stop_told == no_time;
  });
}

// -- decisions ------------------------------------------------------------------------------------

void truth::decision_written(const std::string& id, const std::string& value) {
  ++moves_;
  const auto head = *decode<decision_head>(value);
  // Of one that was given up before it had a key, each shard may write that it is aborted.
  if (over_.contains(id) && (ended_.contains(id) || head.summary.phase != decision_phase::aborted))
    complain(fmt::format("decision {} was over, and is there again", id));
  auto& known = open_[id];
  const auto before = known.phase;
  known.phase = head.summary.phase;
  if (before == decision_phase::starting && known.phase != decision_phase::starting)
    complain(fmt::format("decision {} went back from starting", id));
  if (before == decision_phase::aborted && known.phase != decision_phase::aborted)
    complain(fmt::format("decision {} was aborted and goes on", id));
  if (known.phase == decision_phase::aborted)
    ++counted_.aborts;
  if (before != decision_phase::preparing)
    return;
  if (known.phase == decision_phase::starting && head.summary.policy == "lifecycle") {
    load(known, head);
    check_counts(known.what);
  } else if (known.phase == decision_phase::committed
             || (known.phase == decision_phase::starting && head.summary.at_once)) {
    load(known, head);
    check_commit(known.what);
  }
}

void truth::load(open_decision& known, const decision_head& head) {
  const auto& id = head.summary.id;
  known.what = head.summary;
  for (std::uint32_t k = 0; k < head.chunks; ++k)
    if (const auto body = bodies_.find(keys::decision_body(id, k)); body == bodies_.end())
      complain(fmt::format("decision {} is committed and its chunk {} is not there", id, k));
    else if (const auto added = add_body(known.what, body->second); !added.ok())
      complain(std::string(added.message()));
  if (tell_)
    tell_(fmt::format("decision {} ({}): {}", id, known.what.policy, known.what.why.summary));
}

/// With nothing new, there are only so many that can be better off without others.
void truth::count_preemption(const decision& d) {
  constexpr int most = 40;
  if (d.victims.empty())
    return;
  ++counted_.preemptions;
  if (calm_ && ++preemptions_since_ > most)
    complain(
      fmt::format("nobody asked for anything since {} decisions with victims, and now {}: {}",
                  preemptions_since_, d.id, d.why.summary + text_of_nodes()));
}

/// Of what decides over replicas: nobody more important loses, and nobody the last one.
void truth::check_counts(const decision& d) {
  ++counted_.commits;
  count_preemption(d);
  if (d.why.summary.empty())
    complain(fmt::format("decision {} is not explained", d.id));
  std::set<std::string_view> forced;
  for (const auto& p : d.force_deletes)
    forced.insert(p.uid);
  for (const auto& one : d.victims) {
    if (one.reason.empty())
      complain(fmt::format("nothing says why {} goes", to_string(one.portion)));
    if (one.priority >= d.priority && !forced.contains(one.pods.front().uid))
      complain(fmt::format("{} of priority {} is scaled down for one of priority {}",
                           to_string(one.portion), one.priority, d.priority));
  }
  for (const auto& change : d.counts) {
    if (!d.victims.empty() && change.to < change.from && change.to < 1)
      complain(fmt::format("decision {} takes the last replica of {}", d.id, change.deployment));
    if (!d.victims.empty() && change.to > change.from)
      complain(fmt::format("decision {} gives {} replicas with victims", d.id, change.deployment));
  }
}

void truth::check_commit(const decision& d) {
  ++counted_.commits;
  count_preemption(d);
  const bool reclaims = !d.queue.empty();
  if (d.assignments.empty() != reclaims)
    complain(fmt::format("decision {} is committed and places nobody", d.id));
  for (const auto& one : d.victims) {
    if (!reclaims && d.policy != "queues" && one.priority >= d.priority)
      complain(fmt::format("{} of priority {} goes for one of priority {}", to_string(one.portion),
                           one.priority, d.priority));
    if (one.reason.empty())
      complain(fmt::format("nothing says why {} goes", to_string(one.portion)));
  }
  if (d.why.summary.empty())
    complain(fmt::format("decision {} is not explained", d.id));
  check_wanted(d);
  check_whole_portions(d);
  check_gang(d);
  check_cause(d);
}

/// What was voted on is so when the decision commits: its pods are wanted.
void truth::check_wanted(const decision& d) {
  for (const auto& one : d.assignments) {
    const auto owner = workloads_.find(one.placed.workload);
    if (owner == workloads_.end() || !wants(owner->second, one.placed))
      complain(fmt::format("decision {} is committed and places {}, which nobody wants any more",
                           d.id, one.placed.uid));
  }
}

/// Invariant 2: of a portion that goes, every pod does.
void truth::check_whole_portions(const decision& d) {
  for (const auto& one : d.victims) {
    std::set<std::string_view> going;
    for (const auto& p : one.pods)
      going.insert(p.uid);
    for (const auto& [name, record] : nodes_)
      for (const auto& p : record.pods)
        if (takes_room(p.phase) && p.evicted_by.empty() && portion_of(p) == one.portion
            && !going.contains(p.uid))
          complain(fmt::format("{} goes with decision {}, but its pod {} stays",
                               to_string(one.portion), d.id, p.uid));
  }
}

/// Invariant 4: with those it places, enough pods of each gang stand, or stood when it was made.
void truth::check_gang(const decision& d) {
  std::map<std::tuple<std::string, std::string, std::int32_t>, std::int64_t> placed;
  for (const auto& one : d.assignments)
    ++placed[{one.placed.workload, one.placed.group, one.placed.replica}];
  for (const auto& [key, count] : placed) {
    const auto& [workload, group, replica] = key;
    const auto record = workloads_.find(workload);
    if (record == workloads_.end())
      continue;
    const auto position = group_position(record->second.spec, group);
    if (!position)
      continue;
    auto standing = count;
    for (const auto& [name, on] : nodes_)
      for (const auto& p : on.pods)
        standing += p.workload == workload && p.group == group && p.replica == replica;
    for (const auto& slot : record->second.slots)
      standing += slot.slot.group == group && slot.slot.replica == replica
                  && slot.state != slot_state::wanted;
    if (standing < record->second.spec->groups[*position].needed())
      complain(fmt::format("decision {} leaves {} of {}/{} standing, fewer than it needs", d.id,
                           standing, workload, group));
  }
}

void truth::decision_done(const std::string& value) {
  const auto head = *decode<decision_head>(value);
  const auto& id = head.summary.id;
  const auto open = open_.find(id);
  decision what = open == open_.end() ? head.summary : open->second.what;
  what.phase = head.summary.phase;
  if (head.summary.phase == decision_phase::done)
    for (const auto& one : what.victims)
      for (const auto& p : one.pods)
        if (!one.expected && !told_by_.contains(p.uid) && !is_going(p.uid))
          complain(fmt::format("decision {} is done, and its victim {} was not told", id, p.uid));
  if (head.summary.phase == decision_phase::done && what.policy != "lifecycle")
    for (const auto& one : what.assignments)
      if (!came_.contains(one.placed.uid))
        complain(fmt::format("decision {} is done, and its pod {} never came", id, one.placed.uid));
  what.abort_reason = head.summary.abort_reason;
  if (what.phase == decision_phase::aborted && head.summary.victims_told)
    causes_.given_up(what, now_());
  ended_[id] = std::move(what);
}

// -- workloads ------------------------------------------------------------------------------------

workload_record truth::whole(workload_record own) const {
  const auto& name = own.spec->name;
  std::vector<slot_page> all;
  if (const auto found = pages_.find(name); found != pages_.end())
    for (const auto& [number, page] : found->second)
      all.push_back(page);
  const auto slots = own_slots_.find(name);
  if (slots != own_slots_.end())
    all.push_back(slots->second);
  own.slots = slot_list::of_pages(std::move(all));
  return own;
}

void truth::own_record_written(workload_record own) {
  auto& slots = own_slots_[own.spec->name];
  slots = {0, {own.slots.begin(), own.slots.end()}};
  workload_written(whole(std::move(own)));
}

void truth::page_written(const std::string& key, slot_page page) {
  const auto [workload, number] = keys::page_at(key);
  page.number = number;
  pages_[std::string(workload)][number] = std::move(page);
  if (const auto found = workloads_.find(std::string(workload)); found != workloads_.end())
    workload_written(whole(found->second));
}

/// A decision takes those whom it names, once, and nobody who came since.
void truth::check_taken(const workload_record& before, const workload_record& now) {
  for (const auto& slot : now.slots) {
    const auto was = slot_at(before, slot.slot);
    if (slot.decision.empty() || slot.decision == was.decision)
      continue;
    // Where slots stand in pages, some may be written a moment before the others.
    auto& named = named_[{now.spec->name, slot.decision}];
    if (named != no_time && now_() - named <= std::chrono::seconds{2})
      continue;
    const auto by = open_.find(slot.decision);
    if (by == open_.end()) {
      if (named == no_time)
        complain(fmt::format("{} of {} is taken by {}, which is not open", slot.slot.index,
                             now.spec->name, slot.decision));
    } else if (std::ranges::none_of(by->second.what.victims, [&](const victim& one) {
                 return one.portion.workload == now.spec->name
                        && takes_any_of(before, one.portion, uids_of(one));
               }))
      complain(fmt::format("incarnation {} of {} of {} is taken by {}, which does not name it",
                           was.incarnation, slot.slot.index, now.spec->name, slot.decision));
    else
      named = now_();
  }
  std::set<std::string_view> counted;
  for (const auto& one : now.status.preempted)
    if (!counted.insert(one.decision).second)
      complain(fmt::format("{} is preempted by {} twice", now.spec->name, one.decision));
}

void truth::workload_written(const workload_record& record) {
  const auto& name = record.spec->name;
  if (const auto known = expected_.find(name);
      known != expected_.end() && known->second.is_sure()
      && (record.deleting || *record.spec != *known->second.spec)
      && !comes_late(name, record.deleting ? wish{} : wish{*record.spec}))
    complain(fmt::format("workload {} is not any more as it was acknowledged", name));
  const auto before = workloads_.find(name);
  if (before != workloads_.end() && before->second.spec->queue != record.spec->queue)
    moved_.insert(name);
  if (before != workloads_.end())
    check_taken(before->second, record);
  note_changes(before == workloads_.end() ? nullptr : &before->second, record);
  workloads_[name] = record;
}

/// Whether what is in the store now was asked for at some time by one who was not told.
bool truth::comes_late(const std::string& workload, const wish& now) {
  auto& known = expected_[workload];
  const bool late = std::ranges::find(known.loose, now) != known.loose.end();
  known.unknown = known.unknown || late;
  return late;
}

void truth::asked(const std::string& name, std::optional<workload> wanted) {
  expected_[name].asked.emplace(std::move(wanted));
}

void truth::refused(const std::string& name) {
  expected_[name].asked.reset();
}

void truth::not_told(const std::string& name) {
  auto& known = expected_[name];
  if (known.asked)
    known.loose.push_back(*std::exchange(known.asked, std::nullopt));
  known.unknown = true;
}

void truth::acknowledged(const workload& spec) {
  auto& known = expected_[spec.name];
  known.spec = spec;
  known.asked.reset();
  known.unknown = false;
  const auto found = workloads_.find(spec.name);
  const auto now = found == workloads_.end() ? wish{} : found->second.spec;
  if (now != spec && !comes_late(spec.name, now))
    complain(fmt::format("workload {} is acknowledged and {} in the store", spec.name,
                         now ? "another is" : "not"));
}

void truth::acknowledged_deletion(const std::string& name) {
  auto& known = expected_[name];
  known.spec.reset();
  known.asked.reset();
  known.unknown = false;
  if (const auto found = workloads_.find(name);
      found != workloads_.end() && !found->second.deleting && !comes_late(name, found->second.spec))
    complain(fmt::format("the deletion of {} is acknowledged and not in the store", name));
}

std::string truth::text_of_nodes() const {
  std::string text;
  for (const auto& [name, record] : nodes_)
    text +=
      fmt::format("\n {} with {} gpu{}:{}", name, amount_of(record.spec->capacity, resource::gpu),
                  record.spec->schedulable ? "" : ", closed", text_of(record.pods));
  return text;
}

} // namespace reprieve::simulation
