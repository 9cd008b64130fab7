#include "protocol/limits/open_connections.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// Strangers have that part of the connections, and one address that part of theirs.
constexpr std::int64_t strangers_part = 5;
constexpr std::int64_t host_part = 4;
constexpr std::int64_t least_strangers = 64;
constexpr std::int64_t least_strangers_per_host = 32;
/// Who has no room gets it of the oldest stranger that had that long for its handshake.
constexpr std::chrono::seconds for_a_handshake{1};
/// Of how many connections one is chosen. Those among them that are in use, as by a watch that was
/// opened long ago, are looked at after all others the next time: gRPC sees once a minute whether
/// who waits for an answer is still there, and says nothing over a connection without calls.
constexpr std::size_t most_looked_at = 64;
constexpr std::chrono::seconds silent_in_use{65};

} // namespace

open_connections::open_connections(const bounds& with)
    : with_(with), most_strangers_(std::max(with.most / strangers_part, least_strangers)),
      most_strangers_per_host_(std::max(most_strangers_ / host_part, least_strangers_per_host)) {}

void open_connections::add(open_connection one) {
  one.number = one.used = ++last_number_;
  auto name = one.end;
  auto& added = open_.emplace(std::move(name), std::move(one)).first->second;
  auto& own = hosts_[added.host];
  own.by_use.emplace(added.used, &added);
  if (added.known)
    return;
  ++own.strangers;
  strangers_.emplace(added.number, &added);
}

void open_connections::forget(open_connection& which) {
  const auto host = hosts_.find(which.host);
  if (!which.known) {
    --host->second.strangers;
    strangers_.erase(which.number);
  }
  host->second.by_use.erase(which.used);
  if (host->second.by_use.empty())
    hosts_.erase(host);
  if (const auto caller = callers_.find(which.caller); caller != callers_.end()) {
    caller->second.by_use.erase(which.used);
    if (caller->second.by_use.empty())
      callers_.erase(caller);
  }
  open_.erase(open_.find(which.end));
}

open_connection* open_connections::find(const std::string& end) {
  const auto found = open_.find(end);
  return found == open_.end() ? nullptr : &found->second;
}

void open_connections::let_in_call(open_connection& by, const std::string& caller) {
  if (!by.known) {
    by.known = true;
    strangers_.erase(by.number);
    --hosts_[by.host].strangers;
  }
  if (by.caller.empty() && !caller.empty()) {
    by.caller = caller;
    callers_[caller].by_use.emplace(by.used, &by);
  }
  note_use(by);
}

void open_connections::note_use(open_connection& of) {
  const auto now = ++last_number_;
  const auto move_back = [&](holder& one) {
    auto entry = one.by_use.extract(of.used);
    entry.key() = now;
    one.by_use.insert(one.by_use.end(), std::move(entry));
  };
  move_back(hosts_[of.host]);
  if (!of.caller.empty())
    move_back(callers_[of.caller]);
  of.used = now;
}

bool open_connections::is_full_for(const std::string& host) const {
  const auto own = hosts_.find(host);
  return std::ssize(open_) >= with_.most || std::ssize(strangers_) >= most_strangers_
         || (own != hosts_.end()
             && (own->second.size() >= with_.most_per_host
                 || own->second.strangers >= most_strangers_per_host_));
}

open_connection* open_connections::to_end_for(const std::string& host, instant now,
                                              const silence& silent_for) {
  const auto own = hosts_.find(host);
  const bool host_is_full = own != hosts_.end() && own->second.size() >= with_.most_per_host;
  const bool too_many_of_host =
    own != hosts_.end() && own->second.strangers >= most_strangers_per_host_;
  if (auto* stranger =
        oldest_stranger(host_is_full || too_many_of_host ? host : std::string{}, now))
    return stranger;
  // Strangers have their part, and nobody who is known gives way for more of them.
  if (too_many_of_host || std::ssize(strangers_) >= most_strangers_)
    return nullptr;
  auto* crowd = host_is_full ? &own->second : who_gives_way_to(host);
  return crowd == nullptr ? nullptr : idle_one_of(*crowd, silent_for);
}

open_connection* open_connections::oldest_stranger(const std::string& host, instant now) const {
  for (const auto& [number, one] : strangers_) {
    if (now - one->since < for_a_handshake)
      return nullptr; // and so for all that came later
    if (host.empty() || one->host == host)
      return one;
  }
  return nullptr;
}

open_connections::holder* open_connections::who_gives_way_to(const std::string& host) {
  const auto own = hosts_.find(host);
  auto* most = own == hosts_.end() ? nullptr : &own->second;
  // Nobody gives way to one who would hold as many then.
  auto size = most == nullptr ? 1 : most->size() + 1;
  for (auto* all : {&hosts_, &callers_})
    for (auto& [name, one] : *all)
      if (one.size() > size) {
        most = &one;
        size = one.size();
      }
  return most;
}

std::int64_t open_connections::held_by_caller_of(const open_connection& one) const {
  const auto found = callers_.find(one.caller);
  return found == callers_.end() ? 0 : found->second.size();
}

open_connection* open_connections::idle_one_of(holder& of, const silence& silent_for) {
  open_connection* chosen = nullptr;
  std::pair<std::int64_t, std::chrono::milliseconds> best;
  std::vector<open_connection*> in_use;
  std::size_t left = most_looked_at;
  for (const auto& [used, one] : of.by_use) {
    if (left-- == 0)
      break;
    const auto silent = silent_for(*one);
    if (silent < silent_in_use)
      in_use.push_back(one);
    // Among those of one address, too, the one goes whose caller holds most.
    if (const std::pair rank{held_by_caller_of(*one), silent}; chosen == nullptr || rank > best) {
      chosen = one;
      best = rank;
    }
  }
  for (auto* one : in_use)
    note_use(*one);
  return chosen;
}

} // namespace reprieve
