#include "tests/simulation/simulation.hpp"

#include "preemption/waiting/unit_run.hpp"
#include "state/records/keys.hpp"

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

constexpr std::size_t most_steps_to_begin = 3000;

cluster_shape draw_shape(dice& luck, bool always_counted) {
  cluster_shape shape;
  shape.replicas = static_cast<int>(luck.between(1, 3));
  shape.node_shards = static_cast<std::uint32_t>(luck.between(2, 3));
  shape.workload_shards = static_cast<std::uint32_t>(luck.between(1, 2));
  shape.lease_time = std::chrono::seconds{luck.between(2, 6)};
  if (luck.one_in(2))
    shape.nodes_per_replica = luck.between(1, 3);
  if (luck.one_in(3))
    shape.batches.operations = static_cast<std::size_t>(luck.between(3, 6));
  shape.now = luck.one_in(2) ? mood::plain : (luck.one_in(2) ? mood::sharing : mood::crowded);
  if (shape.now == mood::sharing || (shape.now == mood::plain && luck.one_in(2)))
    shape.groups.emplace_back("other");
  // Not with replicas of earlier versions, who place deployments pod by pod until they are gone.
  if (always_counted || luck.one_in(3))
    shape.groups.emplace_back(counted_group);
  else if (luck.one_in(4))
    shape.oldest_schema = first_schema_version;
  return shape;
}

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
    : settings_(settings), luck_(settings.seed), shape_(draw_shape(luck_, settings.lifecycle)),
      network_([this](int process) {
        return process > 0 && members_[static_cast<std::size_t>(process) - 1]->is_live();
      }),
      people_(luck_, facts_, shape_) {
  // Every other cluster has slots in pages, which workloads are too small for otherwise.
  slot_list::page_size = settings.seed % 2 == 0 ? 512 : 1 + settings.seed % 3;
  // Likewise, in every fourth, of the pods that wait as one some are served at a time.
  const auto few = 1 + static_cast<std::int64_t>(settings.seed % 3);
  unit_run::served_at_once = settings.seed % 4 == 1 ? few : 512;
  if (settings.log)
    facts_.tell_decisions([this](const std::string& what) { log(what); });
  store_ = std::make_shared<memory_store>();
  records_ = store_->watch(with_prefix(std::string(keys::owners)), 0,
                           [this](const absl::StatusOr<watch_batch>& batch) {
                             for (const auto& one : batch->changes)
                               if (one.kind == change::type::erase)
                                 facts_.record_gone(std::string(keys::last_part(one.value.key)));
                           });
  simulated_cluster_settings machines;
  machines.clock = outside_.clock();
  machines.watched = [this](const simulated_journal::entry& pod) {
    constexpr std::array<std::string_view, 5> stages{"starts", "runs", "stops", "has stopped",
                                                     "has succeeded"};
    log(
      fmt::format("pod {} on {} {}", pod.uid, pod.node, stages[static_cast<std::size_t>(pod.at)]));
    facts_.lived(pod);
  };
  machines.forgot = [this](const std::string& uid) { facts_.forgot(uid); };
  machines_ = outside_.system().spawn(simulated_cluster, machines);
  facts_.keep_time(
    [this] { return outside_.clock().now(caf::actor_cast<caf::scheduled_actor*>(machines_)); });
  log(fmt::format("{} replicas, {} groups, {} nodes of one on a replica", shape_.replicas,
                  shape_.groups.size(), shape_.nodes_per_replica));
  start_member();
}

