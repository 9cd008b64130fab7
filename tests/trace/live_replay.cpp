#include "tests/trace/live_replay.hpp"

#include "protocol/client/api_client.hpp"
#include "state/quantities/quantity.hpp"
#include "tests/integration/daemon.hpp"
#include "tests/trace/fitting_watch.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

namespace reprieve::trace {

namespace {

using steady = std::chrono::steady_clock;
using json = nlohmann::json;

/// How often is looked at who waits.
constexpr milliseconds look_every{500};
/// What the server gets beyond the backoff before a pod counts as one that waits.
constexpr milliseconds margin{100};

/// The life of each pod as the machines tell it, read on as their journal grows.
class journal_account {
public:
  journal_account(const replay_plan& plan, const std::string& path) : file_path_(path) {
    for (std::size_t i = 0; i < plan.arrivals.size(); ++i)
      numbers_[plan.arrivals[i].name] = i;
    lives_.resize(plan.arrivals.size());
  }

  struct life {
    bool ended = false;  ///< it ran to its end
    bool placed = false; ///< it takes room
    std::optional<time_point> ran_from;
    int preempted = 0;
    time_point left = no_time; ///< when it was gone after it was preempted
  };

  /// Reads what is new.
  void read(const replay_plan& plan) {
    std::ifstream file(file_path_);
    file.seekg(static_cast<std::streamoff>(read_));
    for (std::string line; std::getline(file, line) && !file.eof();) {
      read_ += line.size() + 1;
      if (const auto step = json::parse(line, nullptr, false); step.is_object())
        take(plan, step);
    }
  }

  const std::vector<life>& lives() const {
    return lives_;
  }
  /// Up to then; what still runs counts as used until then.
  outcome told(const replay_plan& plan, time_point until) const {
    auto all = told_;
    for (std::size_t i = 0; i < lives_.size(); ++i)
      if (lives_[i].ran_from)
        add_use(all, plan.arrivals[i], until - *lives_[i].ran_from);
    return all;
  }

private:
  static void add_use(outcome& told, const arrival& whose, duration ran) {
    told.gpu_seconds_used +=
      static_cast<double>(whose.asks.gpu) * std::chrono::duration<double>(ran).count();
  }

  void take(const replay_plan& plan, const json& step) {
    // A pod is named by its workload, group, replica and index, its uid goes on behind a dot.
    auto name = step.value("uid", "");
    name = name.substr(0, name.find('.'));
    name = name.substr(0, name.find("-pod-0-0"));
    const auto found = numbers_.find(name);
    if (found == numbers_.end())
      return;
    auto& one = lives_[found->second];
    const auto& asked = plan.arrivals[found->second];
    const time_point at{duration{step.value("since", std::int64_t{0})}};
    const auto stage = step.value("stage", "");
    if (stage == "starting") {
      ++told_.starts;
      one.placed = true;
    } else if (stage == "running") {
      one.ran_from = at;
    } else if (stage == "stopping") {
      const auto ran = one.ran_from ? at - *one.ran_from : duration{0};
      told_.add_stop(asked.asks, std::chrono::duration_cast<milliseconds>(ran));
      add_use(told_, asked, ran);
      one.ran_from.reset();
      ++one.preempted;
    } else {
      if (one.ran_from)
        add_use(told_, asked, at - *one.ran_from);
      one.ran_from.reset();
      one.placed = false;
      one.ended = stage == "succeeded";
      one.left = at;
    }
  }

  std::string file_path_;
  std::size_t read_ = 0;
  std::map<std::string, std::size_t> numbers_;
  std::vector<life> lives_;
  outcome told_;
};

workload work_for(const arrival& asked) {
  workload w;
  w.name = asked.name;
  w.queue = queue_name(asked.queue);
  w.priority = asked.priority;
  w.resume.policy = resume_policy::always;
  w.resume.backoff = first_backoff;
  w.resume.limit = 1'000'000;
  auto& group = w.groups.emplace_back();
  group.name = "pod";
  group.pods.requests = resources_of(asked.asks);
  group.pods.annotations["simulation/run-for"] = format_duration(asked.runs_for);
  group.pods.annotations["simulation/stop-takes"] = format_duration(stop_takes);
  return w;
}

std::vector<object> cluster_of(const replay_plan& plan) {
  std::vector<object> all;
  for (const auto& m : plan.machines) {
    node n;
    n.name = m.name;
    n.capacity = resources_of(m.capacity);
    all.emplace_back(std::move(n));
  }
  for (std::size_t q = 0; q < plan.weights.size(); ++q) {
    queue made;
    made.name = queue_name(q);
    made.weight = plan.weights[q];
    made.cap_by_demand = true;
    all.emplace_back(std::move(made));
  }
  return all;
}

/// Submits what comes, and looks meanwhile.
class replay {
public:
  replay(const replay_plan& plan, daemon_process& daemon, const std::string& journal)
      : plan_(plan), address_(daemon.address()), account_(plan, journal), watch_(plan),
        acknowledged_(plan.arrivals.size()) {}

