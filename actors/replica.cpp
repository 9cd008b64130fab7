#include "actors/replica.hpp"

#include "state/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = replica_actor::stateful_pointer<replica_state>;
using key_values = std::vector<key_value>;

constexpr std::string_view tree = "main";
constexpr std::chrono::minutes prune_interval{10};

std::string owner_key(const replica_state& state) {
  return keys::owner(state.settings.name);
}

void fail(self_pointer self, const absl::Status& why) {
  if (!self->state.started && self->state.ready.pending())
    self->state.ready.deliver(why);
  self->quit(caf::exit_reason::user_shutdown);
}

/// Reads everything below the prefixes, page by page; calls `done` with it.
template <class F>
void read_all(self_pointer self, std::vector<std::string> prefixes, F done,
              std::shared_ptr<key_values> found = std::make_shared<key_values>(),
              std::string from = {}) {
  constexpr std::int64_t page = 2'000;
  if (prefixes.empty()) {
    done(std::move(*found));
    return;
  }
  auto range = with_prefix(prefixes.front());
  if (!from.empty())
    range.begin = from;
  self->request(self->state.store, caf::infinite, range_request{range, page, 0, false})
    .then([self, prefixes = std::move(prefixes), done, found](range_answer& answer) mutable {
      if (!answer.ok()) {
        fail(self, answer.status());
        return;
      }
      std::move(answer->values.begin(), answer->values.end(), std::back_inserter(*found));
      std::string next;
      if (answer->more)
        next = found->back().key + '\0';
      else
        prefixes.erase(prefixes.begin());
      read_all(self, std::move(prefixes), std::move(done), found, std::move(next));
    });
}

/// Writes what must be there before anything else goes on; calls `done` with the revision, or
/// `otherwise` when a comparison did not hold.
template <class F, class G>
void write_first(self_pointer self, transaction writes, F done, G otherwise) {
  self->request(self->state.store, answer_time, std::move(writes))
    .then(
      [self, done, otherwise](transaction_answer& answer) {
        if (!answer.ok())
          fail(self, answer.status());
        else if (answer->succeeded)
          done(answer->current);
        else
          otherwise();
      },
      [self](caf::error& error) { fail(self, to_status(error)); });
}

ledger_settings ledger_for(const replica_state& state, std::string shard) {
  ledger_settings settings;
  settings.owner_key = owner_key(state);
  settings.epoch = state.epoch;
  settings.store = state.store;
  if (const auto found = state.sequences.find(keys::sequence(shard));
      found != state.sequences.end()) {
    settings.sequence_revision = found->second.modified;
    if (const auto record = decode<sequence_record>(found->second.value); record.ok())
      settings.sequence = record->number;
  }
  settings.shard = std::move(shard);
  return settings;
}

/// The shard number in a key such as `n/default.3/name`.
std::size_t shard_in(std::string_view key) {
  const auto end = key.rfind('/');
  const auto begin = key.rfind('.', end) + 1;
  std::size_t number = 0;
  for (const char digit : key.substr(begin, end - begin))
    number = number * 10 + static_cast<std::size_t>(digit - '0');
  return number;
}

/// Puts a record into its shard's table, or says which record can't be read.
template <class Record>
absl::Status take_record(const key_value& from,
                         std::vector<typename record_table<Record>::map_type>& tables) {
  auto record = decode<Record>(from.value);
  const auto shard = shard_in(from.key);
  if (!record.ok() || shard >= tables.size())
    return absl::DataLossError(
      fmt::format("the record at {} can't be read: {}", from.key,
                  record.ok() ? "no such shard" : std::string(record.status().message())));
  tables[shard].emplace(keys::last_part(from.key),
                        std::make_shared<const Record>(*std::move(record)));
  return absl::OkStatus();
}

absl::StatusOr<group_contents> contents_of(const schema_record& schema, const key_values& found) {
  group_contents contents;
  contents.nodes.resize(schema.node_shards);
  contents.workloads.resize(schema.workload_shards);
  contents.budgets.resize(schema.workload_shards);
  contents.placements.resize(schema.workload_shards);
  for (const auto& one : found) {
    absl::Status taken;
    switch (one.key.front()) {
    case 'n':
      taken = take_record<node_record>(one, contents.nodes);
      break;
    case 'w':
      taken = take_record<workload_record>(one, contents.workloads);
      break;
    case 'b':
      taken = take_record<disruption_budget>(one, contents.budgets);
      break;
    default:
      taken = take_record<placement>(one, contents.placements);
      break;
    }
    if (!taken.ok())
      return taken;
  }
  return contents;
}

