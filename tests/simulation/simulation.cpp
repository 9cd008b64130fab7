#include "tests/simulation/simulation.hpp"

#include "preemption/engine.hpp"
#include "preemption/pending.hpp"
#include "preemption/quota.hpp"

#include <caf/scheduled_actor.hpp>
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace reprieve::simulation {

namespace {

/// Longest that things may take to come to rest once nothing fails any more.
constexpr std::chrono::seconds time_to_rest{300};

constexpr std::size_t most_messages_at_once = 20'000;

std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name{
    abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free};
  std::string text = status == 0 ? name.get() : type.name();
  for (std::size_t at = 0; (at = text.find("reprieve::", at)) != std::string::npos;)
    text.erase(at, 10);
  return text;
}

} // namespace

simulation::simulation(const simulation_settings& settings)
    : settings_(settings), luck_(settings.seed), people_(luck_, facts_) {
  memory_store_options options;
  options.clock = [this] { return elapsed_; };
  store_ = std::make_shared<memory_store>(options);
  simulated_cluster_settings machines;
  machines.clock = outside_.clock();
  machines.watched = [this](const simulated_journal::entry& pod) {
    constexpr std::array<std::string_view, 5> stages{"starts", "runs", "stops", "has stopped",
                                                     "has succeeded"};
    log(
      fmt::format("pod {} on {} {}", pod.uid, pod.node, stages[static_cast<std::size_t>(pod.at)]));
    facts_.lived(pod);
  };
  machines_ = outside_.system().spawn(simulated_cluster, machines);
  start_member();
}

simulation::~simulation() {
  caf::anon_send_exit(machines_, caf::exit_reason::kill);
  for (auto& one : members_)
    one->end();
  for (bool busy = true; busy;) {
    busy = outside_.step();
    for (auto& one : members_)
      busy = one->world().step() || busy;
  }
}

void simulation::log(const std::string& line) const {
  if (settings_.log)
    fmt::print("{:>5} {:>8} ms  {}\n", steps_,
               std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_).count(), line);
}

std::string simulation::text_of(const waiting_actor& one) const {
  auto* actor = dynamic_cast<caf::scheduled_actor*>(one.in->waiting()[one.position]);
  if (actor == nullptr)
    return "?";
  std::string message = "?";
  if (const auto* next = actor->peek_at_next_mailbox_element()) {
    const auto& content = next->content();
    message = content.empty() ? "an answer" : "";
    for (std::size_t i = 0; i < content.size(); ++i) {
      const auto type = content.type(i);
      message +=
        (i == 0 ? "" : ", ")
        + (type.second != nullptr ? readable(*type.second) : "type " + std::to_string(type.first));
    }
  }
  return fmt::format("{} {} {} <- {}", one.owner == nullptr ? 0 : one.owner->generation(),
                     actor->name(), actor->id(), message);
}

void simulation::start_member() {
  const auto generation = static_cast<int>(members_.size()) + 1;
  log(fmt::format("process {} starts", generation));
  members_.push_back(std::make_unique<member>(
    generation, elapsed_, store_,
    [this, generation](const transaction& writes, revision at) {
      facts_.written(writes, at, generation);
    },
    machines_));
}

member* simulation::newest_live() {
  for (auto one = members_.rbegin(); one != members_.rend(); ++one)
    if ((*one)->is_live() && !(*one)->ended())
      return one->get();
  return nullptr;
}

std::vector<simulation::waiting_actor> simulation::waiting() {
  std::vector<waiting_actor> found;
  const auto look_into = [&](actor_world& world) {
    for (std::size_t i = 0; i < world.waiting().size(); ++i) {
      const auto* actor = dynamic_cast<caf::scheduled_actor*>(world.waiting()[i]);
      const member* owner = nullptr;
      for (auto& one : members_)
        if (actor != nullptr && one->has(actor->home_system()))
          owner = one.get();
      if (owner == nullptr || owner->is_live())
        found.push_back({&world, i, owner});
    }
  };
  look_into(outside_);
  for (auto& one : members_)
    look_into(one->world());
  return found;
}

bool simulation::handle_message() {
  const auto found = waiting();
  if (found.empty())
    return false;
  const auto& chosen = found[luck_.below(found.size())];
  if (settings_.log)
    log(text_of(chosen));
  chosen.in->step_at(chosen.position);
  people_.listen();
  return true;
}

bool simulation::move_store() {
  std::vector<member*> busy;
  for (auto& one : members_)
    if (one->connection().busy() && one->now() != member::state::paused)
      busy.push_back(one.get());
  if (busy.empty())
    return false;
  auto& chosen = *busy[luck_.below(busy.size())];
  const auto what = chosen.connection().step(luck_, faults_);
  log(fmt::format("store, for {}: {}", chosen.generation(), what));
  return true;
}

void simulation::pass(duration time) {
  elapsed_ += time;
  outside_.pass(time);
  for (auto& one : members_)
    one->pass(time);
}

/// Something that does happen to processes.
void simulation::harm() {
  auto* newest = newest_live();
  std::vector<member*> paused;
  for (auto& one : members_)
    if (one->now() == member::state::paused)
      paused.push_back(one.get());
  if (!paused.empty() && luck_.one_in(2)) {
    auto& awake = *paused[luck_.below(paused.size())];
    log(fmt::format("process {} goes on", awake.generation()));
    awake.resume();
    return;
  }
  if (newest == nullptr)
    return;
  if (luck_.one_in(2)) {
    log(fmt::format("process {} stalls", newest->generation()));
    newest->pause();
  } else {
    log(fmt::format("process {} crashes", newest->generation()));
    newest->crash();
    people_.lost(newest->generation());
  }
}

