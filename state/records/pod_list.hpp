#pragma once

#include "state/containers/copy_on_write.hpp"
#include "state/containers/shared_value.hpp"
#include "state/model/pod.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// A pod as it stands in a node's record.
using shared_pod = with_bytes<pod>;

/// The pods of a node, in order of uid. Copies share the list until one of them changes, and their
/// pods even then, so that a new form of a node's record costs what is new in it, and what two
/// forms have in common is told by a look.
class pod_list {
public:
  using pointer = std::shared_ptr<const shared_pod>;

  class const_iterator {
  public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = pod;
    using difference_type = std::ptrdiff_t;
    using pointer = const pod*;
    using reference = const pod&;

    const_iterator() = default;
    explicit const_iterator(const pod_list::pointer* at) : at_(at) {}

    reference operator*() const {
      return (*at_)->what();
    }
    pointer operator->() const {
      return &(*at_)->what();
    }
    reference operator[](difference_type by) const {
      return at_[by]->what();
    }
    const_iterator& operator++() {
      ++at_;
      return *this;
    }
    const_iterator operator++(int) {
      return const_iterator{at_++};
    }
    const_iterator& operator--() {
      --at_;
      return *this;
    }
    const_iterator operator--(int) {
      return const_iterator{at_--};
    }
    const_iterator& operator+=(difference_type by) {
      at_ += by;
      return *this;
    }
    const_iterator& operator-=(difference_type by) {
      at_ -= by;
      return *this;
    }
    friend const_iterator operator+(const_iterator at, difference_type by) {
      return at += by;
    }
    friend const_iterator operator+(difference_type by, const_iterator at) {
      return at += by;
    }
    friend const_iterator operator-(const_iterator at, difference_type by) {
      return at -= by;
    }
    friend difference_type operator-(const_iterator a, const_iterator b) {
      return a.at_ - b.at_;
    }
    auto operator<=>(const const_iterator&) const = default;

  private:
    const pod_list::pointer* at_ = nullptr;
  };
  using iterator = const_iterator;
  using value_type = pod;

  pod_list() = default;
  pod_list(std::initializer_list<pod> pods) {
    for (const auto& p : pods)
      put(p);
  }
  /// Of pods in order of uid.
  explicit pod_list(std::vector<pointer> pods) {
    pods_.write() = std::move(pods);
  }
  /// Of pods in any order; of several with one uid the last counts.
  static pod_list of(std::vector<pointer> pods) {
    if (std::ranges::adjacent_find(pods, std::ranges::greater_equal{}, uid_of) != pods.end()) {
      std::ranges::reverse(pods);
      std::ranges::stable_sort(pods, {}, uid_of);
      const auto twice = std::ranges::unique(pods, {}, uid_of);
      pods.erase(twice.begin(), twice.end());
    }
    return pod_list{std::move(pods)};
  }

  const_iterator begin() const {
    return const_iterator{shared().data()};
  }
  const_iterator end() const {
    return const_iterator{shared().data() + size()};
  }
  std::size_t size() const {
    return shared().size();
  }
  bool empty() const {
    return shared().empty();
  }
  const pod& front() const {
    return shared().front()->what();
  }
  const pod& back() const {
    return shared().back()->what();
  }

  /// The pods themselves: the same pointer is the same pod, unchanged.
  const std::vector<pointer>& shared() const {
    return pods_.read();
  }

  /// Whether both have the very same pods, unchanged.
  bool shares_all_with(const pod_list& other) const {
    return pods_.is_same_as(other.pods_) || shared() == other.shared();
  }

  /// Null where it is not there.
  const pod* find(std::string_view uid) const {
    const auto found = position_of(uid);
    return is_at(found, uid) ? &shared()[found]->what() : nullptr;
  }

  /// Likewise, as it is shared.
  pointer find_shared(std::string_view uid) const {
    const auto found = position_of(uid);
    return is_at(found, uid) ? shared()[found] : nullptr;
  }

  /// Puts or replaces the pod of that uid.
  void put(pointer p) {
    const auto found = position_of(p->what().uid);
    const bool replaces = is_at(found, p->what().uid);
    auto& pods = pods_.write();
    if (replaces)
      pods[found] = std::move(p);
    else
      pods.insert(pods.begin() + static_cast<std::ptrdiff_t>(found), std::move(p));
  }
  void put(pod p) {
    put(std::make_shared<const shared_pod>(std::move(p)));
  }

  bool erase(std::string_view uid) {
    const auto found = position_of(uid);
    if (!is_at(found, uid))
      return false;
    auto& pods = pods_.write();
    pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(found));
    return true;
  }

  template <class Condition>
  void erase_if(Condition condition) {
    const auto goes = [&](const pointer& p) { return condition(p->what()); };
    if (std::ranges::any_of(shared(), goes))
      std::erase_if(pods_.write(), goes);
  }

  /// Does `change` to a copy of each pod that the condition holds for, which takes its place. The
  /// uid stays. Returns the changed ones.
  template <class Condition, class Change>
  std::vector<pointer> change_if(Condition condition, Change change) {
    std::vector<pointer> changed;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!condition(shared()[i]->what()))
        continue;
      auto next = shared()[i]->what();
      change(next);
      changed.push_back(std::make_shared<const shared_pod>(std::move(next)));
      pods_.write()[i] = changed.back();
    }
    return changed;
  }

  bool operator==(const pod_list& other) const {
    return pods_.is_same_as(other.pods_)
           || std::ranges::equal(shared(), other.shared(), [](const pointer& a, const pointer& b) {
                return a == b || a->what() == b->what();
              });
  }

private:
  static std::string_view uid_of(const pointer& p) {
    return p->what().uid;
  }
  std::size_t position_of(std::string_view uid) const {
    const auto found = std::ranges::lower_bound(shared(), uid, {}, uid_of);
    return static_cast<std::size_t>(found - shared().begin());
  }
  bool is_at(std::size_t position, std::string_view uid) const {
    return position < size() && shared()[position]->what().uid == uid;
  }

  copy_on_write<std::vector<pointer>> pods_;
};

} // namespace reprieve
