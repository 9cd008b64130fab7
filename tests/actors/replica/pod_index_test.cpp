#include "actors/gateway/pod_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

pod pod_of(const std::string& workload, const std::string& rest, const std::string& node) {
  pod p;
  p.workload = workload;
  p.name = workload + "-" + rest;
  p.uid = p.name + ".1";
  p.node = node;
  return p;
}

pod_list list_of(std::vector<pod> pods) {
  pod_list list;
  for (auto& p : pods)
    list.put(std::move(p));
  return list;
}

template <class Pods>
std::vector<std::string> places(const Pods& pods) {
  std::vector<std::string> found;
  for (const auto& p : pods)
    found.push_back(p->what().name + "@" + p->what().node);
  return found;
}

TEST(pod_index, finds_the_pods_of_a_workload_on_all_nodes) {
  pod_index index;
  index.replace({}, list_of({pod_of("a", "0", "n1"), pod_of("b", "0", "n1")}));
  index.replace({}, list_of({pod_of("a", "1", "n2")}));
  EXPECT_THAT(places(index.of("a")), UnorderedElementsAre("a-0@n1", "a-1@n2"));
  EXPECT_THAT(places(index.of("b")), UnorderedElementsAre("b-0@n1"));
  EXPECT_THAT(index.of("c"), IsEmpty());
}

TEST(pod_index, follows_what_changes_on_a_node) {
  pod_index index;
  const auto first = list_of({pod_of("a", "0", "n1"), pod_of("a", "2", "n1")});
  index.replace({}, first);
  auto second = first;
  second.put(pod_of("a", "1", "n1"));
  auto changed = pod_of("a", "2", "n1");
  changed.phase = pod_phase::running;
  second.put(changed);
  second.erase("a-0.1");
  index.replace(first, second);
  EXPECT_THAT(places(index.of("a")), UnorderedElementsAre("a-1@n1", "a-2@n1"));
  EXPECT_EQ(index.named("a-2").front()->what().phase, pod_phase::running);
  index.replace(second, {});
  EXPECT_THAT(index.of("a"), IsEmpty());
}

TEST(pod_index, keeps_a_pod_that_came_elsewhere_before_it_left) {
  pod_index index;
  const auto here = list_of({pod_of("a", "0", "n1")});
  index.replace({}, here);
  index.replace({}, list_of({pod_of("a", "0", "n2")}));
  index.replace(here, {});
  EXPECT_THAT(places(index.of("a")), UnorderedElementsAre("a-0@n2"));
}

TEST(pod_index, finds_a_pod_by_its_name_however_many_hyphens_that_has) {
  pod_index index;
  index.replace({}, list_of({pod_of("a", "b-0-0", "n1")}));
  index.replace({}, list_of({pod_of("a-b", "0-0", "n2"), pod_of("a-b", "0-1", "n2")}));
  EXPECT_THAT(places(index.named("a-b-0-0")), UnorderedElementsAre("a-b-0-0@n1", "a-b-0-0@n2"));
  EXPECT_THAT(places(index.named("a-b-0-1")), UnorderedElementsAre("a-b-0-1@n2"));
  EXPECT_THAT(index.named("a-b"), IsEmpty());
  EXPECT_THAT(index.named("nobody"), IsEmpty());
}

} // namespace

} // namespace reprieve
