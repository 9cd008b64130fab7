#include "actors/node_shard/shard_view.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

std::shared_ptr<const node_record> a_node(const std::string& name, node_status status = {}) {
  node_record record;
  auto& spec = record.spec.edit();
  spec.name = name;
  spec.capacity = {{"gpu", 8}};
  record.status = status;
  return std::make_shared<const node_record>(std::move(record));
}

bool usable(shard_view& view, const std::string& name) {
  const auto& all = view.up_to_date();
  return all.usable(all.find_node(name));
}

TEST(shard_view, has_no_use_for_a_node_while_it_is_lost) {
  constexpr node_status watched{.watched = true, .lost = false};
  constexpr node_status lost{.watched = true, .lost = true};
  shard_view view;
  view.put(a_node("n1", watched));
  view.put(a_node("n2", lost));
  EXPECT_TRUE(usable(view, "n1"));
  EXPECT_FALSE(usable(view, "n2"));

  view.put(a_node("n1", lost));
  view.put(a_node("n2", watched));
  EXPECT_FALSE(usable(view, "n1"));
  EXPECT_TRUE(usable(view, "n2")) << "it is heard again";
}

} // namespace

} // namespace reprieve
