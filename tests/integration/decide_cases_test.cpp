// What `reprieve decide` answers to the snapshots in tests/decide.

#include "testbed/processes/child_process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

namespace reprieve {

namespace {

const std::filesystem::path folder = REPRIEVE_SOURCE "/tests/decide";

std::vector<std::string> all_cases() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".yaml")
      names.push_back(file.path().stem());
  std::ranges::sort(names);
  return names;
}

/// What the snapshot's first lines say that is asked.
std::vector<std::string> asked_of(const std::string& snapshot) {
  constexpr std::string_view mark = "# decide ";
  std::istringstream lines(snapshot);
  for (std::string line; std::getline(lines, line) && line.starts_with('#');)
    if (line.starts_with(mark)) {
      std::istringstream words(line.substr(mark.size()));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

/// The answer's lines, the first of which says whom it is about.
struct answer {
  std::string outcome;
  std::multiset<std::string> on;
  std::multiset<std::string> takes;
  std::vector<std::string> says;
};

answer read(const std::string& text) {
  answer given;
  std::istringstream lines(text);
  std::getline(lines, given.outcome);
  for (std::string line; std::getline(lines, line);) {
    const auto word = line.substr(2, line.find(' ', 2) - 2);
    const auto rest = line.substr(3 + word.size());
    if (word == "on")
      given.on.insert(rest);
    else if (word == "takes")
      given.takes.insert(rest);
    else if (word == "says")
      given.says.push_back(rest);
    else
      ADD_FAILURE() << "unknown line: " << line;
  }
  return given;
}

answer answer_in(const nlohmann::json& plan) {
  answer told;
  const auto outcome = plan.at("outcome").get<std::string>();
  told.outcome = plan.at("preemptor").get<std::string>()
                 + (outcome == "infeasible" || outcome == "placed" ? " is " : " ") + outcome;
  for (const auto& one : plan.at("assignments"))
    told.on.insert(one.at("node").get<std::string>());
  for (const auto& one : plan.at("victims"))
    for (const auto& p : one.at("pods"))
      told.takes.insert(p.at("uid").get<std::string>());
  return told;
}

void check(const std::string& name) {
  const auto snapshot = (folder / (name + ".yaml")).string();
  auto arguments = asked_of(file_contents(snapshot));
  ASSERT_FALSE(arguments.empty()) << "there is no line \"# decide …\" at the top";
  arguments.insert(arguments.begin(),
                   {REPRIEVE_BINARIES "/reprieve", "decide", "-f", snapshot, "-o", "json"});
  const auto expected = read(file_contents((folder / (name + ".answer")).string()));

  const auto ran = run_program(arguments);

  const auto told = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(told.is_object()) << ran.output;
  ASSERT_EQ(told.at("plans").size(), 1U) << ran.output;
  const auto given = answer_in(told["plans"][0]);
  EXPECT_EQ(given.outcome, expected.outcome) << ran.output;
  EXPECT_EQ(given.on, expected.on);
  EXPECT_EQ(given.takes, expected.takes) << ran.output;
  const auto compact = told.dump();
  for (const auto& text : expected.says)
    EXPECT_NE(compact.find(text), std::string::npos) << text << " is not in\n" << ran.output;
}

/// In one test, so that whoever adds a case need not build anything.
TEST(decide_cases, are_answered_as_the_files_beside_them_say) {
  const auto names = all_cases();
  EXPECT_GT(names.size(), 20U);
  for (const auto& name : names) {
    SCOPED_TRACE(name);
    check(name);
  }
}

} // namespace

} // namespace reprieve
