#include "tests/disturbance/changing_cluster.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace reprieve::disturbance {

namespace {

constexpr std::int64_t gpus_of_a_node = 8;

/// Pods and GPUs of each: half of the work is gangs, most of these on whole nodes.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 10> shapes{
  {{2, 8}, {2, 8}, {2, 8}, {4, 4}, {3, 2}, {8, 1}, {1, 1}, {1, 2}, {1, 4}, {1, 4}}};
constexpr std::array<std::int32_t, 3> priorities{0, 100, 500};

std::string read_from(const std::string& path, std::size_t begin) {
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(begin));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string journal_in(const temporary_directory& directory) {
  return directory.path() / "journal";
}

/// The name of a pod's place, which its incarnations share.
std::string place_of(const std::string& uid) {
  return uid.substr(0, uid.find('.'));
}

std::string workload_at(std::string place) {
  for (int i = 0; i < 3; ++i)
    place = place.substr(0, place.rfind('-'));
  return place;
}

std::string queue_name(queue_number q) {
  return fmt::format("q{}", q);
}

std::string node_name(node_number n) {
  return fmt::format("n{:03}", n);
}

} // namespace

changing_cluster::changing_cluster(std::uint64_t seed, const cluster_size& size)
    : dice_(seed), size_(size), replica_(std::make_shared<memory_store>(), journal_in(directory_)),
      nodes_(size.nodes), queues_{{5, {}}, {3, {}}, {2, {}}, {1, 64}, {1, 16}} {
  queues_.resize(std::clamp<std::size_t>(size.queues, 1, queues_.size()));
}

unit changing_cluster::draw_unit() {
  const auto& [pods, gpus] = shapes[dice_.below(shapes.size())];
  unit u;
  u.number = static_cast<std::int64_t>(drawn_++);
  u.name = fmt::format("w{:04}", u.number);
  // Most of it in the large queues, so that these ask for more than there is.
  u.queue =
    dice_.below(dice_.one_in(5) ? queues_.size() : std::min<std::size_t>(queues_.size(), 3));
  u.priority = priorities[dice_.below(priorities.size())];
  u.pods = pods;
  u.gpus = gpus;
  return u;
}

workload changing_cluster::workload_of(const unit& u) const {
  workload w;
  w.name = u.name;
  w.queue = queue_name(u.queue);
  w.priority = u.priority;
  w.resume.policy = resume_policy::always;
  w.resume.backoff = duration{0};
  w.resume.limit = 1'000'000;
  auto& group = w.groups.emplace_back();
  group.name = "w";
  group.count = static_cast<std::int32_t>(u.pods);
  group.pods.requests = {{"gpu", u.gpus * 1000}};
  if (u.pods > 1) {
    group.min_count = group.count;
    group.disruption = disruption_mode::pod_group;
  }
  return w;
}

node changing_cluster::node_of(node_number n) const {
  node made;
  made.name = node_name(n);
  made.capacity = {{"gpu", gpus_of_a_node * 1000}};
  made.schedulable = nodes_[n].schedulable;
  return made;
}

queue changing_cluster::queue_of(queue_number q) const {
  queue made;
  made.name = queue_name(q);
  made.weight = queues_[q].weight;
  made.cap_by_demand = true;
  if (queues_[q].limit)
    made.limit = {{"gpu", *queues_[q].limit * 1000}};
  return made;
}

absl::Status changing_cluster::start() {
  if (auto ready = replica_.start(); !ready.ok())
    return ready;
  std::vector<object> all;
  for (node_number n = 0; n < nodes_.size(); ++n)
    all.emplace_back(node_of(n));
  for (queue_number q = 0; q < queues_.size(); ++q)
    all.emplace_back(queue_of(q));
  if (const auto made = replica_.apply(all); !made.ok())
    return made.status();
  while (units_.size() < size_.workloads) {
    const auto u = draw_unit();
    units_.emplace(u.name, u);
    if (const auto made = replica_.apply({workload_of(u)}); !made.ok())
      return made.status();
  }
  if (!come_to_rest(std::chrono::minutes{5}))
    return absl::DeadlineExceededError("the first workloads do not come to rest");
  journal_read_ = std::filesystem::file_size(journal_in(directory_));
  return absl::OkStatus();
}

