#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/paged_deltas.hpp"
#include "tests/simulation/dice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace reprieve {

namespace {

/// A shard with some workloads, and another replica that hears of their changes.
class two_replicas {
public:
  explicit two_replicas(std::uint64_t seed) : luck_(seed) {}

  std::shared_ptr<const workload_record> change(const std::string& name, int slots, int most) {
    const auto known = here_.find(name);
    auto next = known == here_.end() ? std::make_shared<workload_record>()
                                     : std::make_shared<workload_record>(*known->second);
    if (known == here_.end()) {
      workload spec;
      spec.name = name;
      next->spec = std::move(spec);
    }
    for (int i = 0; i < slots; ++i) {
      auto& slot = next->slots.edit(
        {"g", 0, static_cast<std::int32_t>(luck_.below(static_cast<std::size_t>(most)))});
      ++slot.incarnation;
      slot.decision = fmt::format("d{}", luck_.below(1000));
    }
    return here_[name] = next;
  }

  /// How many bytes were told.
  std::size_t tell(workload_delta delta) {
    const auto bytes = encode_peer(out_.without_known(delta));
    auto heard = decode_peer<workload_delta>(bytes);
    EXPECT_TRUE(heard.ok()) << heard.status();
    in_.complete(*heard);
    EXPECT_TRUE(heard->pages.empty());
    if (heard->everything)
      there_.clear();
    for (const auto& name : heard->removed)
      there_.erase(name);
    for (const auto& record : heard->changed)
      there_[record->spec->name] = record;
    return bytes.size();
  }

  std::size_t tell_all() {
    workload_delta delta;
    delta.everything = true;
    for (const auto& [name, record] : here_)
      delta.changed.push_back(record);
    return tell(std::move(delta));
  }

  std::size_t tell_of(std::shared_ptr<const workload_record> record) {
    workload_delta delta;
    delta.changed.push_back(std::move(record));
    return tell(std::move(delta));
  }

  void remove(const std::string& name) {
    here_.erase(name);
    workload_delta delta;
    delta.removed.push_back(name);
    tell(std::move(delta));
  }

  void expect_the_same() const {
    ASSERT_EQ(there_.size(), here_.size());
    for (const auto& [name, record] : here_) {
      const auto& told = *there_.at(name);
      EXPECT_EQ(told.spec->name, name);
      ASSERT_EQ(told.slots, record->slots) << name;
    }
  }

  simulation::dice& luck() {
    return luck_;
  }

private:
  simulation::dice luck_;
  std::map<std::string, std::shared_ptr<const workload_record>> here_;
  std::map<std::string, std::shared_ptr<const workload_record>> there_;
  paged_deltas_out out_;
  paged_deltas_in in_;
};

TEST(paged_deltas, say_the_same_as_whole_records) {
  const auto page_size = std::exchange(slot_list::page_size, 8);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    two_replicas both{seed};
    both.tell_all();
    for (int step = 0; step < 60; ++step) {
      const auto name = fmt::format("w{}", both.luck().below(3));
      const auto what = both.luck().below(20);
      if (what == 0)
        both.remove(name);
      else if (what == 1)
        both.tell_all();
      else
        both.tell_of(both.change(name, 1 + static_cast<int>(both.luck().below(20)), 200));
      both.expect_the_same();
    }
  }
  slot_list::page_size = page_size;
}

TEST(paged_deltas, cost_what_has_changed) {
  two_replicas both{1};
  const auto record = both.change("large", 60'000, 100'000);
  const auto all = both.tell_of(record);
  const auto one = both.tell_of(both.change("large", 1, 100'000));
  both.expect_the_same();
  EXPECT_GT(all, 50 * one);
}

} // namespace

} // namespace reprieve
