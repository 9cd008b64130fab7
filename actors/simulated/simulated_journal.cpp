#include "actors/simulated/simulated_journal.hpp"

#include "state/files/private_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <fstream>

namespace reprieve {

namespace {

constexpr std::array stages{"starting", "running", "stopping", "stopped", "succeeded"};

} // namespace

absl::Status simulated_journal::check(const std::string& path) {
  const auto file = open_to_append(path);
  if (!file.ok())
    return absl::UnavailableError(fmt::format("can't keep the journal of the machines in {}: {}",
                                              path, std::string(file.status().message())));
  ::close(*file);
  return absl::OkStatus();
}

simulated_journal::simulated_journal(const std::string& path) : file_(nullptr) {
  if (path.empty())
    return;
  if (const auto file = open_to_append(path); file.ok())
    file_.reset(::fdopen(*file, "a"));
}

void simulated_journal::write(const entry& line) {
  if (!file_)
    return;
  nlohmann::json text{{"uid", line.uid},
                      {"node", line.node},
                      {"decision", line.decision},
                      {"stage", stages[static_cast<std::size_t>(line.at)]},
                      {"since", line.since.time_since_epoch().count()},
                      {"runFor", line.run_for.count()},
                      {"stopTakes", line.stop_takes.count()},
                      {"stuckFor", line.stuck_for.count()},
                      {"epoch", line.epoch},
                      {"workload", line.workload},
                      {"requests", line.requests}};
  if (line.given_up)
    text["givenUp"] = true;
  if (line.counted) {
    text["ordinal"] = line.ordinal;
    text["created"] = line.created.time_since_epoch().count();
    text["told"] = line.told.time_since_epoch().count();
    text["grace"] = line.grace.count();
    text["forced"] = line.forced;
  }
  std::fputs((text.dump() + "\n").c_str(), file_.get());
  std::fflush(file_.get());
}

/// What the line says. Throws where a field is of another kind than it has.
static simulated_journal::entry entry_of(const nlohmann::json& text) {
  simulated_journal::entry read;
  read.uid = text.value("uid", "");
  read.node = text.value("node", "");
  read.decision = text.value("decision", "");
  const auto stage_name = text.value("stage", "");
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (stage_name == stages[i])
      read.at = static_cast<simulated_journal::stage>(i);
  read.since = time_point{duration{text.value("since", std::int64_t{0})}};
  read.run_for = duration{text.value("runFor", std::int64_t{0})};
  read.stop_takes = duration{text.value("stopTakes", std::int64_t{0})};
  read.stuck_for = duration{text.value("stuckFor", std::int64_t{0})};
  read.epoch = text.value("epoch", revision{0});
  read.workload = text.value("workload", "");
  if (const auto requests = text.find("requests"); requests != text.end())
    for (const auto& [name, amount] : requests->items())
      if (amount.is_number_integer())
        read.requests[name] = amount.get<std::int64_t>();
  read.given_up = text.value("givenUp", false);
  read.counted = text.contains("ordinal");
  read.ordinal = text.value("ordinal", std::int32_t{0});
  read.created = time_point{duration{text.value("created", std::int64_t{0})}};
  read.told = time_point{duration{text.value("told", std::int64_t{0})}};
  read.grace = duration{text.value("grace", std::int64_t{0})};
  read.forced = text.value("forced", false);
  return read;
}

std::map<std::string, simulated_journal::entry> simulated_journal::read(const std::string& path) {
  std::map<std::string, entry> newest;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto text = nlohmann::json::parse(line, nullptr, false);
    if (!text.is_object())
      continue;
    try {
      auto read = entry_of(text);
      newest[read.uid] = std::move(read);
    } catch (const nlohmann::json::type_error&) {
      continue;
    }
  }
  return newest;
}

} // namespace reprieve
