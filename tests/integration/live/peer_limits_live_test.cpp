// What one with a certificate of a replica can't do at the ports between processes of a cluster.

#include "tests/integration/live/replica_pair.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <reprieve/v1/peer.grpc.pb.h>
#include <reprieve/v1/peer.pb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace reprieve {

namespace {

using testing::HasSubstr;

constexpr std::int64_t impossible = std::int64_t{1} << 62;

/// A connection that shows a replica's certificate, and speaks as it likes.
class odd_peer {
public:
  odd_peer(const std::string& endpoint, const certificate_maker& certificates) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = certificates.text("ca.crt");
    options.pem_cert_chain = certificates.text("peer.crt");
    options.pem_private_key = certificates.text("peer.key");
    stub_ = v1::Peers::NewStub(grpc::CreateChannel(endpoint, grpc::SslCredentials(options)));
    stream_ = stub_->Talk(&context_);
  }

  bool say(const v1::PeerEnvelope& letter) {
    return stream_->Write(letter);
  }

  bool say(const std::string& to, const std::string& kind, const google::protobuf::Message& what,
           std::int64_t epoch) {
    v1::PeerEnvelope letter;
    letter.set_to(to);
    letter.set_kind(kind);
    letter.set_payload(what.SerializeAsString());
    letter.set_epoch(epoch);
    return say(letter);
  }

  /// What it says next.
  v1::PeerEnvelope hear() {
    v1::PeerEnvelope heard;
    EXPECT_TRUE(stream_->Read(&heard));
    return heard;
  }

  /// Waits until the other side ends it.
  grpc::Status end() {
    v1::PeerEnvelope heard;
    while (stream_->Read(&heard)) {
    }
    return stream_->Finish();
  }

private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::Peers::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::PeerEnvelope, v1::PeerEnvelope>> stream_;
};

std::string some_nodes() {
  return nodes(3, "gpu: 4");
}

bool run_everywhere(replica_pair& replicas, const std::string& name) {
  for (std::size_t i = 0; i < replica_pair::size; ++i)
    if (!within(std::chrono::seconds{20}, [&] { return replicas[i].pods(name, "Running") == 1; }))
      return false;
  return true;
}

} // namespace

TEST(peer_limits_live, an_epoch_that_the_store_has_not_given_counts_for_nothing_with_replicas) {
  replica_pair replicas;
  ASSERT_EQ(replicas.apply(some_nodes()).code, 0);
  for (std::size_t i = 0; i < replica_pair::size; ++i) {
    v1::DropVotes all;
    all.set_before(impossible);
    for (const auto& [outer, inner] :
         {std::pair{impossible, impossible}, std::pair{std::int64_t{1}, impossible}}) {
      odd_peer odd(replicas.inner_addresses()[i], replicas.certificates());
      all.set_before(inner);
      odd.say("n/default.0", "DropVotes", all, outer);
      odd.end();
    }
    EXPECT_TRUE(within(std::chrono::seconds{10},
                       [&] {
                         return replicas[i].output().find("which the store has not given")
                                != std::string::npos;
                       }))
      << replicas[i].output();
  }
  EXPECT_EQ(replicas.apply(work_of("after", {})).code, 0);
  EXPECT_TRUE(run_everywhere(replicas, "after")) << replicas[0].output() << replicas[1].output();
  // Whoever takes over speaks in an epoch that the other may not have heard of.
  replicas[0].kill();
  replicas.start(0);
  EXPECT_TRUE(within(std::chrono::seconds{20},
                     [&] { return replicas.apply(work_of("later", {}), 1).code == 0; }));
  EXPECT_TRUE(run_everywhere(replicas, "later")) << replicas[0].output() << replicas[1].output();
}