void publish(self_pointer self) {
  for (const auto& follower : self->state.followers)
    self->send(follower, directory_update{self->state.serving});
}

directory::group start_group(self_pointer self, const resource_group& settings,
                             group_contents contents) {
  auto& state = self->state;
  const auto& ours = state.settings;
  directory::group group;
  group.shards.queues = state.serving->queues;
  for (std::uint32_t k = 0; k < contents.workloads.size(); ++k) {
    const auto shard = shard_name(settings.name, k);
    group.shards.workloads.push_back(self->spawn<caf::linked>(
      workload_shard,
      workload_shard_settings{shard, std::move(contents.workloads[k]),
                              std::move(contents.budgets[k]), std::move(contents.placements[k]),
                              ledger_for(state, "w/" + shard), ours.hold_time, ours.clock}));
  }
  for (std::uint32_t k = 0; k < contents.nodes.size(); ++k) {
    const auto shard = shard_name(settings.name, k);
    group.shards.nodes.push_back(self->spawn<caf::linked>(
      node_shard,
      node_shard_settings{shard, std::move(contents.nodes[k]), ledger_for(state, "n/" + shard),
                          ours.cluster, group.shards.workloads, settings.force_delete_after,
                          ours.hold_time, ours.clock, settings.heartbeat_timeout,
                          state.serving->events}));
  }
  const std::vector<node_feed_actor> feeds{group.shards.nodes.begin(), group.shards.nodes.end()};
  for (const auto& shard : group.shards.workloads)
    self->send(shard, meet_nodes{feeds});
  group.coordinator = self->spawn<caf::linked>(
    coordinator, coordinator_settings{settings.name, group.shards, state.store, owner_key(state),
                                      state.epoch, state.serving->events, ours.clock,
                                      std::move(contents.open), ours.most_domains_told});
  return group;
}

void ready_when_loaded(self_pointer self) {
  auto& state = self->state;
  if (state.started || !state.loading.empty())
    return;
  state.started = true;
  state.ready.deliver(absl::OkStatus());
}

/// Starts the group's actors from what the store holds of it.
void load_group(self_pointer self, const resource_group& settings) {
  auto& state = self->state;
  if (!state.loading.insert(settings.name).second)
    return;
  std::vector<std::string> prefixes;
  for (const auto kind : {'n', 'w', 'b', 'p'})
    prefixes.push_back(fmt::format("{}/{}.", kind, settings.name));
  read_all(self, std::move(prefixes), [self, settings](key_values found) {
    auto& s = self->state;
    auto contents = contents_of(s.serving->schema, found);
    if (!contents.ok()) {
      fail(self, contents.status());
      return;
    }
    contents->open = std::move(s.open[settings.name]);
    s.open.erase(settings.name);
    auto next = std::make_shared<directory>(*s.serving);
    next->groups[settings.name] = start_group(self, settings, *std::move(contents));
    s.serving = std::move(next);
    s.loading.erase(settings.name);
    publish(self);
    ready_when_loaded(self);
  });
}

/// A queue tree as the store has it.
struct tree_contents {
  catalog known = initial_catalog();
  by_name<quota_record> quota;
};

absl::StatusOr<tree_contents> tree_of(const key_values& found) {
  tree_contents tree;
  for (const auto& one : found) {
    const auto take = [&]<class T>(absl::StatusOr<T> record) {
      if (record.ok())
        put_in(tree.known, object{*std::move(record)});
      return record.status();
    };
    absl::Status taken;
    if (one.key.find("/class/") != std::string::npos) {
      taken = take(decode<priority_class>(one.value));
    } else if (one.key.find("/group/") != std::string::npos) {
      taken = take(decode<resource_group>(one.value));
    } else if (one.key.find("/quota/") != std::string::npos) {
      auto record = decode<quota_record>(one.value);
      taken = record.status();
      if (record.ok())
        tree.quota[std::string(keys::last_part(one.key))] = *std::move(record);
    } else {
      taken = take(decode<queue>(one.value));
    }
    if (!taken.ok())
      return absl::DataLossError(
        fmt::format("the record at {} can't be read: {}", one.key, std::string(taken.message())));
  }
  return tree;
}

