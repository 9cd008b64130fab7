#include "tests/trace/replay_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <numeric>
#include <string_view>

namespace reprieve::trace {

namespace {

/// A row by the names of its columns.
using row = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= line.size();) {
    const auto end = std::min(line.find(',', begin), line.size());
    found.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

absl::StatusOr<std::vector<row>> read_rows(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    return absl::NotFoundError(fmt::format("{} can't be read", path.string()));
  const auto names = cells(line);
  std::vector<row> rows;
  while (std::getline(file, line)) {
    const auto values = cells(line);
    if (values.size() != names.size())
      return absl::InvalidArgumentError(fmt::format("{}, line {}: {} columns instead of {}",
                                                    path.string(), rows.size() + 2, values.size(),
                                                    names.size()));
    auto& one = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i)
      one[names[i]] = values[i];
  }
  return rows;
}

std::int64_t number(const row& from, std::string_view column) {
  const auto& text = from.find(column)->second;
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::int32_t priority_of(std::string_view qos) {
  if (qos == "LS")
    return 100;
  if (qos == "Guaranteed")
    return 80;
  if (qos == "Burstable")
    return 50;
  return 10;
}

milliseconds compressed(std::int64_t seconds, double factor, milliseconds longest) {
  const milliseconds exact{static_cast<std::int64_t>(static_cast<double>(seconds) * factor * 1000)};
  return std::clamp(exact, milliseconds{1000}, longest);
}

/// The factor with which the pods ask for so many GPU-milliseconds in all.
double compression_for(const std::vector<row>& pods, double gpu_milliseconds,
                       milliseconds longest) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const auto factor = (low + high) / 2;
    double asked = 0;
    for (const auto& one : pods)
      asked += static_cast<double>(
        number(one, "num_gpu")
        * compressed(number(one, "deletion_time") - number(one, "creation_time"), factor, longest)
            .count());
    (asked < gpu_milliseconds ? low : high) = factor;
  }
  return high;
}

} // namespace

room& room::operator+=(const room& other) {
  cpu += other.cpu;
  memory += other.memory;
  gpu += other.gpu;
  return *this;
}

room& room::operator-=(const room& other) {
  cpu -= other.cpu;
  memory -= other.memory;
  gpu -= other.gpu;
  return *this;
}

room room::without_debts() const {
  return {std::max<std::int64_t>(cpu, 0), std::max<std::int64_t>(memory, 0),
          std::max<std::int64_t>(gpu, 0)};
}

std::int64_t replay_plan::gpus() const {
  return std::accumulate(
    machines.begin(), machines.end(), std::int64_t{0},
    [](std::int64_t sum, const machine& one) { return sum + one.capacity.gpu; });
}

absl::StatusOr<replay_plan> read_plan(const std::filesystem::path& directory,
                                      const replay_size& size) {
  const auto machines = read_rows(directory / "openb_node_list_gpu_node.csv");
  if (!machines.ok())
    return machines.status();
  auto pods = read_rows(directory / "openb_pod_list_default.csv");
  if (!pods.ok())
    return pods.status();
  if (pods->size() < size.pods || size.pods < 2)
    return absl::InvalidArgumentError(
      fmt::format("the trace has {} pods, and {} are to be replayed; 2 are the least", pods->size(),
                  size.pods));
  replay_plan plan;
  plan.length = size.length;
  plan.weights = size.weights;
  for (std::size_t i = 0; i < machines->size(); i += size.every_nth_machine) {
    const auto& one = (*machines)[i];
    plan.machines.push_back(
      {one.at("sn"), {number(one, "cpu_milli"), number(one, "memory_mib"), number(one, "gpu")}});
  }

  std::ranges::stable_sort(*pods, {}, [](const row& one) { return number(one, "creation_time"); });
  const auto before = static_cast<std::ptrdiff_t>((pods->size() - size.pods) / 2);
  const std::vector<row> chosen(pods->begin() + before,
                                pods->begin() + before + static_cast<std::ptrdiff_t>(size.pods));
  const auto begin = number(chosen.front(), "creation_time");
  const auto span = std::max<std::int64_t>(number(chosen.back(), "creation_time") - begin, 1);
  const auto factor = compression_for(
    chosen, size.load * static_cast<double>(plan.gpus() * size.length.count()), size.length);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto& one = chosen[i];
    const auto came = number(one, "creation_time");
    plan.arrivals.push_back(
      {one.at("name"),
       {number(one, "cpu_milli"), number(one, "memory_mib"), number(one, "num_gpu")},
       priority_of(one.at("qos")),
       i % size.weights.size(),
       milliseconds{(came - begin) * size.length.count() / span},
       compressed(number(one, "deletion_time") - came, factor, size.length)});
  }
  return plan;
}

} // namespace reprieve::trace
