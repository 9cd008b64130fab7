#include "actors/replica/shard_loader.hpp"

#include "actors/durability/promised_writes.hpp"
#include "actors/durability/store_reading.hpp"
#include "protocol/records/records_reading.hpp"
#include "state/admission/queue_cycles.hpp"
#include "state/membership/membership_rules.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

namespace reprieve {

namespace {

using contents_pointer = std::shared_ptr<shard_contents>;

absl::Status unreadable(const std::string& key, const absl::Status& why) {
  return absl::DataLossError(
    fmt::format("the record at {} can't be read: {}", key, std::string(why.message())));
}

/// Remembers that the object's record can't be read; all others are served.
void put_aside(shard_contents& contents, object_kind kind, std::string_view name,
               const key_value& from, const absl::Status& why) {
  const auto known = std::ranges::find_if(
    contents.aside, [&](const set_aside& one) { return one.kind == kind && one.name == name; });
  if (known != contents.aside.end()) { // a part of it can't be read either
    known->beside.push_back(from.key);
    return;
  }
  set_aside one{kind, std::string(name), {}, from.key, std::string(why.message())};
  if (!in_catalog(kind))
    one.resource_group = group_of_shard(keys::shard_of(from.key));
  contents.aside.push_back(std::move(one));
}

template <class Record>
void take_record(const key_value& from, object_kind kind, shard_contents& contents,
                 typename record_table<Record>::map_type& table) {
  const auto name = keys::last_part(from.key);
  auto record = read_record<Record>(from.key, from.value);
  if (record.ok()) {
    table.emplace(name, std::make_shared<const Record>(*std::move(record)));
    return;
  }
  put_aside(contents, kind, name, from, record.status());
  if (kind == object_kind::workload)
    contents.salvaged.emplace(
      name, std::make_shared<const workload_record>(salvage_workload(from.key, from.value)));
}

/// Of a node whose record can't be read, what can be told of it is there for all to see.
void take_node(const key_value& from, shard_contents& contents) {
  const std::string name(keys::last_part(from.key));
  auto record = read_record<node_record>(from.key, from.value);
  if (record.ok()) {
    contents.nodes.emplace(name, std::make_shared<const node_record>(*std::move(record)));
    return;
  }
  put_aside(contents, object_kind::node, name, from, record.status());
  auto found = salvage_node(from.key, from.value);
  contents.aside.back().hides_pods = found.hides_pods;
  contents.nodes.emplace(name, std::make_shared<const node_record>(std::move(found.record)));
}

template <class Record>
bool take_entry(const key_value& one, object_kind kind, shard_contents& contents) {
  auto record = read_record<Record>(one.key, one.value);
  if (record.ok())
    put_in(contents.known, object{*std::move(record)});
  else
    put_aside(contents, kind, keys::last_part(one.key), one, record.status());
  return record.ok();
}

void take_from_tree(const key_value& one, shard_contents& contents) {
  const std::string name(keys::last_part(one.key));
  if (one.key.find("/class/") != std::string::npos) {
    take_entry<priority_class>(one, object_kind::priority_class, contents);
  } else if (one.key.find("/group/") != std::string::npos) {
    // Others' settings would be no better than none: nothing there is decided by them.
    if (!take_entry<resource_group>(one, object_kind::resource_group, contents))
      contents.known.groups.erase(name);
  } else if (one.key.find("/new/") != std::string::npos) {
    contents.unfinished.insert(name);
  } else if (one.key.find("/quota/") != std::string::npos) {
    if (auto record = read_record<quota_record>(one.key, one.value); record.ok())
      contents.quota[name] = *std::move(record);
    else
      contents.begun_anew.push_back(
        fmt::format("what queue {} is allocated is worked out anew: {}", name,
                    std::string(unreadable(one.key, record.status()).message())));
  } else if (!take_entry<queue>(one, object_kind::queue, contents)) {
    // Its work goes on.
    contents.known.queues[name] = queue_of_no_settings(name);
  }
}

/// The queues of a cycle are set aside, and what is below them goes on below queues like new: all
/// who follow parents count on coming to the top.
void put_cycles_aside(shard_contents& contents) {
  for (const auto& cycle : cycles_in(contents.known.queues)) {
    const auto why = absl::DataLossError("its parents lead back to itself: " + describe(cycle));
    for (const auto& name : cycle) {
      put_aside(contents, object_kind::queue, name,
                {.key = keys::queue(queue_tree, name), .value = {}}, why);
      contents.known.queues[name] = queue_of_no_settings(name);
    }
  }
}

void take_page(const key_value& from, shard_contents& contents) {
  const auto [workload, number] = keys::page_at(from.key);
  auto page = read_record<slot_page>(from.key, from.value);
  if (!page.ok()) {
    put_aside(contents, object_kind::workload, workload, from, page.status());
    return;
  }
  page->number = number;
  contents.slot_pages[std::string(workload)].push_back(*std::move(page));
}

/// Puts the pages of slots into the records of the workloads they are of. A workload of which a
/// page can't be read is set aside whole.
void put_pages_in(shard_contents& contents) {
  for (auto& one : contents.aside) {
    if (one.kind != object_kind::workload)
      continue;
    if (const auto found = contents.workloads.find(one.name); found != contents.workloads.end()) {
      auto goes = *found->second;
      goes.slots = {};
      goes.deleting = true;
      contents.salvaged.insert_or_assign(one.name,
                                         std::make_shared<const workload_record>(std::move(goes)));
      contents.workloads.erase(found);
    }
    if (const auto pages = contents.slot_pages.find(one.name); pages != contents.slot_pages.end())
      for (const auto& page : pages->second)
        one.beside.push_back(keys::slot_page(keys::shard_of(one.key), one.name, page.number));
    if (one.key.starts_with(keys::slot_pages))
      one.beside.push_back(one.key);
  }
  for (auto& [name, pages] : std::exchange(contents.slot_pages, {}))
    if (const auto found = contents.workloads.find(name); found != contents.workloads.end()) {
      auto whole = std::make_shared<workload_record>(*found->second);
      for (const auto& own : whole->slots.pages())
        pages.push_back(*own);
      whole->slots = slot_list::of_pages(std::move(pages));
      found->second = std::move(whole);
    }
}

/// What a node that was deleted may still run. Where that can't be read, no node of the name comes.
void take_left_behind(const key_value& one, shard_contents& contents) {
  const auto name = keys::last_part(one.key);
  if (auto left = read_record<left_pods>(one.key, one.value); left.ok())
    contents.left_behind[std::string(name)] = *std::move(left);
  else
    put_aside(contents, object_kind::node, name, one, left.status());
}

absl::Status take(const key_value& one, shard_contents& contents) {
  if (one.key.starts_with(keys::slot_pages)) {
    take_page(one, contents);
    return absl::OkStatus();
  }
  switch (one.key.front()) {
  case 'n':
    take_node(one, contents);
    break;
  case 'l':
    take_left_behind(one, contents);
    break;
  case 'w':
    take_record<workload_record>(one, object_kind::workload, contents, contents.workloads);
    break;
  case 'b':
    take_record<disruption_budget>(one, object_kind::disruption_budget, contents, contents.budgets);
    break;
  case 'p':
    take_record<placement>(one, object_kind::placement, contents, contents.placements);
    break;
  case 'q':
    take_from_tree(one, contents);
    break;
  default:
    // It says what must not be carried out once more: without it nothing of the shard is safe.
    if (auto record = read_record<sequence_record>(one.key, one.value); !record.ok())
      return unreadable(one.key, record.status());
    contents.sequence = one;
  }
  return absl::OkStatus();
}

/// Whether the decision is one of the resource group: its name ends with the group's.
bool is_of(std::string_view decision, std::string_view group) {
  const auto second = decision.find('.', decision.find('.') + 1);
  return second != std::string_view::npos && decision.substr(second + 1) == group;
}

/// One loading, under way.
class loading : public std::enable_shared_from_this<loading> {
public:
  loading(caf::event_based_actor* self, shard_loader_settings settings)
      : self_(self), settings_(std::move(settings)) {}