/// Puts the decisions together again from their keys and chunks.
absl::Status gather_open_decisions(replica_state& state, const key_values& heads,
                                   const key_values& bodies) {
  std::map<std::string, open_decision> open;
  for (const auto& one : heads) {
    auto head = decode<decision_head>(one.value);
    if (!head.ok())
      return absl::DataLossError(fmt::format("the record at {} can't be read: {}", one.key,
                                             std::string(head.status().message())));
    open[std::string(keys::last_part(one.key))] = {std::move(head->summary), one.modified,
                                                   head->chunks};
  }
  for (const auto& one : bodies) {
    const auto id = keys::decision_of_body(one.key);
    if (const auto found = open.find(std::string(id)); found != open.end())
      if (auto added = add_body(found->second.what, one.value); !added.ok())
        return absl::DataLossError(
          fmt::format("the record at {} can't be read: {}", one.key, std::string(added.message())));
  }
  for (auto& [id, found] : open)
    state.open[found.what.resource_group].push_back(std::move(found));
  return absl::OkStatus();
}

/// Starts the queue shard; the groups follow from its catalog.
void load_catalog(self_pointer self, const schema_record& schema) {
  read_all(self, {"seq/"}, [self, schema](key_values sequences) {
    for (auto& one : sequences)
      self->state.sequences[one.key] = std::move(one);
    read_all(self, {fmt::format("q/{}/", tree)}, [self, schema](key_values found) {
      auto& state = self->state;
      auto contents = tree_of(found);
      if (!contents.ok()) {
        fail(self, contents.status());
        return;
      }
      auto serving = std::make_shared<directory>();
      serving->schema = schema;
      serving->store = state.store;
      serving->events = self->spawn<caf::linked>(event_log);
      serving->queues = self->spawn<caf::linked>(
        queue_shard, queue_shard_settings{
                       std::string(tree), std::move(contents->known), std::move(contents->quota),
                       ledger_for(state, fmt::format("q/{}", tree)), state.settings.clock});
      state.serving = std::move(serving);
      self->send(state.serving->queues, follow_catalog{self});
      self->send(self, prune_decisions{});
    });
  });
}

/// Erases the chunks of decisions that were never committed, some at a time, then goes on.
template <class F>
void erase_orphans(self_pointer self, std::vector<std::string> orphans, F done) {
  if (orphans.empty()) {
    done();
    return;
  }
  constexpr std::size_t at_once = 100;
  transaction erased{{{owner_key(self->state), compared::modified, self->state.epoch}}, {}};
  for (std::size_t i = 0; i < at_once && !orphans.empty(); ++i) {
    erased.operations.emplace_back(erase{with_prefix(keys::bodies_of(orphans.back()))});
    orphans.pop_back();
  }
  write_first(
    self, std::move(erased),
    [self, orphans = std::move(orphans), done](revision) { erase_orphans(self, orphans, done); },
    [self] { fail(self, absl::AbortedError("another replica has taken this one's place")); });
}

/// Finds the decisions that nobody can finish: they have chunks, but no key, open or done.
template <class F>
void drop_uncommitted(self_pointer self, F done) {
  const key_range all{std::string(keys::decision_bodies),
                      with_prefix(std::string(keys::open_decisions)).end};
  self->request(self->state.store, caf::infinite, range_request{all, 0, 0, true})
    .then([self, done](range_answer& answer) {
      if (!answer.ok()) {
        fail(self, answer.status());
        return;
      }
      std::set<std::string, std::less<>> known;
      std::set<std::string, std::less<>> written;
      for (const auto& one : answer->values) {
        if (one.key.starts_with(keys::decision_bodies))
          written.emplace(keys::decision_of_body(one.key));
        else
          known.emplace(keys::last_part(one.key));
      }
      std::vector<std::string> orphans;
      std::set_difference(written.begin(), written.end(), known.begin(), known.end(),
                          std::back_inserter(orphans));
      erase_orphans(self, std::move(orphans), done);
    });
}

