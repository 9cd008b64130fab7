#include "preemption/victims/cheapest_victims.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "preemption/victims/node_cover.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

namespace reprieve {

namespace {

/// Of the search for the least that make one seat.
constexpr std::size_t seat_steps = 100;

/// Something that can be bought: the seats that a portion gives, or the portions that give a seat.
struct offer {
  std::int64_t cost = 0;
  std::int64_t seats = 0;
  portion_card least;              ///< of the most important portion in it
  std::uint32_t position = no_row; ///< of the node, for several portions that make one seat there
  portion_row portion = no_row;    ///< otherwise
  std::uint32_t version = 0;       ///< of the node, when the offer was made
};

class shopping {
public:
  shopping(const problem& given, const candidate_rules& rules, const std::set<portion_row>& kept,
           domain_room& room, std::int64_t level, effort& spent)
      : given_(given), view_(given.view), rules_(rules), kept_(kept), room_(room), level_(level),
        spent_(spent), versions_(room.size()),
        later_([this](const offer& a, const offer& b) { return worse(a, b); }) {}

  std::vector<portion_row> buy() {
    offer_single_portions();
    for (std::uint32_t i = 0; i < room_.size(); ++i)
      offer_seat_at(i);
    while (room_.lacking() > 0 && !later_.empty() && !spent_.exhausted()) {
      const auto next = later_.top();
      later_.pop();
      if (next.portion != no_row)
        buy_portion(next);
      else if (versions_[next.position] == next.version)
        buy_seat_at(next.position);
    }
    return give_back_what_is_not_needed();
  }

private:
  bool worse(const offer& a, const offer& b) const {
    const auto mine = static_cast<wide_int>(a.cost) * b.seats;
    const auto other = static_cast<wide_int>(b.cost) * a.seats;
    if (mine != other)
      return mine > other;
    if (const auto order = by_importance(a.least, b.least); order != 0)
      return order < 0;
    if (a.portion != b.portion) {
      if (a.portion == no_row || b.portion == no_row)
        return a.portion == no_row;
      return view_.more_important(a.portion, b.portion);
    }
    return a.position > b.position;
  }

  std::span<const pod_row> candidates_at(std::uint32_t position) const {
    const auto n = room_.node(position);
    const auto step = step_at(view_, n, level_);
    const auto pods = view_.pods_on(n);
    return step == view_.steps(n).size() ? pods.subspan(pods.size())
                                         : pods.subspan(view_.steps(n)[step].first);
  }

  bool may_go(std::uint32_t position, portion_row p) const {
    return (rules_.all_may_go(room_.node(position)) || rules_.may_go(p))
           && (kept_.empty() || !kept_.contains(p));
  }

  void offer_single_portions() {
    for (std::uint32_t i = 0; i < room_.size(); ++i)
      for (const auto p : candidates_at(i)) {
        const auto portion = view_.portion_of(p);
        // A portion is offered where its first pod is.
        const auto all = view_.pods_of(portion);
        const auto first = std::ranges::find_if(
          all, [&](pod_row one) { return room_.position_of(view_.node_of(one)) != no_row; });
        if (*first != p || !may_go(i, portion))
          continue;
        spent_.spend(all.size());
        if (const auto seats = room_.seats_gained(portion); seats > 0)
          later_.push(offer_of(portion, std::min(seats, room_.lacking())));
      }
  }

  offer offer_of(portion_row p, std::int64_t seats) const {
    const auto card = view_.card(p);
    return {cost(p, card), seats, card, no_row, p, 0};
  }

  std::int64_t cost(portion_row p, const portion_card& card) const {
    return given_.settings.group.minimised == minimise::work
             ? work_lost(view_, p, given_.settings.now) / 2 + card.pods
             : priority_weight(card);
  }

  void buy_portion(const offer& wanted) {
    if (gone_.contains(wanted.portion))
      return;
    spent_.spend(wanted.least.pods);
    const auto seats = std::min(room_.seats_gained(wanted.portion), room_.lacking());
    if (seats == wanted.seats)
      remove(wanted.portion);
    else if (seats > 0)
      later_.push(offer_of(wanted.portion, seats));
  }

  /// The portions on the node that make one seat more at the least cost, most important first.
  std::vector<portion_row> seat_makers(std::uint32_t position) {
    const auto& group = given_.asked.groups[room_.group_at(position)];
    if (room_.seats_at(position) >= static_cast<std::int64_t>(group.needed))
      return {};
    look_at(position);
    for (std::size_t c = 0; c < lacking_.size(); ++c)
      lacking_[c] = group.request[c] > 0
                      ? group.request[c] * (room_.seats_at(position) + 1) - room_.room(position)[c]
                      : 0;
    spent_.spend(open_.size() + 1);
    const auto fewest = fewest_makers();
    const auto lacking = lacking_;
    auto makers = least_important_makers();
    if (makers.size() <= fewest)
      return makers;
    const auto least =
      least_victims_who_give(given_, room_.node(position), lacking, open_, seat_steps);
    if (!least)
      return makers;
    spent_.spend(least->steps);
    return least->portions;
  }