// -- changes --------------------------------------------------------------------------------------

std::string changing_cluster::made(std::string what, const absl::Status& how) {
  if (!how.ok())
    failed_ = fmt::format("{}: {}", what, std::string(how.message()));
  return what;
}

std::string changing_cluster::submit() {
  const auto u = draw_unit();
  units_.emplace(u.name, u);
  return made(fmt::format("submit {} of {} pods with {} GPUs, priority {}, in {}", u.name, u.pods,
                          u.gpus, u.priority, queue_name(u.queue)),
              replica_.apply({workload_of(u)}).status());
}

std::string changing_cluster::end_one() {
  auto which = units_.begin();
  std::advance(which, static_cast<std::ptrdiff_t>(dice_.below(units_.size())));
  ended_ = which->first;
  units_.erase(which);
  return made("delete " + ended_, replica_.remove(object_kind::workload, ended_));
}

std::string changing_cluster::weigh_anew() {
  const auto q = dice_.below(queues_.size());
  queues_[q].weight = dice_.between(1, 6);
  return made(fmt::format("weight {} of {}", queues_[q].weight, queue_name(q)),
              replica_.apply({queue_of(q)}).status());
}

std::string changing_cluster::limit_anew() {
  const auto q = dice_.below(queues_.size());
  queues_[q].limit.reset();
  if (!dice_.one_in(4))
    queues_[q].limit = 8 * dice_.between(1, 100);
  return made(fmt::format("limit {} of {}", queues_[q].limit.value_or(-1), queue_name(q)),
              replica_.apply({queue_of(q)}).status());
}

/// Cordons a node or makes it schedulable again; a cordoned one that nothing runs on goes, and
/// comes back another time.
std::string changing_cluster::change_a_node(const places& running) {
  const auto n = dice_.below(nodes_.size());
  auto& shape = nodes_[n];
  const bool busy =
    std::ranges::any_of(running, [&](const auto& one) { return one.second.on.contains(n); });
  if (shape.there && !shape.schedulable && !busy) {
    shape.there = false;
    return made("node " + node_name(n) + " goes", replica_.remove(object_kind::node, node_name(n)));
  }
  shape.schedulable = !shape.there || !shape.schedulable;
  const auto* what = shape.there ? (shape.schedulable ? "is back" : "is cordoned") : "comes";
  shape.there = true;
  return made(fmt::format("node {} {}", node_name(n), what), replica_.apply({node_of(n)}).status());
}

// -- what becomes of them -------------------------------------------------------------------------

bool changing_cluster::come_to_rest(duration most) {
  constexpr std::chrono::milliseconds step{250};
  constexpr int quiet_steps = 8;
  const auto file = journal_in(directory_);
  auto size = std::filesystem::file_size(file);
  int quiet = 0;
  for (duration passed{0}; passed < most; passed += step) {
    replica_.world().advance(step);
    const auto now = std::filesystem::file_size(file);
    quiet = now == size ? quiet + 1 : 0;
    size = now;
    if (quiet >= quiet_steps)
      return true;
  }
  return false;
}

changing_cluster::places changing_cluster::look() {
  places found;
  for (const auto& one : replica_.get(object_kind::pod)) {
    const auto& p = std::get<pod>(one.what);
    if (p.phase == pod_phase::running || p.phase == pod_phase::bound) {
      auto& at = found[p.workload];
      ++at.on[static_cast<node_number>(std::stoul(p.node.substr(1)))];
      at.since = std::min(at.since, p.started);
    }
  }
  std::erase_if(found, [&](const auto& one) {
    const auto u = units_.find(one.first);
    std::int64_t pods = 0;
    for (const auto& [n, count] : one.second.on)
      pods += count;
    return u == units_.end() || pods != u->second.pods;
  });
  return found;
}

