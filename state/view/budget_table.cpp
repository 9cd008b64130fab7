#include "state/view/budget_table.hpp"

#include "state/containers/heap_size.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace reprieve {

namespace {

void append(std::string& text, std::string_view part) {
  const auto length = static_cast<std::uint32_t>(part.size());
  text.append(reinterpret_cast<const char*>(&length), sizeof(length));
  text.append(part);
}

std::string_view take_part(std::string_view& text) {
  std::uint32_t length = 0;
  std::memcpy(&length, text.data(), sizeof(length));
  const auto part = text.substr(sizeof(length), length);
  text.remove_prefix(sizeof(length) + length);
  return part;
}

/// All pairs in one text, each part after its length, so that no character needs an escape.
std::string label_text(const string_map& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    append(text, key);
    append(text, value);
  }
  return text;
}

string_map labels_of(std::string_view text) {
  string_map labels;
  while (!text.empty()) {
    const auto key = take_part(text);
    labels.emplace_hint(labels.end(), key, take_part(text));
  }
  return labels;
}

} // namespace

void budget_table::put(const disruption_budget& budget) {
  const auto [mine, added] = given_.try_emplace(budget.name, budget);
  if (!added && mine->second == budget)
    return;
  mine->second = budget;
  changed_ = true;
}

void budget_table::remove(std::string_view name) {
  const auto found = given_.find(name);
  if (found == given_.end())
    return;
  given_.erase(found);
  changed_ = true;
}

/// With one more reference to the set.
budget_table::label_set budget_table::hold(const string_map& labels) {
  const auto set = label_texts_.intern(label_text(labels));
  if (set >= sets_.size())
    sets_.resize(set + 1);
  if (label_texts_.references(set) == 1)
    sets_[set].budgets = match(labels);
  return set;
}

budget_table::label_set budget_table::add(const string_map& labels, bool running) {
  const auto set = hold(labels);
  auto& counted = sets_[set];
  counted.running += running ? 1 : 0;
  for (const auto row : counted.budgets) {
    ++budgets_[row].expected;
    budgets_[row].running += running ? 1 : 0;
  }
  return set;
}

void budget_table::drop(label_set labels, bool running) {
  auto& counted = sets_[labels];
  counted.running -= running ? 1 : 0;
  for (const auto row : counted.budgets) {
    --budgets_[row].expected;
    budgets_[row].running -= running ? 1 : 0;
  }
  label_texts_.release(labels);
}

void budget_table::count_running(label_set labels, bool running) {
  const std::int32_t more = running ? 1 : -1;
  auto& counted = sets_[labels];
  counted.running += static_cast<std::uint32_t>(more);
  for (const auto row : counted.budgets)
    budgets_[row].running += more;
}

void budget_table::expect(const string_map& labels, std::int64_t pods) {
  const auto set = hold(labels);
  auto& counted = sets_[set];
  const std::int64_t before = counted.waiting;
  const auto after = std::max<std::int64_t>(before + pods, 0);
  assert(after <= std::numeric_limits<std::uint32_t>::max());
  counted.waiting = static_cast<std::uint32_t>(after);
  for (const auto row : counted.budgets)
    budgets_[row].expected += after - before;
  if (before > 0)
    label_texts_.release(set);
  if (after == 0)
    label_texts_.release(set);
}

void budget_table::settle() {
  if (!changed_)
    return;
  changed_ = false;
  budgets_.clear();
  by_first_pair_.clear();
  for_all_.clear();
  for (const auto& [name, budget] : given_) {
    const auto row = static_cast<std::uint32_t>(budgets_.size());
    budgets_.push_back({budget});
    if (budget.match_labels.empty()) {
      for_all_.push_back(row);
    } else {
      const auto& [key, value] = *budget.match_labels.begin();
      by_first_pair_[key][value].push_back(row);
    }
  }
  for (label_set set = 0; set < sets_.size(); ++set) {
    const std::int64_t references = label_texts_.references(set);
    if (references == 0)
      continue;
    auto& counted = sets_[set];
    const auto pods = references - (counted.waiting > 0 ? 1 : 0) + counted.waiting;
    counted.budgets = match(labels_of(label_texts_.text(set)));
    for (const auto row : counted.budgets) {
      budgets_[row].expected += pods;
      budgets_[row].running += counted.running;
    }
  }
}

std::vector<std::uint32_t> budget_table::match(const string_map& labels) const {
  auto rows = for_all_;
  for (const auto& [key, value] : labels) {
    const auto with_key = by_first_pair_.find(key);
    if (with_key == by_first_pair_.end())
      continue;
    const auto with_pair = with_key->second.find(value);
    if (with_pair == with_key->second.end())
      continue;
    for (const auto row : with_pair->second)
      if (matches(budgets_[row].budget.match_labels, labels))
        rows.push_back(row);
  }
  std::ranges::sort(rows);
  rows.shrink_to_fit();
  return rows;
}

std::int64_t budget_table::allowed(std::uint32_t row) const {
  const auto& counted = budgets_[row];
  return disruptions_allowed(counted.budget, counted.expected, counted.running);
}

std::size_t budget_table::memory() const {
  constexpr std::size_t links = 4 * sizeof(void*);
  auto bytes = label_texts_.memory() + heap_size(sets_) + heap_size(budgets_) + heap_size(for_all_);
  for (const auto& set : sets_)
    bytes += heap_size(set.budgets);
  // Once as given and once with its counts; what finds it by its first pair is about as large.
  for (const auto& counted : budgets_)
    bytes += 2 * (heap_size(counted.budget.name) + heap_size(counted.budget.match_labels))
             + 2 * heap_block(links + sizeof(disruption_budget));
  return bytes;
}

} // namespace reprieve
