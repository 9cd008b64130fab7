#include "state/model/slot_list.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace reprieve {

namespace {

const pod_slot& place_of(const slot_record& one) {
  return one.slot;
}

const pod_slot& first_of(const slot_list::page_pointer& page) {
  return page->slots.front().slot;
}

/// Puts them in order; of several of one place the last stays.
void put_in_order(std::vector<slot_record>& slots) {
  if (std::ranges::adjacent_find(slots, std::ranges::greater_equal{}, place_of) == slots.end())
    return;
  std::ranges::reverse(slots);
  std::ranges::stable_sort(slots, {}, place_of);
  const auto twice = std::ranges::unique(slots, {}, place_of);
  slots.erase(twice.begin(), twice.end());
}

/// The slots of some pages, none of which is empty, one after the other.
class slots_in_turn {
public:
  explicit slots_in_turn(std::span<const slot_list::page_pointer> pages) : pages_(pages) {}

  slot_list::const_iterator begin() const {
    return {pages_.data(), 0};
  }
  slot_list::const_iterator end() const {
    return {pages_.data() + pages_.size(), 0};
  }

private:
  std::span<const slot_list::page_pointer> pages_;
};

} // namespace

slot_list::slot_list(std::vector<slot_record> slots) {
  put_in_order(slots);
  for (std::size_t from = 0; from < slots.size(); from += page_size) {
    const auto behind = std::min(from + page_size, slots.size());
    auto page = std::make_shared<slot_page>();
    page->number = next_number_++;
    page->slots.assign(
      std::make_move_iterator(slots.begin() + static_cast<std::ptrdiff_t>(from)),
      std::make_move_iterator(slots.begin() + static_cast<std::ptrdiff_t>(behind)));
    pages_.push_back(std::move(page));
  }
}

slot_list slot_list::of_pages(std::vector<slot_page> pages) {
  slot_list list;
  std::ranges::sort(pages, std::ranges::greater{}, &slot_page::number);
  if (!pages.empty())
    list.next_number_ = pages.front().number + 1;
  // From the newest on: what an older one has beyond the beginning of a newer was moved there.
  for (auto& page : pages) {
    put_in_order(page.slots);
    std::erase_if(page.slots,
                  [&](const slot_record& one) { return list.find(one.slot) != nullptr; });
    if (page.slots.empty())
      continue;
    auto shared = std::make_shared<slot_page>(std::move(page));
    const auto at = std::ranges::lower_bound(list.pages_, shared->slots.front().slot, {}, first_of);
    list.pages_.insert(at, std::move(shared));
  }
  list.stored_in_pages_ = true;
  return list;
}

std::size_t slot_list::size() const {
  std::size_t slots = 0;
  for (const auto& page : pages_)
    slots += page->slots.size();
  return slots;
}

/// The last page that begins at or before the slot, else the first.
std::size_t slot_list::page_of(const pod_slot& slot) const {
  const auto behind = std::ranges::upper_bound(pages_, slot, {}, first_of);
  return behind == pages_.begin() ? 0 : static_cast<std::size_t>(behind - pages_.begin()) - 1;
}

const slot_record* slot_list::find(const pod_slot& slot) const {
  if (pages_.empty())
    return nullptr;
  const auto& slots = pages_[page_of(slot)]->slots;
  const auto found = std::ranges::lower_bound(slots, slot, {}, place_of);
  return found != slots.end() && found->slot == slot ? &*found : nullptr;
}

const slot_record* slot_list::last_before(const pod_slot& slot) const {
  if (pages_.empty())
    return nullptr;
  auto page = page_of(slot);
  const auto& slots = pages_[page]->slots;
  const auto found = std::ranges::lower_bound(slots, slot, {}, place_of);
  if (found != slots.begin())
    return &*std::prev(found);
  return page == 0 ? nullptr : &pages_[page - 1]->slots.back();
}

/// The page, which no other list has.
slot_page& slot_list::own(std::size_t page) {
  auto& at = pages_[page];
  if (at.use_count() > 1)
    at = std::make_shared<slot_page>(*at);
  else // letting go of it once more comes behind the last who did so, and had read it
    std::shared_ptr<const slot_page>(at).reset();
  return const_cast<slot_page&>(*at); // NOLINT: it was made as one that may change
}