still_cluster changing_cluster::cluster_with(const places& running) const {
  still_cluster made;
  for (const auto& n : nodes_) {
    made.shared += n.there && n.schedulable ? gpus_of_a_node : 0;
    made.capacity.push_back(n.there && n.schedulable ? gpus_of_a_node : 0);
  }
  made.free = made.capacity;
  for (const auto& q : queues_)
    made.queues.push_back({q.weight, q.limit});
  for (const auto& [name, u] : units_) {
    const auto on = running.find(name);
    if (on == running.end()) {
      made.waiting.push_back(u);
      continue;
    }
    const auto& [nodes, since] = on->second;
    made.running.push_back({u, nodes, since.time_since_epoch().count()});
    for (const auto& [n, pods] : nodes)
      if (made.capacity[n] > 0)
        made.free[n] -= pods * u.gpus;
      else
        made.shared += pods * u.gpus;
  }
  return made;
}

void changing_cluster::account(aftermath& told, const places& before, const places& after,
                               const std::string& journal) const {
  std::map<std::string, int> stopped; // by the place of a pod
  std::vector<std::string> started;   // workloads, in their order
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);) {
    const auto step = nlohmann::json::parse(line, nullptr, false);
    if (!step.is_object())
      continue;
    const auto place = place_of(step.value("uid", ""));
    const auto stage = step.value("stage", "");
    if (stage == "starting")
      started.push_back(workload_at(place));
    // What its workload does not want any more goes without a decision.
    if (const auto decision = step.value("decision", ""); stage == "stopping" && !decision.empty()
                                                          && decision != not_wanted
                                                          && workload_at(place) != ended_) {
      ++told.evicted;
      ++stopped[place];
    }
  }
  std::set<std::string> losers;
  for (const auto& [place, times] : stopped) {
    if (times > 1)
      told.twice.push_back(place);
    told.returned += after.contains(workload_at(place)) ? times : 0;
    if (losers.insert(workload_at(place)).second)
      told.stopped.push_back(units_.at(workload_at(place)));
  }

  std::set<std::string> seen;
  for (const auto& name : started)
    if (after.contains(name) && !before.contains(name) && seen.insert(name).second)
      told.started.push_back(units_.at(name));
  auto was = before;
  was.erase(ended_);
  told.needed = least_evictions(cluster_with(was), told.started);

  const auto now = cluster_with(after);
  std::vector<std::size_t> new_ones;
  for (std::size_t i = 0; i < now.running.size(); ++i)
    if (seen.contains(now.running[i].what.name))
      new_ones.push_back(i);
  for (const auto& u : now.waiting)
    if (const auto on = was.find(u.name);
        on != was.end() && was_displaced(now, u, on->second.on, new_ones))
      told.displaced.push_back(u.name);
}

aftermath changing_cluster::next() {
  const auto before = look();
  ended_.clear();
  failed_.clear();
  aftermath told;
  const auto kind = dice_.below(10);
  if (kind < 6
      && (units_.size() < size_.workloads || (kind < 3 && units_.size() < 2 * size_.workloads)))
    told.change = submit();
  else if (kind < 6)
    told.change = end_one();
  else if (kind < 8)
    told.change = change_a_node(before);
  else
    told.change = kind == 8 ? weigh_anew() : limit_anew();
  told.rests = come_to_rest(std::chrono::minutes{1});
  if (!failed_.empty())
    told.change = "refused: " + failed_;
  const auto journal = read_from(journal_in(directory_), journal_read_);
  journal_read_ += journal.size();
  account(told, before, look(), journal);
  return told;
}

} // namespace reprieve::disturbance
