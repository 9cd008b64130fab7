#include "preemption/waiting/service_place.hpp"

#include <tuple>

namespace reprieve {

namespace {

constexpr auto bits = 20U; // more than a workload may have pods
constexpr std::size_t mask = (std::size_t{1} << bits) - 1;

} // namespace

bool service_place::operator<(const service_place& other) const {
  if (priority != other.priority)
    return priority > other.priority;
  if (workload_priority != other.workload_priority)
    return workload_priority > other.workload_priority;
  return std::tie(submitted, workload, unit)
         < std::tie(other.submitted, other.workload, other.unit);
}

service_place place_of_work(const workload_record& record) {
  service_place place;
  place.priority = place.workload_priority = record.status.resolved.priority;
  place.submitted = record.status.submitted;
  place.workload = record.spec->name;
  return place;
}

bool differ_in_unit_only(const service_place& a, const service_place& b) {
  return a.priority == b.priority && a.workload_priority == b.workload_priority
         && a.submitted == b.submitted && a.workload == b.workload;
}

std::size_t number_of(const unit_position& at) {
  return (((std::size_t{at.gang ? 0U : 1U} << bits) + at.replica) << 2 * bits) + (at.group << bits)
         + at.index;
}

unit_position position_of(std::size_t number) {
  const auto replica = number >> 2 * bits;
  const bool gang = replica <= mask;
  return {gang, gang ? replica : replica - mask - 1, (number >> bits) & mask, number & mask};
}

} // namespace reprieve
