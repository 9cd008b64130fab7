// What others find at the ports on which replicas and machines speak to each other.

#include "tests/integration/live/replica_pair.hpp"
#include "tests/support/raw_http2.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace reprieve {

namespace {

using testing::HasSubstr;

/// A connection without TLS that says so much and keeps the line open.
class plain_connection {
public:
  plain_connection(const std::string& endpoint, const std::string& words)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const auto colon = endpoint.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
    EXPECT_EQ(::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &to.sin_addr), 1);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0); // NOLINT
    if (!words.empty())
      ::send(socket_, words.data(), words.size(), MSG_NOSIGNAL);
  }
  ~plain_connection() {
    ::close(socket_);
  }
  plain_connection(const plain_connection&) = delete;
  plain_connection& operator=(const plain_connection&) = delete;

private:
  int socket_;
};

std::string some_nodes_and_work(const std::string& name) {
  std::string all;
  for (int i = 0; i < 4; ++i)
    all += fmt::format("kind: Node\nmetadata: {{name: {}-n{}}}\nspec: {{capacity: {{cpu: 4, pods: "
                       "10}}}}\n---\n",
                       name, i);
  return all
         + fmt::format("kind: Workload\nmetadata: {{name: {}}}\nspec: {{podGroups: [{{name: w, "
                       "count: 8, template: {{spec: {{requests: {{cpu: 2}}}}}}}}]}}\n",
                       name);
}

} // namespace

TEST(peers_live, with_certificates_survive_whoever_connects_and_says_nothing) {
  replica_pair replicas;
  std::vector<std::unique_ptr<plain_connection>> open;
  for (const auto& endpoint : replicas.inner_addresses())
    for (const auto* words : {"", "", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02"})
      open.push_back(std::make_unique<plain_connection>(endpoint, words));

  for (std::size_t i = 0; i < replica_pair::size; ++i) {
    const auto name = fmt::format("w{}", i);
    const auto applied = replicas.apply(some_nodes_and_work(name), i);
    ASSERT_EQ(applied.code, 0) << applied.output;
    for (std::size_t by = 0; by < replica_pair::size; ++by)
      EXPECT_TRUE(
        within(std::chrono::seconds{20}, [&] { return replicas[by].pods(name, "Running") == 8; }))
        << replicas[by].output();
    open.clear(); // they hang up
  }
}

TEST(peers_live, let_in_no_other_certificate_of_their_authority) {
  replica_pair replicas;
  const auto odd = replicas.another("odd", free_endpoint(), "viewer");
  EXPECT_TRUE(within(std::chrono::seconds{20},
                     [&] {
                       const auto said = odd->output();
                       const auto machines = replicas.inner_addresses().back();
                       return said.find(machines
                                        + " does not let this process in: the organisation in its "
                                          "certificate must be reprieve:peer")
                              != std::string::npos;
                     }))
    << odd->output();
  // It owns nothing that others would need, and they go on.
  odd->kill();
  const auto applied = replicas.apply(some_nodes_and_work("after"), 1);
  ASSERT_EQ(applied.code, 0) << applied.output;
  EXPECT_TRUE(
    within(std::chrono::seconds{20}, [&] { return replicas[0].pods("after", "Running") == 8; }))
    << replicas[0].output();
}

TEST(peers_live, send_nothing_to_machines_that_show_another_certificate) {
  replica_pair replicas;
  // A replica's certificate is none of machines.
  temporary_directory data;
  const auto address = free_endpoint();
  std::vector<std::string> command{REPRIEVE_BINARIES "/reprieve", "machines", "--listen", address};
  for (auto& option : replicas.certificates().shown_as("peer", "--"))
    command.push_back(std::move(option));
  const child_process machines(std::move(command), (data.path() / "machines").string());
  std::vector<std::string> options{"--machines", address};
  for (auto& option : replicas.certificates().shown_as("peer"))
    options.push_back(std::move(option));
  daemon_process daemon(data.path() / "data", std::move(options));
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  EXPECT_TRUE(within(std::chrono::seconds{20},
                     [&] {
                       return daemon.output().find(
                                "nothing is sent to " + address
                                + ": the organisation in its certificate must be reprieve:machines")
                              != std::string::npos;
                     }))
    << daemon.output();
}

TEST(peers_live, without_certificates_let_in_who_shows_the_secret_in_the_store) {
  replica_pair replicas(replica_pair::protection::secrets);
  const auto applied = replicas.apply(some_nodes_and_work("w"), 1);
  ASSERT_EQ(applied.code, 0) << applied.output;
  for (std::size_t by = 0; by < replica_pair::size; ++by)
    EXPECT_TRUE(
      within(std::chrono::seconds{20}, [&] { return replicas[by].pods("w", "Running") == 8; }))
      << replicas[by].output();
  // Any program of this machine reaches the port.
  for (std::size_t i = 0; i < replica_pair::size; ++i) {
    raw_http2 nobody(replicas.inner_addresses()[i]);
    for (const auto* secret :
         {"", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}) {
      const auto call = nobody.begin("/reprieve.v1.Peers/Talk", {}, {{"reprieve-secret", secret}});
      EXPECT_TRUE(nobody.ended(call, std::chrono::seconds{5}));
    }
  }
}

TEST(peers_live, let_a_certificate_that_is_bound_to_a_name_speak_for_no_other) {
  replica_pair replicas;
  replicas.certificates().make({"--replica", "r7"});
  const auto other = replicas.another("r8", free_endpoint(), "r7");
  EXPECT_TRUE(within(std::chrono::seconds{20},
                     [&] {
                       return other->output().find("its certificate is for r7, and not for 'r8'")
                              != std::string::npos;
                     }))
    << other->output();
  other->kill();
  const auto right = replicas.another("r7", free_endpoint(), "r7");
  ASSERT_TRUE(right->serves()) << right->output();
  EXPECT_TRUE(within(std::chrono::seconds{30},
                     [&] {
                       return right->cli({"get", "queues"}).code == 0;
                     }))
    << right->output();
  EXPECT_EQ(right->output().find("does not let this process in"), std::string::npos)
    << right->output();
}

TEST(peers_live, take_all_three_files_or_none) {
  const certificate_maker made;
  temporary_directory data;
  const std::vector<std::string> two{"cert", made.file("peer.crt"), "key", made.file("peer.key")};
  const auto options = [&](const std::string& prefix) {
    return std::vector<std::string>{prefix + two[0], two[1], prefix + two[2], two[3]};
  };
  auto with_two = options("--peer-");
  with_two.insert(with_two.end(), {"--peer-listen", "127.0.0.1:0"});
  daemon_process daemon(data.path(), with_two);
  EXPECT_FALSE(daemon.serves());
  EXPECT_THAT(daemon.output(), HasSubstr("the authority is missing"));

  std::vector<std::string> command{REPRIEVE_BINARIES "/reprieve", "machines", "--listen",
                                   "127.0.0.1:0"};
  for (const auto& option : options("--"))
    command.push_back(option);
  const auto machines = run_program(command);
  EXPECT_EQ(machines.code, 1);
  EXPECT_THAT(machines.output, HasSubstr("the authority is missing"));
}

} // namespace reprieve