  /// Notes who may go from there, most important first, and what each holds.
  void look_at(std::uint32_t position) {
    open_.clear();
    held_.clear();
    lacking_.resize(view_.width());
    for (const auto p : candidates_at(position)) {
      const auto portion = view_.portion_of(p);
      const auto request = view_.requests(p);
      if (!open_.empty() && open_.back() == portion) {
        const auto last = held_.end() - static_cast<std::ptrdiff_t>(request.size());
        std::ranges::transform(request, std::span(last, held_.end()), last, std::plus{});
      } else if (!gone_.contains(portion) && may_go(position, portion)) {
        open_.push_back(portion);
        held_.insert(held_.end(), request.begin(), request.end());
      }
    }
  }

  amounts held_by(std::size_t which) const {
    return amounts{held_}.subspan(which * lacking_.size(), lacking_.size());
  }

  bool lacks_nothing() const {
    return std::ranges::all_of(lacking_, [](std::int64_t amount) { return amount <= 0; });
  }

  void change_lacking(std::size_t which, std::int64_t sign) {
    const auto held = held_by(which);
    for (std::size_t c = 0; c < lacking_.size(); ++c)
      lacking_[c] += sign * held[c];
  }

  /// As many have to go at least, by the largest among them.
  std::size_t fewest_makers() const {
    std::int64_t fewest = 1;
    for (std::size_t c = 0; c < lacking_.size(); ++c) {
      if (lacking_[c] <= 0)
        continue;
      std::int64_t largest = 0;
      for (std::size_t i = 0; i < open_.size(); ++i)
        largest = std::max(largest, held_by(i)[c]);
      if (largest > 0)
        fewest = std::max(fewest, (lacking_[c] - 1) / largest + 1);
    }
    return static_cast<std::size_t>(fewest);
  }

  /// Least important first as far as needed; then whoever is not needed comes back.
  std::vector<portion_row> least_important_makers() {
    std::vector<std::size_t> taken;
    for (auto i = open_.size(); i-- > 0 && !lacks_nothing();) {
      change_lacking(i, -1);
      taken.push_back(i);
    }
    if (!lacks_nothing())
      return {};
    std::vector<portion_row> makers;
    for (auto last = taken.rbegin(); last != taken.rend(); ++last) {
      change_lacking(*last, 1);
      if (lacks_nothing())
        continue;
      change_lacking(*last, -1);
      makers.push_back(open_[*last]);
    }
    return makers;
  }

  void offer_seat_at(std::uint32_t position) {
    const auto makers = seat_makers(position);
    if (makers.empty())
      return;
    offer made{0, 1, view_.card(makers.front()), position, no_row, versions_[position]};
    for (const auto portion : makers)
      made.cost += cost(portion, view_.card(portion));
    later_.push(made);
  }

  void buy_seat_at(std::uint32_t position) {
    for (const auto portion : seat_makers(position))
      remove(portion);
  }

  /// Room that grows elsewhere may make seats there cheaper.
  void remove(portion_row p) {
    gone_.insert(p);
    bought_.push_back(p);
    room_.vacate(p);
    for (const auto one : view_.pods_of(p))
      if (const auto at = room_.position_of(view_.node_of(one)); at != no_row) {
        ++versions_[at];
        offer_seat_at(at);
      }
  }

  std::vector<portion_row> give_back_what_is_not_needed() {
    std::ranges::sort(bought_,
                      [&](portion_row a, portion_row b) { return view_.more_important(a, b); });
    std::erase_if(bought_, [&](portion_row p) {
      room_.occupy(p);
      if (room_.fits())
        return true;
      room_.vacate(p);
      return false;
    });
    return std::move(bought_);
  }

  const problem& given_;
  const cluster_view& view_;
  const candidate_rules& rules_;
  const std::set<portion_row>& kept_;
  domain_room& room_;
  std::int64_t level_;
  effort& spent_;
  std::vector<std::uint32_t> versions_; ///< by position: how often its room grew
  std::priority_queue<offer, std::vector<offer>, std::function<bool(const offer&, const offer&)>>
    later_;
  std::set<portion_row> gone_;
  std::vector<portion_row> open_;     ///< on the node that is looked at
  std::vector<std::int64_t> held_;    ///< by those there, by column
  std::vector<std::int64_t> lacking_; ///< for a seat more there, by column
  std::vector<portion_row> bought_;
};

} // namespace

std::vector<portion_row> spare_the_important(domain_room& room,
                                             std::span<const portion_row> candidates,
                                             std::int64_t level, effort& spent) {
  room.open(level);
  std::vector<portion_row> victims;
  for (const auto p : candidates) {
    spent.spend(1);
    room.occupy(p);
    if (spent.exhausted() || !room.fits()) {
      room.vacate(p);
      victims.push_back(p);
    }
  }
  return victims;
}

std::vector<portion_row> buy_cheapest_seats(const problem& given, const candidate_rules& rules,
                                            const std::set<portion_row>& kept, domain_room& room,
                                            std::int64_t level, effort& spent) {
  room.open(nobody_goes);
  return shopping{given, rules, kept, room, level, spent}.buy();
}

} // namespace reprieve
