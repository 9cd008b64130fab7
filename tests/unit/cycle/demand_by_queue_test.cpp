#include "preemption/policies/queues/demand_by_queue.hpp"
#include "state/quantities/resource_sums.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

const resources half{{"memory", most_in_all / 2}};

TEST(demand_by_queue, adds_up_and_forgets_what_comes_to_nothing) {
  demand_by_queue demand;
  demand.add("a", {{"gpu", 2000}, {"memory", 5}}, 3);
  demand.add("b", {{"gpu", 1000}});
  EXPECT_EQ(demand.told(),
            (by_name<resources>{{"a", {{"gpu", 6000}, {"memory", 15}}}, {"b", {{"gpu", 1000}}}}));
  demand.add("a", {{"gpu", 2000}}, -3);
  demand.add("b", {{"gpu", 1000}}, -1);
  EXPECT_EQ(demand.told(), (by_name<resources>{{"a", {{"memory", 15}}}}));
}

TEST(demand_by_queue, tells_no_more_than_the_largest_sum_and_loses_nothing) {
  demand_by_queue demand;
  demand.add("a", half, 1'000'000);
  EXPECT_EQ(demand.told().at("a").at("memory"), largest_sum);
  demand.add("a", half, -999'999);
  EXPECT_EQ(demand.told().at("a"), half);
}

TEST(sums_of_resources, stop_where_more_still_fits) {
  resources sum;
  add_times(sum, half, 1'000'000);
  EXPECT_EQ(sum, (resources{{"memory", largest_sum}}));
  add_times(sum, half, 1);
  EXPECT_EQ(sum, (resources{{"memory", largest_sum}}));
}

} // namespace

} // namespace reprieve
