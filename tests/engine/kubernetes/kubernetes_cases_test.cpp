#include "tests/engine/kubernetes/kubernetes_case.hpp"
#include "tests/support/plain_room.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

/// Clusters on which kube-scheduler's own preemption was asked: in the plain setting we choose the
/// same, on every one.
namespace reprieve::tests {

namespace {

using nlohmann::json;
using names = std::set<std::string>;

std::filesystem::path file_of_cases() {
  if (const char* named = std::getenv("REPRIEVE_KUBERNETES_CASES"))
    return named;
  return std::filesystem::path{REPRIEVE_SOURCE} / "tests/engine/kubernetes/cases.json";
}

/// Who goes, and what is told of it.
struct choice {
  names victims;
  std::int64_t budget_violations = 0;

  bool operator==(const choice&) const = default;
};

std::string to_string(const choice& made) {
  return fmt::format("{{{}}} beyond budgets {}", fmt::join(made.victims, " "),
                     made.budget_violations);
}

choice choice_of(const plan& made) {
  choice told;
  for (const auto& one : made.victims)
    for (const auto& p : one.pods)
      told.victims.insert(p.uid);
  told.budget_violations = made.victims.empty() ? 0 : made.scored.budget_violations;
  return told;
}

choice choice_of(const json& expected) {
  return {expected.value("victims", names{}), expected.value("numPDBViolations", std::int64_t{0})};
}

// Each of these says what is different, or nothing where all agrees.

std::string compare_choice(const json& expected, const plan& made) {
  const auto ours = choice_of(made);
  const auto theirs = choice_of(expected);
  if (ours != theirs)
    return fmt::format("ours {}, theirs {}", to_string(ours), to_string(theirs));
  const auto groups = std::ranges::count_if(
    made.victims, [](const victim& one) { return one.portion.whole_replica(); });
  if (expected.contains("numPodGroupDisruptions")
      && groups != expected.at("numPodGroupDisruptions").get<std::int64_t>())
    return fmt::format("{} victims belong to groups", groups);
  if (!expected.contains("assignments"))
    return {};
  std::map<std::string, std::string> seats;
  for (const auto& one : made.assignments)
    seats[one.placed.uid] = listed_name(one.placed.node);
  return seats == expected.at("assignments").get<std::map<std::string, std::string>>()
           ? std::string{}
           : fmt::format("ours sits on {}", seats);
}

/// How many nodes kube-scheduler looks for before it stops; all of them unless it says so.
bool looked_at_all_nodes(const json& given) {
  if (!given.contains("args"))
    return true;
  const auto nodes = given.at("nodes").size();
  const auto& args = given.at("args");
  return std::max(nodes * args.at("minCandidateNodesPercentage").get<std::size_t>() / 100,
                  args.at("minCandidateNodesAbsolute").get<std::size_t>())
         >= nodes;
}

std::string compare_candidates(const json& given, const kubernetes_case& read) {
  std::map<std::string, choice> theirs;
  for (const auto& one : given.at("expected").at("candidates"))
    theirs[one.at("node").get<std::string>()] = choice_of(one);
  for (const auto& n : read.nodes) {
    const auto name = listed_name(n.name);
    const auto ours = choice_of(decide_as_kubernetes(read, n.name));
    const auto found = theirs.find(name);
    if (found == theirs.end() && !looked_at_all_nodes(given))
      continue;
    const auto expected = found == theirs.end() ? choice{} : found->second;
    if (ours != expected)
      return fmt::format("{}: ours {}, theirs {}", name, to_string(ours), to_string(expected));
  }
  return {};
}

std::string compare_best_node(const json& expected, const kubernetes_case& read) {
  const auto made = decide_as_kubernetes(read);
  const auto best = expected.at("nodeAnyOf").get<names>();
  const auto ours =
    made.victims.empty() ? std::string{} : listed_name(made.assignments.front().placed.node);
  return best.contains(ours) || (best.empty() && ours.empty())
           ? std::string{}
           : fmt::format("ours takes '{}', theirs {}", ours, best);
}

std::string compare(const json& given) {
  const auto& table = given.at("table");
  const auto& expected = given.at("expected");
  if (table == "MoreImportantVictim")
    return first_is_more_important(given.at("vi1"), given.at("vi2"))
               == expected.at("moreImportant").get<bool>()
             ? ""
             : "ours ranks them the other way round";
  const auto read = read_kubernetes_case(given);
  if (table == "SelectVictimsOnNode") {
    for (const auto& n : read.nodes)
      if (listed_name(n.name) == given.at("mainNode").get<std::string>())
        return compare_choice(expected, decide_as_kubernetes(read, n.name));
    return "the node is not listed";
  }
  std::string different;
  if (expected.contains("candidates"))
    different = compare_candidates(given, read);
  if (different.empty() && expected.contains("nodeAnyOf"))
    different = compare_best_node(expected, read);
  if (different.empty() && expected.contains("status"))
    different = compare_choice(expected, decide_as_kubernetes(read));
  return different;
}

/// Whether all who want in have a place beside all who are there.
bool fits_without_victims(const kubernetes_case& read) {
  const auto made = decide_as_kubernetes(read);
  if (!made.victims.empty() || made.assignments.size() != read.wanted.pods.size())
    return false;
  std::map<std::string, resources> rooms;
  for (const auto& n : read.nodes)
    rooms[n.name] = room_of(n);
  const auto take = [&](const pod& p) {
    for (const auto& [name, value] : taken_by(p.requests))
      rooms[p.node][name] -= value;
  };
  std::ranges::for_each(read.pods, take);
  return std::ranges::all_of(made.assignments, [&](const assignment& one) {
    take(one.placed);
    return std::ranges::all_of(rooms[one.placed.node],
                               [](const auto& left) { return left.second >= 0; });
  });
}

/// Why ours is not to agree, where it is not.
std::optional<std::string> why_ours_differs(const json& given) {
  if (given.at("table") == "MoreImportantVictim") {
    const auto composite = [&](const char* unit) {
      return given.at(unit).at("type") == "compositepodgroup";
    };
    const auto group = [&](const char* unit) { return given.at(unit).at("type") != "pod"; };
    if (composite("vi1") != composite("vi2") && group("vi1") && group("vi2"))
      return "groups of groups are no units of ours, so none ranks above a group";
  } else if (fits_without_victims(read_kubernetes_case(given))) {
    return "it fits beside all who run, so nobody goes; the function asked there does not look";
  }
  return std::nullopt;
}

} // namespace

TEST(kubernetes, chooses_as_we_do_in_the_plain_setting) {
  const auto path = file_of_cases();
  std::ifstream file{path};
  ASSERT_TRUE(file) << path << " can't be read; REPRIEVE_KUBERNETES_CASES may name another file";
  const auto all = json::parse(file).at("cases");

  struct tally {
    int cases = 0;
    int agree = 0;
    int differ_by_intent = 0;
  };
  std::map<std::string, tally> tables;
  for (const auto& given : all) {
    auto& table = tables[given.at("table").get<std::string>()];
    ++table.cases;
    const auto different = compare(given);
    if (different.empty()) {
      ++table.agree;
      continue;
    }
    const auto name = given.at("name").get<std::string>();
    if (const auto reason = why_ours_differs(given)) {
      ++table.differ_by_intent;
      fmt::print("{} differs: {}\n", name, *reason);
    } else {
      ADD_FAILURE() << given.at("table") << ": " << name << ": " << different;
    }
  }

  for (const auto& [name, table] : tables)
    fmt::print("{}: {} of {} agree, {} differ by intent\n", name, table.agree, table.cases,
               table.differ_by_intent);
  EXPECT_EQ(tables.size(), 7U);
}

} // namespace reprieve::tests