void simulation::step() {
  ++steps_;
  if (newest_live() == nullptr && luck_.one_in(30))
    start_member();
  for (auto& one : members_)
    if (one->ended() && one->now() != member::state::dead) {
      one->crash();
      people_.lost(one->generation());
    }
  if (luck_.one_in(400)) {
    harm();
    return;
  }
  if (luck_.one_in(40)) {
    if (auto* through = newest_live())
      if (const auto what = people_.act(*through); !what.empty())
        log("people: " + what);
    return;
  }
  if (luck_.one_in(15)) {
    pass(luck_.one_in(12) ? std::chrono::milliseconds{luck_.between(500, 12'000)}
                          : std::chrono::milliseconds{luck_.between(1, 100)});
    return;
  }
  if (luck_.one_in(4) && move_store())
    return;
  if (!handle_message() && !move_store())
    pass(std::chrono::milliseconds{luck_.between(1, 100)});
}

/// Nothing fails any more, and everything comes to rest.
void simulation::heal() {
  faults_ = false;
  for (auto& one : members_)
    if (one->now() == member::state::paused)
      one->resume();
  const auto until = elapsed_ + time_to_rest;
  while (elapsed_ < until && facts_.broken().empty()) {
    for (std::size_t now = 0; (move_store() || handle_message()) && facts_.broken().empty();
         ++now) {
      ++steps_;
      if (now > most_messages_at_once)
        facts_.complain("messages go on and on without any time passing");
    }
    // Who was replaced learns of it when it writes; at the latest, its lease is over by now.
    for (auto& one : members_)
      if (one->now() != member::state::dead
          && (one->ended() || facts_.was_replaced(one->generation())))
        one->crash();
    if (newest_live() == nullptr)
      start_member();
    else
      pass(std::chrono::milliseconds{200});
  }
}

/// No decision is open, so nobody holds a vote.
void simulation::check_holds() {
  const auto held = newest_live()->count_holds();
  while (handle_message() || move_store()) {
  }
  if (*held > 0 && facts_.open_decisions() == 0)
    facts_.complain(fmt::format("{} votes are held, and no decision is open", *held));
}

/// What the scheduler says of why a workload waits.
std::string simulation::reason_given(const std::string& workload) {
  auto told = std::make_shared<std::string>("nothing");
  auto& asked = *newest_live();
  asked.world().system().spawn(
    [to = asked.gateway(), told, workload](caf::event_based_actor* self) {
      self->request(to, caf::infinite, explain_request{{}, workload, {}})
        .then([told](explain_result& answer) {
          *told = answer.ok() ? answer->pending_reason : std::string(answer.status().message());
        });
    });
  while (handle_message() || move_store()) {
  }
  return *told;
}

/// Whether the queue may use what the plan asks for, once its victims have gone.
bool simulation::is_granted(const std::string& queue, const plan& made) const {
  resources more;
  for (const auto& one : made.assignments)
    add_taken(more, one.placed);
  auto used = facts_.used_in(queue);
  for (const auto& one : made.victims) {
    const auto owner = facts_.workloads().find(one.portion.workload);
    if (owner == facts_.workloads().end() || owner->second.spec.queue != queue)
      continue;
    for (const auto& [uid, node] : one.pods) {
      for (const auto& [resource, amount] : find_pod(facts_.nodes().at(node), uid)->requests)
        used[resource] -= amount;
      --used[std::string(resource::pods)];
    }
  }
  const auto record = facts_.quota().find(queue);
  const auto* granted =
    record == facts_.quota().end() ? nullptr : find(record->second.grants, "default");
  return granted != nullptr && beyond_grant(queue, *granted, used, more).empty();
}

/// Whoever still waits could not have been placed.
void simulation::check_progress() {
  cluster_view view;
  std::map<std::string, const node*, std::less<>> standing;
  for (const auto& [name, record] : facts_.nodes()) {
    view.put_node(record.spec);
    for (const auto& p : record.pods) {
      if (p.stop_told != no_time)
        return; // who waits may wait for this one, or not count on it any more
      standing.emplace(p.uid, &record.spec);
      if (!takes_room(p.phase))
        continue;
      auto now = p;
      if (const auto owner = facts_.workloads().find(p.workload); owner != facts_.workloads().end())
        follow(now, owner->second.spec, owner->second.status);
      view.put_pod(now);
    }
  }
  for (const auto& [name, budget] : facts_.budgets())
    view.put_budget(budget);
  view.settle();
  plan_settings settings;
  settings.now = outside_.clock().now(caf::actor_cast<caf::scheduled_actor*>(machines_));
  for (const auto& [name, record] : facts_.workloads()) {
    if (record.deleting) {
      facts_.complain(fmt::format("workload {} was deleted and is still there", name));
      continue;
    }
    if (record.status.resume_after > settings.now)
      continue;
    for (const auto& who : lacking_units(
           record, [&](const pod& p) { return standing.contains(p.uid); },
           [&](const pod& p) { return standing.at(p.uid); }))
      if (const auto made = decide(view, who, settings);
          made.result != plan::outcome::infeasible && is_granted(record.spec.queue, made))
        facts_.complain(fmt::format("{} waits, although {}; the scheduler says '{}'{}", name,
                                    made.why.summary, reason_given(name), facts_.text_of_nodes()));
  }
}

std::string simulation::run() {
  while (steps_ < settings_.steps && facts_.broken().empty())
    step();
  if (facts_.broken().empty())
    heal();
  if (facts_.broken().empty())
    facts_.check_rest();
  if (facts_.broken().empty())
    check_holds();
  if (facts_.broken().empty())
    check_progress();
  if (!facts_.broken().empty())
    log("BROKEN: " + facts_.broken());
  return facts_.broken();
}

} // namespace reprieve::simulation
