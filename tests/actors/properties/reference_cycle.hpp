#pragma once

#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"
#include "state/view/cluster_view.hpp"
#include "tests/actors/properties/cluster_records.hpp"

#include <map>
#include <string>
#include <vector>

namespace reprieve::tests {

/// What comes of one unit when it is its turn, and of how many there were before.
struct expected_turn {
  preemptor who;
  plan made;
};

/// One scheduling cycle by the engine on the unsplit cluster: a view that is made from the records
/// by plain calls, and whoever waits is served in turn, each seeing what those before it took. No
/// actor and nothing of what actors keep has a part in it.
class reference_cycle {
public:
  explicit reference_cycle(const cluster_records& of) : of_(of) {}

  /// Those who still lack pods when it is their turn. Of more domains than `most_domains_told` not
  /// each is told of.
  std::vector<expected_turn> run(time_point now, std::size_t most_domains_told);

private:
  struct standing_pod {
    pod shown;
    const node* on = nullptr;
  };

  void begin(time_point now);
  pod as_shown(const pod& p, const workload_record& owner, time_point now) const;
  std::vector<preemptor> lacking(const workload_record& record) const;
  void expect_what_lacks(const workload_record& record);
  std::vector<preemptor> in_order_of_service() const;
  bool still_lacks(const preemptor& who) const;
  void carry_out(const plan& made, std::size_t turn);

  const cluster_records& of_;
  cluster_view view_;
  std::map<std::string, const node*> nodes_;
  std::map<std::string, const workload_record*> workloads_;
  std::map<std::string, std::map<std::string, standing_pod>> standing_; ///< by workload and uid
  std::map<std::string, std::vector<preemptor>> expected_;              ///< by budgets, by workload
};

} // namespace reprieve::tests
