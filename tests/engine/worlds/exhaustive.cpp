#include "tests/engine/worlds/exhaustive.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "tests/support/plain_room.hpp"

#include <algorithm>

namespace reprieve::tests {

namespace {

std::array<std::int64_t, 3> columns_of(const resources& given) {
  return {amount_of(given, resource::cpu), amount_of(given, resource::gpu),
          amount_of(given, resource::pods)};
}

} // namespace

exhaustive_search::exhaustive_search(const cluster& in, const preemptor& who, time_point now)
    : plain_(in, who, now), who_(who) {
  for (const auto& group : who.groups)
    requests_.push_back(columns_of(taken_by(group.pods.front().requests)));
}

std::optional<score> exhaustive_search::best() {
  std::optional<score> found;
  for (const auto& nodes : plain_.domains()) {
    look_at(nodes);
    std::vector<std::pair<score, set>> sets;
    for (const auto gone : minimal_sets()) {
      auto at_best = plain_.score_of(members_of(gone), {});
      at_best.cascades = false;
      sets.emplace_back(at_best, gone);
    }
    std::ranges::sort(
      sets, [](const auto& a, const auto& b) { return better(a.first, b.first, minimise::pods); });
    for (const auto& [at_best, gone] : sets) {
      if (found && !better(at_best, *found, minimise::pods))
        break;
      if (const auto scored = score_of(gone, at_best);
          !found || better(scored, *found, minimise::pods))
        found = scored;
    }
  }
  return found;
}

void exhaustive_search::look_at(const node_names& nodes) {
  nodes_.assign(nodes.begin(), nodes.end());
  const auto found = plain_.candidates_on(nodes);
  candidates_.assign(found.begin(), found.end());
  as_it_is_ = plain_.room_left({}, {});
}

/// A set of which a part is enough is not minimal, and that part is looked at before it.
std::vector<exhaustive_search::set> exhaustive_search::minimal_sets() {
  std::vector<set> minimal;
  std::vector<bool> enough(std::size_t{1} << candidates_.size());
  for (set gone = 0; gone < enough.size(); ++gone) {
    for (set left = gone; left != 0 && !enough[gone]; left &= left - 1)
      enough[gone] = enough[gone & ~(left & -left)];
    if (!enough[gone] && for_each_seating(gone, [](const seats&) { return true; })) {
      enough[gone] = true;
      minimal.push_back(gone);
    }
  }
  return minimal;
}

score exhaustive_search::score_of(set gone, score at_best) {
  at_best.cascades = !for_each_seating(
    gone, [&](const seats& taken) { return !plain_.score_of(members_of(gone), taken).cascades; });
  return at_best;
}

bool exhaustive_search::for_each_seating(set gone, const visitor& visit) {
  room_.clear();
  for (const auto& name : nodes_)
    room_.push_back(columns_of(as_it_is_.at(name)));
  for (const auto rank : members_of(gone))
    for (const auto* one : plain_.portions[rank])
      if (const auto at = std::ranges::find(nodes_, one->node); at != nodes_.end()) {
        auto& room = room_[static_cast<std::size_t>(at - nodes_.begin())];
        const auto given = columns_of(taken_by(one->requests));
        for (std::size_t c = 0; c < given.size(); ++c)
          room[c] += given[c];
      }
  taken_.clear();
  return seat(0, 0, who_.groups.front().needed, visit);
}

/// As many pods of the group on the node as fit, then fewer; the others on the nodes after it.
bool exhaustive_search::seat(std::size_t group, std::size_t node, std::int32_t lacking,
                             const visitor& visit) {
  if (lacking == 0)
    return group + 1 == requests_.size() ? visit(taken_)
                                         : seat(group + 1, 0, who_.groups[group + 1].needed, visit);
  if (node == nodes_.size())
    return false;
  const auto& request = requests_[group];
  auto most = lacking;
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0)
      most = static_cast<std::int32_t>(std::min<std::int64_t>(most, room_[node][c] / request[c]));
  const auto change = [&](std::int64_t pods) {
    for (std::size_t c = 0; c < request.size(); ++c)
      room_[node][c] += pods * request[c];
  };
  change(-most);
  taken_.insert(taken_.end(), static_cast<std::size_t>(most),
                {nodes_[node], who_.groups[group].pods.front().requests});
  for (auto here = most;; --here) {
    if (seat(group, node + 1, lacking - here, visit))
      return true;
    if (here == 0)
      return false;
    change(1);
    taken_.pop_back();
  }
}

ranks exhaustive_search::members_of(set gone) const {
  ranks members;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if ((gone >> i & 1U) != 0)
      members.insert(candidates_[i]);
  return members;
}

} // namespace reprieve::tests
