#include "testbed/stored/stored_decisions.hpp"

#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "testbed/stored/bulk_writer.hpp"

#include <fmt/format.h>

#include <variant>

namespace reprieve {

namespace {

std::string pod_of(const std::string& workload) {
  return workload + "-workers-0-0";
}

/// What the decision's key and its one chunk hold.
struct encoded {
  decision_head head;
  std::string head_bytes;
  std::string body;

  explicit encoded(const decision& d)
      : head(head_of(d, 1)), head_bytes(encode(head)),
        body(encode_bodies(d, shared_pods(d.assignments)).front()) {}
};

} // namespace

std::string stored_decisions::id_of(std::size_t number) {
  constexpr std::size_t in_an_epoch = 100'000;
  return fmt::format("{:08}.{:06}.default", number / in_an_epoch + 1, number % in_an_epoch);
}

std::string stored_decisions::preemptor_of(std::size_t number) const {
  return fmt::format("past-{:06}", number % workloads);
}

std::string stored_decisions::victim_of(std::size_t number) const {
  return fmt::format("past-{:06}", (number + 1) % workloads);
}

decision stored_decisions::decision_at(std::size_t number) const {
  decision d;
  d.id = id_of(number);
  d.resource_group = "default";
  d.workloads = {preemptor_of(number)};
  d.priority = 100;
  d.policy = "workload-aware";
  d.phase = decision_phase::done;
  pod placed;
  placed.name = pod_of(d.workloads.front());
  placed.uid = fmt::format("{}.{}", placed.name, number);
  placed.workload = d.workloads.front();
  placed.group = "workers";
  placed.node = fmt::format("node-{:06}", number % 5000);
  placed.requests = {{"cpu", 1000}, {"memory", std::int64_t{4} << 30}};
  d.assignments = {{placed}};
  victim goes;
  goes.portion = {victim_of(number), "workers", 0};
  goes.pods = {{fmt::format("{}.{}", pod_of(goes.portion.workload), number), placed.node}};
  goes.reason = "its priority 0 is below 100";
  d.victims = {goes};
  d.why.summary = fmt::format("{} (priority 100) gets 1 pod on 1 node", d.workloads.front());
  d.why.threshold = 0;
  const auto before =
    time / static_cast<std::int64_t>(count) * static_cast<std::int64_t>(count - 1 - number);
  d.ended = newest - before;
  d.committed = d.ended - std::chrono::seconds{2};
  d.decided = d.committed - std::chrono::milliseconds{3};
  d.trace.traceparent = fmt::format("00-{:032x}-{:016x}-01", number + 1, number + 1);
  return d;
}

void stored_decisions::write_to(store& to) const {
  if (count == 0)
    return;
  bulk_writer writer{to};
  archive_totals totals;
  for (std::size_t number = 0; number < count; ++number) {
    const encoded made{decision_at(number)};
    const auto entry = entry_of(made.head, std::ssize(made.head_bytes) + std::ssize(made.body));
    writer.write(keys::decision_body(entry.id, 0), made.body);
    writer.write(keys::finished_head(entry.id), made.head_bytes);
    writer.write(keys::ended_decision(entry.ended, entry.id), encode(entry.what));
    for (const auto& one : index_writes(entry))
      writer.write(std::get<put>(one).key, std::get<put>(one).value);
    totals.add(hour_of(entry.ended), {1, entry.what.bytes});
  }
  for (const auto& [hour, total] : totals.hours())
    writer.write(keys::archive_hour(hour), encode(total));
  writer.write(std::string(keys::archive), encode(archive_record{no_time, false, true}));
  writer.finish();
}

void stored_decisions::write_as_version_4(store& to) const {
  bulk_writer writer{to};
  for (std::size_t number = 0; number < count; ++number) {
    const encoded made{decision_at(number)};
    writer.write(keys::decision_body(made.head.summary.id, 0), made.body);
    writer.write(keys::done_decision(made.head.summary.ended, made.head.summary.id),
                 made.head_bytes);
  }
  writer.finish();
}

} // namespace reprieve
