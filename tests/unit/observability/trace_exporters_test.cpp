#include "observability/otlp_endpoint.hpp"
#include "observability/span_file.hpp"
#include "observability/tracing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace reprieve {
namespace {

using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using exporter = tracing_options::exporter;

TEST(tracing_options, refuse_a_file_that_cannot_be_written) {
  const auto refused = start_tracing({.to = exporter::file, .path = "/nowhere/spans.json"});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("\"/nowhere/spans.json\""), HasSubstr("No such file or directory")));
  EXPECT_FALSE(tracing_enabled());
}

TEST(tracing_options, refuse_a_bad_endpoint) {
  const auto refused = start_tracing({.to = exporter::otlp_grpc, .endpoint = "collector"});
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("\"collector\""), HasSubstr("http://collector:4317")));
  EXPECT_FALSE(start_tracing({.to = exporter::otlp_http, .endpoint = "collector:4318"}).ok());
  EXPECT_FALSE(tracing_enabled());
}

TEST(otlp_endpoint, is_an_address_for_grpc) {
  const auto plain = parse_grpc_endpoint("collector:4317");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->address, "collector:4317");
  EXPECT_FALSE(plain->encrypted);

  const auto encrypted = parse_grpc_endpoint("https://[2001:db8::1]:4317/");
  ASSERT_TRUE(encrypted.ok()) << encrypted.status();
  EXPECT_EQ(encrypted->address, "[2001:db8::1]:4317");
  EXPECT_TRUE(encrypted->encrypted);

  for (const auto* bad :
       {"collector", "collector:0", "collector:65536", "ftp://collector:4317", ":4317", "http://",
        "a b:4317", "[::1:4317", "collector:43x7", "collector:", "collector:4317/v1/traces"})
    EXPECT_FALSE(parse_grpc_endpoint(bad).ok()) << bad;
}

TEST(otlp_endpoint, is_a_url_for_http_and_gets_the_usual_path) {
  EXPECT_EQ(parse_http_endpoint("http://collector:4318").value(),
            "http://collector:4318/v1/traces");
  EXPECT_EQ(parse_http_endpoint("https://collector/").value(), "https://collector/v1/traces");
  EXPECT_EQ(parse_http_endpoint("http://collector/mine").value(), "http://collector/mine");
  for (const auto* bad : {"collector:4318", "http://", "http:///v1/traces", "http://c:99999", ""})
    EXPECT_FALSE(parse_http_endpoint(bad).ok()) << bad;
}

TEST(otlp_exporters, drop_and_count_what_no_collector_takes) {
  const auto dropped_before = dropped_spans();
  const auto started = start_tracing({.to = exporter::otlp_grpc, .endpoint = "127.0.0.1:1"});
  ASSERT_TRUE(started.ok()) << started;
  start_span("a").end();
  stop_tracing();

  EXPECT_EQ(dropped_spans() - dropped_before, 1);
}

/// Accepts connections and never says a word.
class mute_collector {
public:
  mute_collector() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, raw, length), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, raw, &length), 0);
    port_ = ntohs(address.sin_port);
  }

  ~mute_collector() {
    ::close(socket_);
  }

  std::string endpoint() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }

private:
  int socket_;
  std::uint16_t port_ = 0;
};

class otlp_exporter : public testing::TestWithParam<exporter> {};

TEST_P(otlp_exporter, stops_in_bounded_time_when_the_collector_does_not_answer) {
  const mute_collector collector;
  const auto started = start_tracing({.to = GetParam(), .endpoint = collector.endpoint()});
  ASSERT_TRUE(started.ok()) << started;
  for (int i = 0; i < 4000; ++i) // some batches, each of which waits for its time limit
    start_span("a").end();

  const auto stopping = steady_clock::now();
  stop_tracing();
  EXPECT_LT(steady_clock::now() - stopping, std::chrono::seconds(10));
}

INSTANTIATE_TEST_SUITE_P(each, otlp_exporter,
                         testing::Values(exporter::otlp_grpc, exporter::otlp_http));

/// A file of its own for each test, which goes with it.
class spans_in_a_file : public testing::Test {
protected:
  const std::filesystem::path path_ =
    std::filesystem::temp_directory_path() / ("spans_" + std::to_string(::getpid()) + ".json");

  void TearDown() override {
    stop_tracing();
    std::filesystem::remove(path_);
  }

  void start(std::string path) {
    const auto started = start_tracing({.to = exporter::file, .path = std::move(path)});
    ASSERT_TRUE(started.ok()) << started;
  }

  std::vector<nlohmann::json> lines() const {
    std::ifstream in(path_);
    std::vector<nlohmann::json> parsed;
    for (std::string line; std::getline(in, line);)
      parsed.push_back(nlohmann::json::parse(line));
    return parsed;
  }
};

TEST_F(spans_in_a_file, are_lines_of_json) {
  const trace_context other{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""};
  start(path_);
  auto parent = start_span("parent");
  auto child = start_span("child \"quoted\"\n", parent.context(), {other});
  child.set("victims", 2);
  child.event("voted", {{"shard", "n7"}});
  child.fail("refused");
  child.end();
  parent.end();
  stop_tracing();

  const auto written = lines();
  ASSERT_THAT(written, SizeIs(2));
  const auto& line = written[0];
  EXPECT_EQ(line.at("name"), "child \"quoted\"\n");
  EXPECT_EQ(line.at("trace_id"), trace_id_of(parent.context()));
  EXPECT_EQ(line.at("parent_id"), written[1].at("span_id"));
  EXPECT_EQ(line.at("status"), "error");
  EXPECT_EQ(line.at("message"), "refused");
  EXPECT_LE(line.at("start_ns").get<std::int64_t>(), line.at("end_ns").get<std::int64_t>());
  EXPECT_EQ(line.at("attributes").at("victims"), "2");
  EXPECT_EQ(line.at("events").at(0).at("name"), "voted");
  EXPECT_EQ(line.at("events").at(0).at("attributes").at("shard"), "n7");
  EXPECT_EQ(line.at("links").at(0).at("span_id"), "b7ad6b7169203331");
  EXPECT_EQ(written[1].at("status"), "ok");
  EXPECT_EQ(written[1].at("parent_id"), "");
}

TEST_F(spans_in_a_file, are_written_without_waiting_for_the_end) {
  start(path_);
  start_span("a").end();
  const auto patience = steady_clock::now() + std::chrono::seconds(10);
  while (std::filesystem::file_size(path_) == 0 && steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));

  EXPECT_THAT(lines(), SizeIs(1));
}

TEST_F(spans_in_a_file, are_added_to_those_of_an_earlier_run) {
  for (int run = 0; run < 2; ++run) {
    start(path_);
    start_span("a").end();
    stop_tracing();
  }
  EXPECT_THAT(lines(), SizeIs(2));
}

TEST_F(spans_in_a_file, are_dropped_and_counted_when_the_disk_is_full) {
  const auto dropped_before = dropped_spans();
  start("/dev/full");
  start_span("a").end();
  start_span("b").end();
  stop_tracing();

  EXPECT_EQ(dropped_spans() - dropped_before, 2);
}

TEST(span_json, replaces_what_is_not_utf8) {
  finished_span ended;
  ended.name = "bad \xff byte";
  EXPECT_EQ(nlohmann::json::parse(to_json(ended)).at("name"), "bad \xef\xbf\xbd byte");
}

} // namespace
} // namespace reprieve
