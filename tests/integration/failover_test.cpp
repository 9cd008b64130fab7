#include "protocol/client/api_client.hpp"
#include "tests/integration/daemon.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;

/// Nobody listens there: ports below 1024 are not given out.
const std::string dead = "127.0.0.1:1";

queue a_queue(const std::string& name) {
  queue q;
  q.name = name;
  return q;
}

node a_node(const std::string& name) {
  node n;
  n.name = name;
  return n;
}

bool is_watched(api_client& server, const std::string& name) {
  const auto found = server.get({object_kind::node, name, {}, {}});
  return found.ok() && found->size() == 1 && found->front().node && found->front().node->watched;
}

/// Two daemons of their own; a client that is given both should not care which one answers.
class failover : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(one.serves()) << one.output();
    ASSERT_TRUE(other.serves()) << other.output();
  }

  bool other_has(const std::string& name) {
    return api_client({{other.address()}}).get({object_kind::queue, name, {}, {}}).ok();
  }

  temporary_directory data;
  temporary_directory other_data;
  daemon_process one{data.path()};
  daemon_process other{other_data.path()};
};

TEST_F(failover, a_server_that_is_not_there_is_passed_over) {
  const auto servers = dead + "," + dead + "," + other.address();
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"apply", "-f", demo_manifest("1-cluster.yaml")},
                                             {"get", "nodes"},
                                             {"heartbeat", "a1"},
                                             {"events"},
                                             {"delete", "node", "a1"}}) {
    std::vector<std::string> whole{REPRIEVE_BINARIES "/reprieve", "--server", servers};
    whole.insert(whole.end(), command.begin(), command.end());
    const auto result = run_program(whole);
    EXPECT_EQ(result.code, 0) << command[0] << "\n" << result.output;
  }
  const auto nobody =
    run_program({REPRIEVE_BINARIES "/reprieve", "--server", dead + "," + dead, "get", "nodes"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_NE(nobody.output.find("no server answers at " + dead + ", " + dead), std::string::npos)
    << nobody.output;
}

TEST_F(failover, a_client_goes_on_when_its_server_ends) {
  api_client client({{one.address(), other.address()}});
  ASSERT_TRUE(client.apply({{a_queue("first")}, false}).ok());
  EXPECT_FALSE(other_has("first"));
  one.kill();
  std::this_thread::sleep_for(milliseconds{100});
  const auto applied = client.apply({{a_queue("second")}, false});
  EXPECT_TRUE(applied.ok()) << applied.status();
  EXPECT_TRUE(other_has("second"));
}

TEST_F(failover, a_server_that_hangs_is_passed_over_before_anything_is_sent) {
  one.freeze();
  api_client client({{one.address(), other.address()}});
  const auto applied = client.apply({{a_queue("first")}, false});
  EXPECT_TRUE(applied.ok()) << applied.status();
  EXPECT_TRUE(other_has("first"));
}

TEST_F(failover, a_change_that_may_have_been_made_is_not_made_elsewhere) {
  api_client client({{one.address(), other.address()}});
  ASSERT_TRUE(client.get({object_kind::queue, {}, {}, {}}).ok());
  one.freeze();
  auto applied = std::async(std::launch::async, [&] {
    return client.apply({{a_queue("perhaps")}, false}).status();
  });
  std::this_thread::sleep_for(milliseconds{500});
  one.kill();
  const auto status = applied.get();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("whether the change was made is not known"),
            absl::string_view::npos)
    << status;
  EXPECT_NE(std::string(status.message()).find(one.address()), std::string::npos) << status;
  EXPECT_FALSE(other_has("perhaps"));
}

TEST_F(failover, a_read_without_an_answer_is_asked_elsewhere) {
  api_client client({{one.address(), other.address()}});
  ASSERT_TRUE(client.get({object_kind::queue, {}, {}, {}}).ok());
  one.freeze();
  auto read = std::async(std::launch::async, [&] {
    return client.get({object_kind::queue, {}, {}, {}}).status();
  });
  std::this_thread::sleep_for(milliseconds{500});
  one.kill();
  EXPECT_TRUE(read.get().ok());
}

TEST_F(failover, a_heartbeat_without_an_answer_goes_elsewhere) {
  api_client at_other({{other.address()}});
  ASSERT_TRUE(at_other.apply({{a_node("n1")}, false}).ok());
  api_client client({{one.address(), other.address()}});
  ASSERT_TRUE(client.apply({{a_node("n1")}, false}).ok());
  ASSERT_TRUE(client.heartbeat({{"n1"}}).ok());
  EXPECT_FALSE(is_watched(at_other, "n1"));
  one.freeze();
  const auto heard = client.heartbeat({{"n1"}});
  EXPECT_TRUE(heard.ok()) << heard.status();
  EXPECT_TRUE(is_watched(at_other, "n1"));
}

TEST_F(failover, a_stream_of_heartbeats_says_why_it_failed_and_the_next_begins_elsewhere) {
  api_client at_other({{other.address()}});
  ASSERT_TRUE(at_other.apply({{a_node("n1")}, false}).ok());
  api_client client({{dead, one.address(), other.address()}});
  std::promise<std::vector<std::string>> unknown;
  auto first = client.heartbeats([&](auto names) { unknown.set_value(std::move(names)); });
  ASSERT_TRUE(first->send({{"n1"}}));
  EXPECT_EQ(unknown.get_future().get(), std::vector<std::string>{"n1"}) << "only the other has it";
  one.kill();
  const auto why = first->end();
  EXPECT_TRUE(absl::IsUnavailable(why)) << why;

  auto second = client.heartbeats([](const auto&) { ADD_FAILURE(); });
  EXPECT_TRUE(second->send({{"n1"}}));
  const auto taken_in = second->end();
  EXPECT_TRUE(taken_in.ok()) << taken_in;
  EXPECT_TRUE(is_watched(at_other, "n1"));
}

TEST_F(failover, what_a_server_certainly_did_not_change_is_asked_elsewhere) {
  const temporary_directory full_data;
  daemon_process full(full_data.path(), {"--audit", "/dev/full"});
  ASSERT_TRUE(full.serves()) << full.output();
  api_client client({{full.address(), other.address()}});
  const auto applied = client.apply({{a_queue("first")}, false});
  EXPECT_TRUE(applied.ok()) << applied.status();
  EXPECT_TRUE(other_has("first"));
  const auto refused = api_client({{full.address()}}).apply({{a_queue("second")}, false});
  EXPECT_EQ(refused.status().message().find("not known"), absl::string_view::npos)
    << refused.status();
}

TEST_F(failover, a_refusal_is_an_answer) {
  api_client client({{one.address(), other.address()}});
  auto wrong = a_queue("orphan");
  wrong.parent = "nowhere";
  EXPECT_TRUE(absl::IsInvalidArgument(client.apply({{wrong}, false}).status()));
  ASSERT_TRUE(client.apply({{a_queue("nowhere")}, false}).ok());
  EXPECT_FALSE(other_has("nowhere"));
}

} // namespace

} // namespace reprieve
