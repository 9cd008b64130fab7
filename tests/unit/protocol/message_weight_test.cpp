#include "protocol/messages/message_weight.hpp"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>
#include <reprieve/v1/api.pb.h>

#include <random>
#include <string>

namespace reprieve {

namespace {

constexpr std::size_t plenty = std::size_t{1} << 40;

std::optional<std::size_t> weight(const std::string& bytes, std::size_t most = plenty) {
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()), 997);
  return message_weight(*v1::ApplyRequest::descriptor(), in, most);
}

v1::ApplyRequest some_workloads(int count) {
  v1::ApplyRequest request;
  for (int i = 0; i < count; ++i) {
    auto& one = *request.add_objects()->mutable_workload();
    one.set_name("job-" + std::to_string(i));
    one.set_queue("default");
    auto& group = *one.add_groups();
    group.set_name("workers");
    (*group.mutable_pods()->mutable_labels())["app"] = std::string(40, 'a');
  }
  return request;
}

TEST(message_weight, is_about_what_the_message_takes) {
  const auto request = some_workloads(1000);
  const auto found = weight(request.SerializeAsString());
  ASSERT_TRUE(found);
  EXPECT_GT(*found, request.SpaceUsedLong() / 2);
  EXPECT_LT(*found, request.SpaceUsedLong() * 2);
}

TEST(message_weight, of_empty_parts_is_far_more_than_their_bytes) {
  v1::ApplyRequest request;
  for (int i = 0; i < 100'000; ++i)
    request.add_objects()->mutable_workload();
  const auto bytes = request.SerializeAsString();
  const auto found = weight(bytes);
  ASSERT_TRUE(found);
  EXPECT_GT(*found, 50 * bytes.size());
  EXPECT_GT(*found, request.SpaceUsedLong() / 2);
  EXPECT_FALSE(weight(bytes, *found - 1));
  EXPECT_TRUE(weight(bytes, *found));
}

TEST(message_weight, of_what_is_no_message_is_none) {
  const auto whole = some_workloads(3).SerializeAsString();
  EXPECT_FALSE(weight(whole.substr(0, whole.size() - 1)));
  EXPECT_FALSE(weight("\x0a\xff\xff\xff\xff\x0f"));
  std::string deep;
  for (int i = 0; i < 10'000; ++i)
    deep += '\x0b'; // groups in groups
  EXPECT_FALSE(weight(deep));
}

TEST(message_weight, ends_for_any_bytes_and_is_none_where_they_can_not_be_read) {
  std::mt19937 random(1); // NOLINT: the same bytes each time
  const auto whole = some_workloads(20).SerializeAsString();
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = whole;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const bool weighed = weight(bytes).has_value();
    v1::ApplyRequest message;
    const bool parsed = message.ParseFromString(bytes);
    // A text that is no UTF-8 has its weight; all else that can be read has one.
    EXPECT_TRUE(weighed || !parsed) << i;
    read += parsed ? 1 : 0;
  }
  EXPECT_GT(read, 100);
}

} // namespace

} // namespace reprieve