void load_open_decisions(self_pointer self, const schema_record& schema) {
  read_all(self, {std::string(keys::open_decisions)}, [self, schema](key_values heads) {
    std::vector<std::string> bodies;
    for (const auto& one : heads)
      bodies.push_back(keys::bodies_of(keys::last_part(one.key)));
    read_all(self, std::move(bodies), [self, schema, heads](key_values chunks) {
      if (auto gathered = gather_open_decisions(self->state, heads, chunks); !gathered.ok())
        fail(self, gathered);
      else
        drop_uncommitted(self, [self, schema] { load_catalog(self, schema); });
    });
  });
}

/// Writes the owner record; its revision is the epoch of all that this replica does.
void take_ownership(self_pointer self, const schema_record& schema) {
  auto& state = self->state;
  const owner_record record{
    state.settings.name, state.settings.address, state.settings.clock.now(self), {}};
  write_first(
    self, transaction{{}, {put{owner_key(state), encode(record), 0}}},
    [self, schema](revision at) {
      self->state.epoch = at;
      load_open_decisions(self, schema);
    },
    [] {});
}

void check_schema(self_pointer self) {
  read_all(self, {std::string(keys::schema)}, [self](key_values found) {
    auto& settings = self->state.settings;
    if (!found.empty()) {
      const auto schema = decode<schema_record>(found.front().value);
      if (!schema.ok())
        fail(self, schema.status());
      else if (schema->version > schema_version)
        fail(self, absl::FailedPreconditionError(fmt::format(
                     "the store has schema version {}, this program knows versions up to {}; "
                     "run a newer reprieved",
                     schema->version, schema_version)));
      else
        take_ownership(self, *schema);
      return;
    }
    schema_record fresh;
    fresh.created = settings.clock.now(self);
    fresh.cluster = fmt::format("{:x}", fresh.created.time_since_epoch().count());
    fresh.node_shards = settings.node_shards;
    fresh.workload_shards = settings.workload_shards;
    const std::string key(keys::schema);
    write_first(
      self, transaction{{{key, compared::modified, 0}}, {put{key, encode(fresh), 0}}},
      [self, fresh](revision) { take_ownership(self, fresh); }, [self] { check_schema(self); });
  });
}

/// Deletes finished decisions, and their chunks, that ended before the time to keep them.
void prune(self_pointer self) {
  auto& state = self->state;
  const auto oldest = state.settings.clock.now(self) - state.settings.keep_decisions;
  key_range old{std::string(keys::done_decisions), keys::done_decision(oldest, "")};
  self->request(state.store, answer_time, range_request{old, 60, 0, true})
    .then(
      [self](range_answer& answer) {
        if (!answer.ok() || answer->values.empty())
          return;
        transaction erased{{{owner_key(self->state), compared::modified, self->state.epoch}}, {}};
        for (const auto& one : answer->values) {
          erased.operations.emplace_back(erase{just(one.key)});
          erased.operations.emplace_back(
            erase{with_prefix(keys::bodies_of(keys::last_part(one.key)))});
        }
        self->request(self->state.store, answer_time, std::move(erased))
          .then(
            [self, more = answer->more](transaction_answer& done) {
              if (more && done.ok() && done->succeeded)
                prune(self);
            },
            [](caf::error&) {});
      },
      [](caf::error&) {});
}

} // namespace

replica_actor::behavior_type replica(self_pointer self, replica_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  state.store = self->spawn<caf::linked>(store_door, state.settings.behind);
  // Serving without one of its actors would be pretending.
  self->set_exit_handler([self](const caf::exit_msg& ended) {
    if (ended.reason == lost_ownership() && self->state.settings.lost)
      self->state.settings.lost(
        "its shards are another replica's, or the store refuses its writes");
    self->quit(caf::exit_reason::user_shutdown);
  });
  return {
    [self](start_serving) -> caf::result<absl::Status> {
      self->state.ready = self->make_response_promise<absl::Status>();
      check_schema(self);
      return self->state.ready;
    },
    [self](const catalog_update& update) {
      for (const auto& [name, group] : update.known->groups)
        if (!self->state.serving->groups.contains(name))
          load_group(self, group);
    },
    [self](follow_directory& wanted) {
      if (self->state.serving)
        self->send(wanted.follower, directory_update{self->state.serving});
      self->state.followers.push_back(std::move(wanted.follower));
    },
    [self](prune_decisions) {
      prune(self);
      self->delayed_send(self, prune_interval, prune_decisions{});
    },
  };
}

} // namespace reprieve