simulation::~simulation() {
  caf::anon_send_exit(machines_, caf::exit_reason::kill);
  for (auto& one : members_)
    one->end();
  network_.end_all();
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

/// Starts a process, unless as many are there as should run. It has a place of its own, or that of
/// one that is gone, or seems to be.
bool simulation::start_member() {
  std::vector<std::string> places;
  for (int k = 1; k <= shape_.replicas; ++k) {
    auto name = fmt::format("r{}", k);
    if (std::ranges::none_of(
          members_, [&](const auto& one) { return one->is_live() && one->name() == name; }))
      places.push_back(std::move(name));
  }
  if (places.empty())
    return false;
  const auto& name = places[luck_.below(places.size())];
  const auto generation = static_cast<int>(members_.size()) + 1;
  const auto schema = healed_ || luck_.one_in(2) ? schema_version : shape_.oldest_schema;
  log(fmt::format("process {} starts as {}, and knows version {}", generation, name, schema));
  facts_.starts(generation, schema);
  members_.push_back(std::make_unique<member>(
    generation, name, shape_,
    surroundings{elapsed_, schema, store_, [this] { return elapsed_; },
                 [this, generation](const transaction& writes, revision at) {
                   facts_.written(writes, at, generation);
                 },
                 machines_, network_}));
  owners_[&members_.back()->world().system()] = members_.back().get();
  return true;
}

member* simulation::newest_live() {
  for (auto one = members_.rbegin(); one != members_.rend(); ++one)
    if ((*one)->is_live() && !(*one)->ended())
      return one->get();
  return nullptr;
}

std::vector<member*> simulation::those(member::state now) {
  std::vector<member*> found;
  for (auto& one : members_)
    if (one->now() == now)
      found.push_back(one.get());
  return found;
}

std::vector<simulation::waiting_actor> simulation::waiting() {
  std::vector<waiting_actor> found;
  const auto look_into = [&](actor_world& world) {
    for (std::size_t i = 0; i < world.waiting().size(); ++i) {
      const auto* actor = dynamic_cast<caf::scheduled_actor*>(world.waiting()[i]);
      const auto of = actor == nullptr ? owners_.end() : owners_.find(&actor->home_system());
      const member* owner = of == owners_.end() ? nullptr : of->second;
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
    if (one->connection().busy())
      busy.push_back(one.get());
  if (busy.empty())
    return false;
  auto& chosen = *busy[luck_.below(busy.size())];
  const auto what = chosen.connection().step(luck_, faults_);
  log(fmt::format("store, for {}: {}", chosen.generation(), what));
  return true;
}

bool simulation::move_letter() {
  const auto what = network_.step(luck_);
  if (!what.empty())
    log("wire " + what);
  return !what.empty();
}

void simulation::pass(duration time) {
  elapsed_ += time;
  outside_.pass(time);
  for (auto& one : members_) {
    one->pass(time);
    one->connection().keep_leases();
  }
  network_.pass(time);
  constexpr std::chrono::milliseconds between_beats{300};
  if (auto* through = newest_live();
      through != nullptr && !through->is_leaving() && elapsed_ - last_beat_ >= between_beats) {
    last_beat_ = elapsed_;
    people_.beat(*through);
  }
}

void simulation::lose(member& gone, bool with_its_machine) {
  gone.crash(with_its_machine);
  people_.lost(gone.generation());
}

/// Who has given up, or handed over, ends.
void simulation::bury() {
  for (auto& one : members_)
    if (one->ended() && one->now() != member::state::dead) {
      log(fmt::format("process {} ends", one->generation()));
      lose(*one, false);
    }
}

void simulation::step() {
  ++steps_;
  bury();
  if (luck_.one_in(newest_live() == nullptr ? 30 : 100))
    start_member();
  if (faults_ && luck_.one_in(shape_.now == mood::crowded ? 80 : 150)) {
    harm();
    return;
  }
  if (luck_.one_in(12)) {
    auto live = those(member::state::live);
    std::erase_if(live, [](const member* one) { return one->is_leaving(); });
    if (!live.empty())
      if (const auto what = people_.act(*live[luck_.below(live.size())]); !what.empty())
        log("people: " + what);
    return;
  }
  if (luck_.one_in(20)) {
    pass(luck_.one_in(12) ? std::chrono::milliseconds{luck_.between(500, 12'000)}
                          : std::chrono::milliseconds{luck_.between(1, 100)});
    return;
  }
  if (luck_.one_in(4) && move_store())
    return;
  if (luck_.one_in(4) && move_letter())
    return;
  if (!handle_message() && !move_store() && !move_letter())
    pass(std::chrono::milliseconds{luck_.between(1, 100)});
}

/// Handles whatever waits, without letting time pass.
void simulation::come_to_rest() {
  for (std::size_t now = 0;
       facts_.broken().empty() && (move_store() || move_letter() || handle_message()); ++now) {
    ++steps_;
    if (now > most_messages_at_once)
      facts_.complain("messages go on and on without any time passing");
  }
}

/// Nothing fails any more, and everything comes to rest.
void simulation::heal() {
  faults_ = false;
  healed_ = true;
  facts_.calm_down();
  people_.wake_all();
  network_.mend();
  for (auto& one : members_) {
    one->connection().block(false);
    if (one->now() == member::state::paused)
      one->resume();
  }
  settle(time_to_rest);
}

void simulation::settle(duration time) {
  const auto until = elapsed_ + time;
  while (elapsed_ < until && facts_.broken().empty()) {
    come_to_rest();
    bury();
    if (!start_member())
      pass(std::chrono::milliseconds{200});
  }
}

std::string simulation::run() {
  // Most begin with a cluster that works.
  faults_ = luck_.one_in(4);
  while (!faults_ && !people_.are_ready() && steps_ < most_steps_to_begin
         && facts_.broken().empty())
    step();
  faults_ = true;
  for (const auto last = steps_ + settings_.steps; steps_ < last && facts_.broken().empty();)
    step();
  if (facts_.broken().empty())
    heal();
  if (facts_.broken().empty())
    check_rest();
  if (facts_.broken().empty())
    tell_stories();
  if (facts_.broken().empty() && (people_.has_queues() || shape_.now == mood::crowded))
    change_things();
  if (!facts_.broken().empty())
    log("BROKEN: " + facts_.broken());
  return facts_.broken();
}

} // namespace reprieve::simulation