  void run() {
    if (settings_.shard.starts_with("c/"))
      read_decisions();
    else
      find_promises();
  }

private:
  void tell(absl::StatusOr<contents_pointer> contents) {
    self_->send(settings_.listener,
                shard_loaded{settings_.shard, settings_.owner, std::move(contents)});
    self_->quit();
  }

  /// Reads, and goes on with `then` unless it can't be read.
  template <class F>
  void read(std::vector<std::string> prefixes, F then) {
    read_all(self_, settings_.store, std::move(prefixes),
             [me = shared_from_this(), then](absl::StatusOr<key_values> found) {
               if (found.ok())
                 then(*std::move(found));
               else
                 me->tell(found.status());
             });
  }

  /// What the shard has promised to write comes before what it has written.
  void find_promises() {
    read({keys::promises_of(settings_.shard)}, [me = shared_from_this()](const key_values& found) {
      if (found.empty())
        me->read_records();
      else
        me->read_promises(found);
    });
  }

  void read_promises(const key_values& found) {
    std::vector<promised_chunk> chunks;
    for (const auto& one : found) {
      auto chunk = read_chunk(one);
      if (!chunk.ok()) {
        tell(unreadable(one.key, chunk.status()));
        return;
      }
      chunks.push_back(*std::move(chunk));
    }
    read({keys::sequence(settings_.shard)},
         [me = shared_from_this(), chunks = std::move(chunks)](const key_values& sequence) {
           for (const auto& one : sequence)
             if (one.key == keys::sequence(me->settings_.shard)) {
               const auto record = decode<sequence_record>(one.value);
               if (!record.ok()) {
                 me->tell(unreadable(one.key, record.status()));
                 return;
               }
               me->settle_promises(chunks, *record);
               return;
             }
           me->settle_promises(chunks, {});
         });
  }

