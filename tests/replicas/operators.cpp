#include "tests/replicas/operators.hpp"

#include "protocol/client/api_client.hpp"
#include "tests/replicas/load.hpp"

#include <fmt/format.h>

namespace reprieve::replicas {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* spare_group = "spare";

node node_of(const std::string& group, int number) {
  node n;
  n.name = fmt::format("{}-{}", group, number);
  n.resource_group = group;
  n.capacity = {{"gpu", 1000 * places_per_node}};
  return n;
}

/// The machines that are watched: the first of each resource group.
std::vector<std::string> watched() {
  std::vector<std::string> names;
  for (const auto& group : resource_groups())
    names.push_back(node_of(group, 0).name);
  return names;
}

} // namespace

operators::operators(std::vector<std::string> servers)
    : servers_(std::move(servers)), work_([this] { work(); }), watch_([this] { watch(); }) {}

operators::~operators() {
  end();
  is_gone_ = true;
}

void operators::end() {
  over_ = true;
  if (work_.joinable())
    work_.join();
}

int operators::below(int limit) {
  return std::uniform_int_distribution<int>(0, limit - 1)(luck_);
}

void operators::work() {
  while (!over_) {
    switch (below(5)) {
    case 0:
    case 1:
      lose_a_node();
      break;
    case 2:
      have_another_group();
      break;
    case 3:
      ask_too_much();
      break;
    default:
      bring_back();
      break;
    }
    std::this_thread::sleep_for(milliseconds{500 + below(1500)});
  }
  for (int tries = 0; !away_.empty() && tries < 100; ++tries) {
    bring_back();
    std::this_thread::sleep_for(milliseconds{100});
  }
}

/// Not one that is watched. Two are away at a time.
void operators::lose_a_node() {
  if (away_.size() >= 2) {
    bring_back();
    return;
  }
  const auto& group = resource_groups()[static_cast<std::size_t>(below(3))];
  const auto gone = node_of(group, 1 + below(nodes_per_group - 1));
  const bool by_force = below(2) == 0;
  api_client server({servers_});
  const auto how = server.remove({object_kind::node, {gone.name}, {}, by_force});
  // Where nobody knows what became of it, it is brought back as well.
  if (!absl::IsFailedPrecondition(how))
    away_.emplace(gone.name, gone);
  if (how.ok())
    ++done_[by_force ? "nodes deleted by force" : "nodes deleted"];
}

void operators::bring_back() {
  api_client server({servers_});
  for (auto one = away_.begin(); one != away_.end();)
    if (server.apply({{one->second}, false}).ok()) {
      ++done_["nodes brought back"];
      one = away_.erase(one);
    } else {
      ++one;
    }
}

/// It comes in one file with its nodes, and goes again.
void operators::have_another_group() {
  api_client server({servers_});
  resource_group group;
  group.name = spare_group;
  std::vector<object> all{group};
  for (int i = 0; i < 3; ++i)
    all.emplace_back(node_of(spare_group, i));
  if (server.apply({all, false}).ok())
    ++done_["resource groups made"];
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i)
    names.push_back(node_of(spare_group, i).name);
  (void)server.remove({object_kind::node, names});
  if (server.remove({object_kind::resource_group, {spare_group}}).ok())
    ++done_["resource groups deleted"];
}

/// It is refused, and nothing else notices.
void operators::ask_too_much() {
  workload w;
  w.name = "large";
  w.resource_group = resource_groups()[static_cast<std::size_t>(below(3))];
  auto& pods = w.groups.emplace_back();
  pods.name = "pods";
  pods.pods.requests = {{"gpu", 1000}};
  pods.pods.annotations["note"] =
    std::string(static_cast<std::size_t>(below(2'000'000) + 300'000), 'x');
  api_client server({servers_});
  const auto how = server.apply({{w}, false});
  if (how.ok())
    complaints_.push_back("a workload with a note of more than 300 kB was taken");
  else if (absl::IsInvalidArgument(how.status()) || absl::IsResourceExhausted(how.status()))
    ++done_["too large, refused"];
}

/// Machines are heard twice a second, but for times in which one of them is not.
void operators::watch() {
  std::mt19937_64 luck{11};
  const auto all = watched();
  std::string silent;
  int left = 20;
  api_client server({servers_});
  while (!is_gone_) {
    if (--left == 0) {
      silent = silent.empty() && !over_ ? all[luck() % all.size()] : std::string{};
      left = silent.empty() ? 12 : 20;
    }
    heartbeat_request alive;
    for (const auto& one : all)
      if (one != silent || over_)
        alive.nodes.push_back(one);
    (void)server.heartbeat(alive);
    std::this_thread::sleep_for(milliseconds{500});
  }
}

} // namespace reprieve::replicas