TEST(peer_limits_live, an_epoch_that_no_store_can_have_given_counts_for_nothing_with_machines) {
  replica_pair replicas;
  odd_peer odd(replicas.inner_addresses().back(), replicas.certificates());
  for (const auto* node : {"n0", "n1", "n2"}) {
    v1::StopOrder stop;
    stop.set_uid("nobody");
    stop.set_node(node);
    stop.set_epoch(impossible);
    ASSERT_TRUE(odd.say("", "StopOrder", stop, impossible));
    v1::DeleteOrder gone;
    gone.set_uid("nobody");
    gone.set_node(node);
    gone.set_epoch(impossible);
    ASSERT_TRUE(odd.say("", "DeleteOrder", gone, impossible));
  }
  std::this_thread::sleep_for(std::chrono::seconds{1});
  ASSERT_EQ(replicas.apply(some_nodes()).code, 0);
  EXPECT_EQ(replicas.apply(work_of("after", {})).code, 0);
  EXPECT_TRUE(run_everywhere(replicas, "after")) << replicas[0].output() << replicas[1].output();
}

TEST(peer_limits_live, a_letter_to_what_is_no_shard_is_answered_and_ends_nothing) {
  replica_pair replicas;
  odd_peer odd(replicas.inner_addresses().front(), replicas.certificates());
  std::uint64_t number = 0;
  for (const auto* kind : {"Withdraw", "DropVotes", "StopPods"})
    for (const auto* to : {"", "n", "w", "n:", "c/default"}) {
      v1::PeerEnvelope letter;
      letter.set_number(++number);
      letter.set_to(to);
      letter.set_kind(kind);
      ASSERT_TRUE(odd.say(letter)) << to;
      const auto answer = odd.hear();
      EXPECT_EQ(answer.answers(), number) << to;
      EXPECT_EQ(answer.status(), grpc::StatusCode::UNAVAILABLE) << to;
      EXPECT_THAT(answer.reason(), HasSubstr(" is not served here")) << to;
    }
  ASSERT_EQ(replicas.apply(some_nodes()).code, 0);
  EXPECT_EQ(replicas.apply(work_of("after", {})).code, 0);
  EXPECT_TRUE(run_everywhere(replicas, "after")) << replicas[0].output() << replicas[1].output();
}

TEST(peer_limits_live, a_letter_that_does_not_end_ends_its_connection) {
  replica_pair replicas;
  ASSERT_EQ(replicas.apply(some_nodes()).code, 0);
  const auto addresses = replicas.inner_addresses();
  for (const auto& endpoint : {addresses.front(), addresses.back()}) {
    odd_peer odd(endpoint, replicas.certificates());
    v1::PeerEnvelope part;
    part.set_to("n/default.0");
    part.set_kind("PutNodes");
    part.set_more(true);
    part.set_payload(std::string(1 << 20, 'a'));
    int parts = 0;
    while (parts < 400 && odd.say(part))
      ++parts;
    EXPECT_LT(parts, 400);
    const auto how = odd.end();
    EXPECT_EQ(how.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << how.error_message();
    EXPECT_THAT(how.error_message(), HasSubstr("a letter of more than 268435456 bytes"));
  }
  EXPECT_THAT(replicas[0].output(), HasSubstr("a letter of more than 268435456 bytes"));
  EXPECT_EQ(replicas.apply(work_of("after", {})).code, 0);
  EXPECT_TRUE(run_everywhere(replicas, "after")) << replicas[0].output() << replicas[1].output();
}

TEST(peer_limits_live, connections_that_fail_fill_no_log) {
  replica_pair replicas;
  const auto endpoint = replicas.inner_addresses().front();
  const auto colon = endpoint.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
  ASSERT_EQ(::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &to.sin_addr), 1);
  for (int i = 0; i < 300; ++i) {
    const int one = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(one, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0); // NOLINT
    const std::string words = "GET / HTTP/1.1\r\n\r\n";
    ::send(one, words.data(), words.size(), MSG_NOSIGNAL);
    char answer[64];
    ::recv(one, answer, sizeof answer, 0); // until it is refused
    ::close(one);
  }
  const auto said = replicas[0].output();
  int lines = 0;
  for (auto at = said.find("gRPC: "); at != std::string::npos; at = said.find("gRPC: ", at + 1))
    ++lines;
  EXPECT_GT(lines, 0) << said;
  EXPECT_LT(lines, 60) << said;
}

} // namespace reprieve