  absl::StatusOr<outcome> run() {
    api_client server{{.servers = {address_}}};
    if (const auto made = server.apply({cluster_of(plan_), false}); !made.ok())
      return made.status();
    began_ = steady::now();
    std::jthread looks{[this](const std::stop_token& over) { look_until(over); }};
    const auto submitted = submit_all(server);
    std::this_thread::sleep_until(began_ + plan_.length);
    const time_point until = std::chrono::system_clock::now();
    looks.request_stop();
    looks.join();
    if (!submitted.ok())
      return submitted;
    if (!looked_.ok())
      return looked_;
    account_.read(plan_);
    auto told = account_.told(plan_, until);
    told.longest_fitting = watch_.longest();
    told.who_fitted = watch_.who();
    return told;
  }

private:
  milliseconds now() const {
    return std::chrono::duration_cast<milliseconds>(steady::now() - began_);
  }

  absl::Status submit_all(api_client& server) {
    for (std::size_t next = 0; next < plan_.arrivals.size();) {
      std::this_thread::sleep_until(began_ + plan_.arrivals[next].at);
      apply_request wanted;
      const auto first = next;
      for (; next < plan_.arrivals.size() && plan_.arrivals[next].at <= now(); ++next)
        wanted.objects.emplace_back(work_for(plan_.arrivals[next]));
      if (const auto made = server.apply(wanted); !made.ok())
        return made.status();
      for (auto one = first; one < next; ++one)
        acknowledged_[one] = true;
    }
    return absl::OkStatus();
  }

  void look_until(const std::stop_token& over) {
    api_client server{{.servers = {address_}}};
    for (auto next = steady::now(); !over.stop_requested() && looked_.ok(); next += look_every) {
      std::this_thread::sleep_until(next);
      looked_ = look(server);
    }
  }

  absl::Status look(api_client& server) {
    sight seen;
    std::set<std::size_t> there;
    for (std::size_t i = 0; i < acknowledged_.size(); ++i)
      if (acknowledged_[i])
        there.insert(i);
    const time_point asked = std::chrono::system_clock::now();
    seen.at = now();
    const auto queues = server.get({object_kind::queue, {}, {}, {}});
    if (!queues.ok())
      return queues.status();
    for (const auto& one : *queues)
      seen.queues[std::string(name_of(one.what))] = one.queue.value_or(queue_status{});
    const auto pods = server.get({object_kind::pod, {}, {}, {}});
    if (!pods.ok())
      return pods.status();
    std::set<std::string> with_pods;
    for (const auto& one : *pods) {
      seen.pods.push_back(std::get<pod>(one.what));
      if (takes_room(seen.pods.back().phase))
        with_pods.insert(seen.pods.back().workload);
    }
    account_.read(plan_);
    for (const auto one : there)
      if (waits(account_.lives()[one], asked) && !with_pods.contains(plan_.arrivals[one].name))
        seen.waiting.insert(one);
    watch_.look(seen);
    return absl::OkStatus();
  }

  static bool waits(const journal_account::life& one, time_point asked) {
    if (one.ended || one.placed)
      return false;
    const auto backoff = one.preempted == 0
                           ? milliseconds{0}
                           : first_backoff * (std::int64_t{1} << std::min(one.preempted - 1, 12));
    // It counts from when the pod was told to stop.
    return one.left - (one.preempted == 0 ? milliseconds{0} : stop_takes) + backoff + margin
           < asked;
  }

  const replay_plan& plan_;
  std::string address_;
  journal_account account_; ///< of whoever looks, and of the end
  fitting_watch watch_;
  std::vector<std::atomic<bool>> acknowledged_;
  steady::time_point began_;
  absl::Status looked_;
};

} // namespace

absl::StatusOr<outcome> replay_live(const replay_plan& plan) {
  const temporary_directory directory;
  const auto data = directory.path() / "daemon";
  daemon_process daemon(data);
  if (!daemon.serves())
    return absl::UnavailableError("reprieved does not serve: " + daemon.output());
  return replay(plan, daemon, (data / "simulated-cluster.jsonl").string()).run();
}

} // namespace reprieve::trace
