#include "protocol/peers/paged_deltas.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// Of those that are not, all slots are told each time.
bool is_large(const slot_list& slots) {
  return slots.pages().size() > 1;
}

/// What both sides remember of what was told.
void remember(name_map<slot_list>& known, const workload_delta& told) {
  if (told.everything)
    known.clear();
  for (const auto& name : told.removed)
    known.erase(name);
  for (const auto& record : told.changed) {
    const auto& name = record->spec->name;
    if (is_large(record->slots))
      known.insert_or_assign(name, record->slots);
    else
      known.erase(name);
  }
}

slot_page_changes changes_of(const std::string& workload, const slot_list& before,
                             const slot_list& next) {
  slot_page_changes found{workload, {}, {}};
  const auto pages = slot_list::difference(before, next);
  found.changed = pages.next;
  for (const auto& page : pages.before)
    if (std::ranges::none_of(pages.next,
                             [&](const auto& other) { return other->number == page->number; }))
      found.gone.push_back(page->number);
  return found;
}

} // namespace

workload_delta paged_deltas_out::without_known(const workload_delta& whole) {
  auto delta = whole;
  for (auto& record : delta.changed) {
    if (!is_large(record->slots))
      continue;
    const auto& name = record->spec->name;
    const auto before = whole.everything ? known_.end() : known_.find(name);
    delta.pages.push_back(
      changes_of(name, before == known_.end() ? slot_list{} : before->second, record->slots));
    auto bare = std::make_shared<workload_record>(*record);
    bare->slots = {};
    record = std::move(bare);
  }
  remember(known_, whole);
  return delta;
}

void paged_deltas_in::complete(workload_delta& delta) {
  name_map<const slot_page_changes*> paged;
  for (const auto& one : delta.pages)
    paged.emplace(one.workload, &one);
  for (auto& record : delta.changed) {
    const auto changes = paged.find(record->spec->name);
    if (changes == paged.end())
      continue;
    const auto before = delta.everything ? known_.end() : known_.find(record->spec->name);
    std::vector<slot_page> changed;
    for (const auto& page : changes->second->changed)
      changed.push_back(*page);
    auto whole = std::make_shared<workload_record>(*record);
    whole->slots = (before == known_.end() ? slot_list{} : before->second)
                     .with(std::move(changed), changes->second->gone);
    record = std::move(whole);
  }
  delta.pages.clear();
  remember(known_, delta);
}

} // namespace reprieve
