#pragma once

#include "state/model/workload.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reprieve {

/// Whether a pod should stand at a slot.
enum class slot_state {
  wanted,
  stopped,   ///< preempted, and not coming back
  succeeded, ///< ran to its end
  failed
};

/// What a slot went through; one that never went through anything has no record.
struct slot_record {
  pod_slot slot;
  std::uint32_t incarnation = 0; ///< counts the pods that stood here before
  slot_state state = slot_state::wanted;
  std::string decision; ///< that took the last of them

  bool operator==(const slot_record&) const = default;
};

/// A piece of a workload's slots, small enough for the store.
struct slot_page {
  std::uint32_t number = 0;       ///< stays as it is; 0 stands in the workload's own record
  std::vector<slot_record> slots; ///< in order

  bool operator==(const slot_page&) const = default;
};

/// The slots of a workload that went through something, in order. There may be a million, so they
/// come in pages: copies share those that are the same, and only pages that have changed are
/// written. A page that gets too long gives its last slots to a new one, with a higher number than
/// all before; so where two pages have a slot, as a write was interrupted, the higher one is right.
class slot_list {
public:
  using page_pointer = std::shared_ptr<const slot_page>;

  /// How many slots a page has at most; fewer where a test wants many pages.
  static inline std::size_t page_size = 512;

  class const_iterator {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = slot_record;
    using difference_type = std::ptrdiff_t;
    using pointer = const slot_record*;
    using reference = const slot_record&;

    const_iterator() = default;
    const_iterator(const page_pointer* page, std::size_t at) : page_(page), at_(at) {}

    reference operator*() const {
      return (*page_)->slots[at_];
    }
    pointer operator->() const {
      return &**this;
    }
    const_iterator& operator++() {
      if (++at_ == (*page_)->slots.size()) {
        ++page_;
        at_ = 0;
      }
      return *this;
    }
    const_iterator operator++(int) {
      auto before = *this;
      ++*this;
      return before;
    }
    bool operator==(const const_iterator&) const = default;

  private:
    const page_pointer* page_ = nullptr;
    std::size_t at_ = 0;
  };
  using iterator = const_iterator;
  using value_type = slot_record;

  slot_list() = default;
  /// Of slots in any order; of several of one place the last counts.
  slot_list(std::vector<slot_record> slots); // NOLINT: that is what a list of slots is
  slot_list(std::initializer_list<slot_record> slots)
      : slot_list(std::vector<slot_record>(slots)) {}
  /// Of pages as the store has them, the one of the workload's own record among them.
  static slot_list of_pages(std::vector<slot_page> pages);

  const_iterator begin() const {
    return {pages_.data(), 0};
  }
  const_iterator end() const {
    return {pages_.data() + pages_.size(), 0};
  }
  bool empty() const {
    return pages_.empty();
  }
  std::size_t size() const;

  /// Null where it is not there.
  const slot_record* find(const pod_slot& slot) const;

  /// The last one before it; null where there is none.
  const slot_record* last_before(const pod_slot& slot) const;

  /// To be changed, but for its place; made where it is not there. Until the next call.
  slot_record& edit(const pod_slot& slot);

  void push_back(slot_record slot) {
    auto& at = edit(slot.slot);
    at = std::move(slot);
  }

  /// None of them is empty; in order of their slots.
  std::span<const page_pointer> pages() const {
    return pages_;
  }

  /// Whether the store has them in pages; else all of them are in the workload's own record.
  bool is_stored_in_pages() const {
    return stored_in_pages_;
  }
  void store_in_pages() {
    stored_in_pages_ = true;
  }

  /// The same slots, on whatever pages.
  bool operator==(const slot_list& other) const;

  /// The pages that are in one list only: of `before`, and of `next`. Those that both share are
  /// told by a look at each, whatever is in them.
  struct page_difference {
    std::vector<page_pointer> before;
    std::vector<page_pointer> next;
  };
  static page_difference difference(const slot_list& before, const slot_list& next);
  /// The list that comes of this one when those pages are put in, or in the place of what they
  /// were, and those of these numbers go. All others are shared.
  slot_list with(std::vector<slot_page> changed, std::span<const std::uint32_t> gone) const;
  /// The slots of which the lists say something else, in order.
  static std::vector<pod_slot> changed_slots(const slot_list& before, const slot_list& next);

private:
  std::size_t page_of(const pod_slot& slot) const;
  slot_page& own(std::size_t page);
  void split(std::size_t page);

  std::vector<page_pointer> pages_;
  std::uint32_t next_number_ = 0;
  bool stored_in_pages_ = false;
};

} // namespace reprieve