  /// Those of the newest batch are made good, if it was committed with them. All others were never
  /// committed.
  void settle_promises(std::vector<promised_chunk> chunks, const sequence_record& newest) {
    if (chunks.empty()) {
      read_records();
      return;
    }
    const auto next = std::move(chunks.back());
    chunks.pop_back();
    const auto [batch, number] = keys::promised_by(next.key);
    const bool counts = batch == newest.number && number < newest.promised;
    auto writes = counts ? make_good(next) : take_back(next);
    writes.comparisons.push_back(settings_.held);
    self_->request(settings_.store, caf::infinite, std::move(writes))
      .then(
        [me = shared_from_this(), chunks = std::move(chunks), newest](transaction_answer& answer) {
          if (answer.ok() && answer->succeeded)
            me->settle_promises(chunks, newest);
          else
            me->tell(absl::UnavailableError(
              answer.ok() ? "somebody else makes good what the shard has promised"
                          : std::string(answer.status().message())));
        },
        [me = shared_from_this()](caf::error& error) { me->tell(to_status(error)); });
  }

  void read_records() {
    const auto& shard = settings_.shard;
    std::vector<std::string> prefixes{keys::sequence(shard), shard + "/"};
    if (shard.starts_with("n/"))
      prefixes.push_back("l" + shard.substr(1) + "/");
    if (shard.starts_with("w/"))
      for (const auto* kind : {"b", "p", "slots"})
        prefixes.push_back(kind + shard.substr(1) + "/");
    auto contents = std::make_shared<shard_contents>();
    read_pages(
      self_, settings_.store, std::move(prefixes),
      [contents, sequence = keys::sequence(shard)](const key_values& found) {
        for (const auto& one : found) {
          // A prefix finds `seq/n/group.10` beside `seq/n/group.1`.
          if (one.key.starts_with("seq/") && one.key != sequence)
            continue;
          if (auto taken = take(one, *contents); !taken.ok())
            return taken;
        }
        return absl::OkStatus();
      },
      [me = shared_from_this(), contents](const absl::Status& how) {
        put_pages_in(*contents);
        put_cycles_aside(*contents);
        for (auto& one : contents->aside)
          one.since = me->settings_.now;
        if (how.ok())
          me->tell(contents);
        else
          me->tell(how);
      });
  }

  std::string group() const {
    return settings_.shard.substr(2);
  }

