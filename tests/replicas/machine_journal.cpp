#include "tests/replicas/machine_journal.hpp"

#include "tests/replicas/load.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <sstream>

namespace reprieve::replicas {

namespace {

struct life {
  std::string node;
  std::string stopped_by; ///< the decision, or why
  bool alive = false;
  bool stopping = false;
};

/// The gang replica that a pod's uid `w0-pods-1-3.UID.INCARNATION` belongs to: without its index.
std::string gang_of(const std::string& uid) {
  const auto name_end = uid.find('.');
  const auto index = uid.rfind('-', name_end);
  return uid.substr(0, index) + uid.substr(name_end);
}

bool is_of_gang(const std::string& uid) {
  return (std::stoi(uid.substr(1, uid.find('-') - 1)) % 2) == 0;
}

/// Decisions have names such as `0000002a.000003.default`.
bool is_decision(const std::string& why) {
  return why.find('.') != std::string::npos;
}

template <class F>
void each_line(const std::string& journal, F f) {
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);)
    if (const auto entry = nlohmann::json::parse(line, nullptr, false); !entry.is_discarded())
      f(entry);
}

} // namespace

std::vector<std::string> check_journal(const std::string& journal) {
  std::vector<std::string> wrong;
  std::map<std::string, life> pods;
  std::map<std::string, int> on_node;
  each_line(journal, [&](const nlohmann::json& entry) {
    const std::string uid = entry.at("uid");
    const std::string stage = entry.at("stage");
    auto& pod = pods[uid];
    if (stage == "starting") {
      if (!pod.node.empty())
        wrong.push_back(fmt::format("pod {} was started twice", uid));
      pod.node = entry.at("node");
      pod.alive = true;
      if (++on_node[pod.node] > places_per_node)
        wrong.push_back(
          fmt::format("node {} has {} pods with {}", pod.node, on_node[pod.node], uid));
    } else if (stage == "stopping") {
      if (pod.stopping)
        wrong.push_back(fmt::format("pod {} was told to stop twice", uid));
      pod.stopping = true;
      pod.stopped_by = entry.at("decision");
    } else if (stage != "running" && pod.alive) {
      pod.alive = false;
      --on_node[pod.node];
    }
  });
  std::map<std::string, std::set<std::string>> evicted; // gangs by decision
  for (const auto& [uid, pod] : pods)
    if (pod.stopping && is_of_gang(uid) && is_decision(pod.stopped_by))
      evicted[pod.stopped_by].insert(gang_of(uid));
  for (const auto& [decision, gangs] : evicted)
    for (const auto& [uid, pod] : pods)
      if (is_of_gang(uid) && gangs.contains(gang_of(uid)) && !pod.stopping)
        wrong.push_back(fmt::format("pod {} goes on although decision {} stopped others of its "
                                    "gang",
                                    uid, decision));
  return wrong;
}

int evictions_in(const std::string& journal) {
  int count = 0;
  each_line(journal, [&](const nlohmann::json& entry) {
    if (entry.at("stage") == "stopping" && is_decision(entry.at("decision")))
      ++count;
  });
  return count;
}

int orders_in(const std::string& journal) {
  int count = 0;
  each_line(journal, [&](const nlohmann::json& entry) {
    if (entry.at("stage") == "starting" || entry.at("stage") == "stopping")
      ++count;
  });
  return count;
}

} // namespace reprieve::replicas