slot_record& slot_list::edit(const pod_slot& slot) {
  if (pages_.empty()) {
    auto first = std::make_shared<slot_page>();
    first->number = next_number_++;
    first->slots.push_back({slot, 0, slot_state::wanted, {}});
    pages_.push_back(std::move(first));
  }
  const auto at = page_of(slot);
  auto& slots = own(at).slots;
  const auto found = std::ranges::lower_bound(slots, slot, {}, place_of);
  if (found != slots.end() && found->slot == slot)
    return *found;
  const auto made = slots.insert(found, {slot, 0, slot_state::wanted, {}});
  if (slots.size() <= page_size)
    return *made;
  split(at);
  return edit(slot);
}

/// Gives the second half to a new page. Where slots come in order, the last one goes alone, so that
/// pages get full.
void slot_list::split(std::size_t page) {
  auto& slots = own(page).slots;
  const bool is_last = page + 1 == pages_.size();
  const auto stay = slots.begin()
                    + static_cast<std::ptrdiff_t>(
                      is_last ? slots.size() - 1 : std::max<std::size_t>(1, slots.size() / 2));
  auto next = std::make_shared<slot_page>();
  next->number = next_number_++;
  next->slots.assign(std::make_move_iterator(stay), std::make_move_iterator(slots.end()));
  slots.erase(stay, slots.end());
  pages_.insert(pages_.begin() + static_cast<std::ptrdiff_t>(page) + 1, std::move(next));
}

bool slot_list::operator==(const slot_list& other) const {
  if (std::ranges::equal(pages_, other.pages_, [](const page_pointer& a, const page_pointer& b) {
        return a == b || a->slots == b->slots;
      }))
    return true;
  return size() == other.size() && std::equal(begin(), end(), other.begin());
}

slot_list::page_difference slot_list::difference(const slot_list& before, const slot_list& next) {
  page_difference found;
  auto old = before.pages_.begin();
  auto now = next.pages_.begin();
  while (old != before.pages_.end() && now != next.pages_.end())
    if (*old == *now) {
      ++old;
      ++now;
    } else if (first_of(*old) <= first_of(*now)) {
      found.before.push_back(*old++);
    } else {
      found.next.push_back(*now++);
    }
  found.before.insert(found.before.end(), old, before.pages_.end());
  found.next.insert(found.next.end(), now, next.pages_.end());
  return found;
}

slot_list slot_list::with(std::vector<slot_page> changed,
                          std::span<const std::uint32_t> gone) const {
  slot_list next;
  next.next_number_ = next_number_;
  next.stored_in_pages_ = true;
  const auto is_other = [&](const page_pointer& page) {
    return std::ranges::find(gone, page->number) != gone.end()
           || std::ranges::find(changed, page->number, &slot_page::number) != changed.end();
  };
  std::ranges::remove_copy_if(pages_, std::back_inserter(next.pages_), is_other);
  for (auto& page : changed) {
    put_in_order(page.slots);
    next.next_number_ = std::max(next.next_number_, page.number + 1);
    if (!page.slots.empty())
      next.pages_.push_back(std::make_shared<slot_page>(std::move(page)));
  }
  std::ranges::sort(next.pages_, {}, first_of);
  return next;
}

std::vector<pod_slot> slot_list::changed_slots(const slot_list& before, const slot_list& next) {
  const auto pages = difference(before, next);
  const slots_in_turn old_slots{pages.before};
  const slots_in_turn new_slots{pages.next};
  std::vector<pod_slot> changed;
  auto old = old_slots.begin();
  auto now = new_slots.begin();
  while (old != old_slots.end() || now != new_slots.end()) {
    const bool old_first =
      now == new_slots.end() || (old != old_slots.end() && old->slot < now->slot);
    const bool both = !old_first && old != old_slots.end() && old->slot == now->slot;
    if (!both || !(*old == *now))
      changed.push_back(old_first ? old->slot : now->slot);
    if (old_first || both)
      ++old;
    if (!old_first)
      ++now;
  }
  return changed;
}

} // namespace reprieve