  void read_decisions() {
    read({std::string(keys::open_decisions)}, [me = shared_from_this()](key_values heads) {
      std::erase_if(
        heads, [&](const key_value& one) { return !is_of(keys::last_part(one.key), me->group()); });
      std::vector<std::string> bodies;
      for (const auto& one : heads)
        bodies.push_back(keys::bodies_of(keys::last_part(one.key)));
      me->read(std::move(bodies), [me, heads = std::move(heads)](key_values chunks) {
        auto open = me->put_together(heads, chunks);
        if (open.ok())
          me->find_barred(*std::move(open));
        else
          me->tell(open.status());
      });
    });
  }

  /// Puts the decisions together again from their keys and chunks.
  absl::StatusOr<contents_pointer> put_together(const key_values& heads, const key_values& bodies) {
    std::map<std::string, open_decision, std::less<>> open;
    for (const auto& one : heads) {
      auto head = decode<decision_head>(one.value);
      if (!head.ok())
        return unreadable(one.key, head.status());
      open[std::string(keys::last_part(one.key))] = {std::move(head->summary), one.modified,
                                                     head->chunks};
    }
    for (const auto& one : bodies)
      if (const auto found = open.find(keys::decision_of_body(one.key));
          found != open.end() && !keys::is_finished_head(one.key)) {
        if (auto added = add_body(found->second.what, one.value); !added.ok())
          return unreadable(one.key, added);
        found->second.body_bytes += std::ssize(one.value);
      }
    auto contents = std::make_shared<shard_contents>();
    for (auto& [id, found] : open)
      contents->open.push_back(std::move(found));
    return contents;
  }

  /// The keys that kept this group's decisions of earlier epochs from being committed late: nobody
  /// can do that any more.
  void find_barred(contents_pointer contents) {
    read({std::string(keys::barred_decisions)},
         [me = shared_from_this(), contents](key_values barred) {
           for (const auto& one : barred)
             if (is_of(keys::last_part(one.key), me->group()))
               contents->barred.emplace_back(keys::last_part(one.key));
           me->find_drafts(contents);
         });
  }

  /// Finds the decisions that nobody can finish: they have chunks, and were never committed. Those
  /// that were have no draft any more. Where a shard has written the abort, the decision ends as
  /// others do, and only its draft goes.
  void find_drafts(contents_pointer contents) {
    read({std::string(keys::drafts)}, [me = shared_from_this(), contents](const key_values& found) {
      std::set<std::string_view> open;
      for (const auto& one : contents->open)
        open.insert(one.what.id);
      std::vector<operation> erased;
      for (const auto& one : found) {
        const auto id = keys::last_part(one.key);
        if (!is_of(id, me->group()))
          continue;
        erased.emplace_back(erase{just(one.key)});
        if (!open.contains(id))
          erased.emplace_back(erase{with_prefix(keys::bodies_of(id))});
      }
      me->erase_drafts(std::move(erased), contents);
    });
  }

  /// Erases what they have written, some at a time. A draft stands before its chunks, which go
  /// first.
  void erase_drafts(std::vector<operation> erased, contents_pointer contents) {
    if (erased.empty()) {
      tell(std::move(contents));
      return;
    }
    constexpr std::size_t at_once = 100;
    const auto some = erased.end() - static_cast<std::ptrdiff_t>(std::min(at_once, erased.size()));
    transaction part{{settings_.held}, {some, erased.end()}};
    erased.erase(some, erased.end());
    self_->request(settings_.store, caf::infinite, std::move(part))
      .then(
        [me = shared_from_this(), erased = std::move(erased),
         contents](transaction_answer& answer) {
          if (answer.ok() && answer->succeeded)
            me->erase_drafts(erased, contents);
          else // they are in nobody's way, and whoever comes next finds them again
            me->tell(contents);
        },
        [me = shared_from_this()](caf::error& error) { me->tell(to_status(error)); });
  }

  caf::event_based_actor* self_;
  shard_loader_settings settings_;
};

} // namespace

catalog catalog_in(const key_values& tree) {
  shard_contents contents;
  for (const auto& one : tree)
    take_from_tree(one, contents);
  put_cycles_aside(contents);
  return std::move(contents.known);
}

caf::behavior load_shard(caf::event_based_actor* self, shard_loader_settings settings) {
  std::make_shared<loading>(self, std::move(settings))->run();
  return {};
}

} // namespace reprieve
