#include "state/view/cluster_view.hpp"
#include "state/view/latest_few.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

/// Amounts are never negative, so that a sum which would leave 64 bits stops at the highest: too
/// much for any node either way, and the same in any order.
void add_to(std::span<std::int64_t> total, std::span<const std::int64_t> amounts) {
  for (std::size_t column = 0; column < total.size(); ++column)
    if (__builtin_add_overflow(total[column], amounts[column], &total[column]))
      total[column] = std::numeric_limits<std::int64_t>::max();
}

/// Gives memory back that a list no longer needs.
template <class T>
void tighten(std::vector<T>& list) {
  if (list.capacity() > 2 * list.size() + 4)
    list.shrink_to_fit();
}

/// Adds the starts of the portions of the node's step that ends before position `end` of
/// `pods_on`. How many there are, as far as that matters.
std::size_t add_starts(const cluster_view& view, node_row n, const priority_step& step,
                       std::size_t end, latest_few<time_point>& starts) {
  const auto pods = view.pods_on(n).subspan(step.first, end - step.first);
  // By importance the whole replicas come first, and of single pods the last to start comes last.
  std::size_t portions = 0;
  std::size_t single = 0;
  for (; single < pods.size(); ++single) {
    const auto portion = view.portion_of(pods[single]);
    const auto card = view.card(portion);
    if (!card.group && card.pods <= 1)
      break;
    if (single > 0 && view.portion_of(pods[single - 1]) == portion)
      continue;
    ++portions;
    starts.add(start_at_latest(card));
  }
  constexpr std::size_t most = std::tuple_size_v<decltype(block_step::latest_starts)>;
  const auto last = pods.subspan(single);
  for (const auto p : last.last(std::min(most, last.size())))
    starts.add(start_at_latest(view.card(view.portion_of(p))));
  return portions + last.size();
}

/// Brings down what a block promises of starts: it decides between nodes that are equal otherwise,
/// and whoever was chosen was the latest. False where nobody of a step is left.
bool bring_down_starts(const cluster_view& view, node_block& block) {
  if (block.steps.empty())
    return false;
  for (auto& step : block.steps)
    step.latest_starts.fill(no_time);
  for (const auto n : block.nodes) {
    if (!view.usable(n))
      continue;
    const auto steps = view.steps(n);
    auto end = view.pods_on(n).size();
    auto at = block.steps.size();
    latest_few<time_point> starts;
    std::size_t below = 0;
    std::size_t here = 0;
    const auto close_step = [&] {
      if (at < block.steps.size())
        raise_starts(block.steps[at], starts, below);
      below += std::exchange(here, 0);
      starts = {};
    };
    for (auto s = steps.size(); s-- > 0; end = steps[s].first) {
      auto of = std::min(at, block.steps.size() - 1);
      while (of > 0 && block.steps[of].highest < steps[s].priority)
        --of;
      if (of != at) {
        close_step();
        at = of;
      }
      here += add_starts(view, n, steps[s], end, starts);
    }
    close_step();
  }
  return std::ranges::none_of(
    block.steps, [](const block_step& step) { return step.latest_starts.front() == no_time; });
}

} // namespace

void cluster_view::settle() {
  settle_nodes();
  blocks_.tighten([this](node_block& block) { describe(block); },
                  [this](node_block& block) { return bring_down_starts(*this, block); });
}

void cluster_view::settle_nodes() {
  budgets_.settle();
  for (const auto shared : stale_portions_)
    settle_portion(shared);
  stale_portions_.clear();

  std::vector<ranked_pod> scratch;
  const auto names = [this](node_row n) { return node_name(n); };
  const auto has_holds_only = [this](node_row n) {
    return nodes_[n].only_held && nodes_[n].present && blocks_.contains(n);
  };
  for (const auto n : stale_nodes_)
    if (has_holds_only(n)) {
      nodes_[n].stale = false;
      take_new_holds(n);
    } else {
      settle_node(n, scratch);
    }
  for (const auto n : stale_nodes_)
    if (nodes_[n].present && !blocks_.contains(n))
      blocks_.insert(n, names);
    else if (has_holds_only(n))
      sum_up_room(*blocks_.of(n)); // there is less room, and other bounds hold
    else
      blocks_.touch(n);
  remember_settled();
  blocks_.settle([this](node_block& block) { describe(block); },
                 [this](node_block& block, node_row n) {
                   if (!raise_bounds(block, n))
                     return false;
                   sum_up_room(block);
                   return true;
                 });

  for (const auto p : removed_pods_)
    pods_.give_back(p);
  removed_pods_.clear();
}

/// Remembers which nodes were stale, and forgets when too many are.
void cluster_view::remember_settled() {
  constexpr std::size_t least = 16;
  const auto most = std::max<std::size_t>(least, 4U * node_rows());
  if (settled_.size() + stale_nodes_.size() > most) {
    settled_before_ += settled_.size();
    settled_.clear();
  }
  settled_.reserve(most);
  settled_.insert(settled_.end(), stale_nodes_.begin(), stale_nodes_.end());
  stale_nodes_.clear();
}

std::optional<std::span<const node_row>> cluster_view::settled_since(std::uint64_t count) const {
  if (count < settled_before_)
    return std::nullopt;
  return std::span{settled_}.subspan(count - settled_before_);
}

void cluster_view::settle_portion(std::uint32_t shared) {
  auto& portion = shared_[shared];
  portion.stale = false;
  std::erase_if(portion.pods, [&](pod_row p) { return pods_[p].node == no_row; });
  if (portion.pods.empty()) {
    const auto row = shared | shared_bit;
    portions_by_key_.erase(hash_of_portion(row), row,
                           [&](portion_row p) { return hash_of_portion(p); });
    names_.release(portion.key.series);
    portion = {};
    shared_.give_back(shared);
    return;
  }
  std::ranges::sort(portion.pods, [&](pod_row a, pod_row b) {
    const auto rank = [&](pod_row p) {
      const auto& record = pods_[p];
      return std::tuple(bool{record.leaving}, node_name(record.node), record.index);
    };
    const auto order = rank(a) <=> rank(b);
    return order != 0 ? order < 0 : compare_uids(a, b) < 0;
  });
  tighten(portion.pods);

  portion.staying = static_cast<std::uint32_t>(
    std::ranges::count_if(portion.pods, [&](pod_row p) { return !leaving(p); }));
  const auto staying = std::span{portion.pods}.first(portion.staying);
  portion_part whole{card_of(staying, portion.key.index < 0), work_of(staying)};
  if (const auto other = elsewhere_.find(portion.key); other != elsewhere_.end())
    whole = sum_of(whole, other->second);
  if (whole.card == portion.card && whole.work == portion.work)
    return;
  portion.card = whole.card;
  portion.work = whole.work;
  for (const auto p : portion.pods)
    mark_node(pods_[p].node);
}

portion_card cluster_view::card_of(std::span<const pod_row> pods, bool group) const {
  portion_card card{.group = group};
  for (const auto p : pods) {
    const auto& record = pods_[p];
    const auto& kind = kinds_[record.kind];
    card.priority = card.pods == 0 ? kind.priority : std::max(card.priority, kind.priority);
    ++card.pods;
    if (record.started != no_time
        && (card.earliest_start == no_time || record.started < card.earliest_start))
      card.earliest_start = record.started;
    card.minimum_runtime = std::max(card.minimum_runtime, kind.minimum_runtime);
    card.evictable = card.evictable && !kind.protected_member;
    card.daemon = card.daemon || kind.daemon;
    card.arriving = card.arriving || phase(p) == pod_phase::nominated;
    card.opted_out = card.opted_out || kind.opted_out;
  }
  return card;
}

portion_work cluster_view::work_of(std::span<const pod_row> pods) const {
  const auto gpu = gpu_column();
  if (!gpu)
    return {};
  wide_int safe = 0;
  std::int64_t total = 0;
  for (const auto p : pods) {
    const auto holds = std::min(requests(p)[*gpu], std::numeric_limits<std::int64_t>::max() / 8);
    if (holds <= 0 || started(p) == no_time)
      continue;
    const auto until =
      std::chrono::ceil<std::chrono::seconds>(std::max(checkpointed(p), started(p)));
    safe += static_cast<wide_int>(holds) * until.time_since_epoch().count();
    if (__builtin_add_overflow(total, holds, &total))
      total = std::numeric_limits<std::int64_t>::max();
  }
  if (total == 0)
    return {};
  return {total, static_cast<std::int64_t>((safe + total - 1) / total)};
}

portion_work cluster_view::work_of(portion_row p) const {
  if ((p & shared_bit) != 0)
    return shared_[p & ~shared_bit].work;
  return leaving(p) ? portion_work{} : work_of(std::span{&p, 1});
}

void cluster_view::settle_node(node_row n, std::vector<ranked_pod>& scratch) {
  auto& record = nodes_[n];
  record.stale = false;
  if (!record.present)
    return;
  count_priorities(record, -1);
  std::erase_if(record.pods, [&](pod_row p) { return pods_[p].node != n; });
  tighten(record.pods);

  const auto staying = [&](pod_row p) { return !leaving(p) && phase(p) != pod_phase::nominated; };
  const auto others = std::ranges::partition(record.pods, staying);
  const auto holds = std::ranges::partition(others, [&](pod_row p) { return leaving(p); });
  record.evictable = static_cast<std::uint32_t>(others.begin() - record.pods.begin());
  record.leaving = static_cast<std::uint32_t>(holds.begin() - others.begin());
  std::ranges::sort(others.begin(), holds.begin(),
                    [&](pod_row a, pod_row b) { return compare_uids(a, b) < 0; });

  scratch.clear();
  for (const auto p : pods_on(n))
    scratch.push_back({card(portion_of(p)), portion_of(p), p});
  std::ranges::sort(scratch, [&](const ranked_pod& a, const ranked_pod& b) {
    auto order = by_importance(a.card, b.card);
    if (order == 0 && a.portion != b.portion)
      order = compare_ids(a.portion, b.portion);
    return order != 0 ? order < 0 : compare_uids(a.pod, b.pod) < 0;
  });
  std::ranges::transform(scratch, record.pods.begin(), &ranked_pod::pod);

  record.immovable = std::ranges::any_of(scratch, [&](const ranked_pod& one) {
    return !one.card.evictable || one.card.daemon || one.card.opted_out || one.card.arriving
           || one.card.minimum_runtime > duration{0};
  });
  record.steps.clear();
  for (std::uint32_t at = 0; at < scratch.size(); ++at)
    if (const auto priority = scratch[at].card.priority;
        at == 0 || priority != record.steps.back().priority)
      record.steps.push_back({priority, at});
  tighten(record.steps);
  count_priorities(record, 1);
  sum_up(n);
}

void cluster_view::count_priorities(const node_state& record, std::int64_t by) {
  auto end = record.evictable;
  for (auto step = record.steps.size(); step-- > 0; end = record.steps[step].first) {
    const auto counted = pods_by_priority_.try_emplace(record.steps[step].priority).first;
    counted->second += by * (end - record.steps[step].first);
    if (counted->second == 0)
      pods_by_priority_.erase(counted);
  }
}

/// The sums of a node whose pods are in order.
void cluster_view::sum_up(node_row n) {
  auto& record = nodes_[n];
  record.held.assign(record.steps.size() * width(), 0);
  tighten(record.held);
  std::vector<std::int64_t> sum(width());
  auto end = std::size_t{record.evictable};
  for (auto step = record.steps.size(); step-- > 0; end = record.steps[step].first) {
    for (const auto p :
         pods_on(n).subspan(record.steps[step].first, end - record.steps[step].first))
      add_to(sum, requests(p));
    std::ranges::copy(sum, record.held.begin() + static_cast<std::ptrdiff_t>(step * width()));
  }

  const auto take_from_capacity = [&](amounts_of_node which) {
    const auto rest = amounts(n, which);
    for (std::size_t column = 0; column < width(); ++column)
      rest[column] = capacity(n)[column] - sum[column];
  };
  const auto others = std::span(record.pods).subspan(record.evictable);
  for (const auto p : others.subspan(record.leaving))
    add_to(sum, requests(p));
  take_from_capacity(promised_row);
  for (const auto p : others.first(record.leaving))
    add_to(sum, requests(p));
  take_from_capacity(free_row);
  record.summed_up = static_cast<std::uint32_t>(record.pods.size());
}

/// Holds that came stand behind all other pods, and take of what there is.
void cluster_view::take_new_holds(node_row n) {
  auto& record = nodes_[n];
  for (const auto p : std::span(record.pods).subspan(record.summed_up))
    for (const auto which : {promised_row, free_row}) {
      const auto rest = amounts(n, which);
      const auto taken = requests(p);
      for (std::size_t column = 0; column < width(); ++column)
        if (__builtin_sub_overflow(rest[column], taken[column], &rest[column])) {
          sum_up(n); // which knows what is too much for any node
          return;
        }
    }
  record.summed_up = static_cast<std::uint32_t>(record.pods.size());
}

} // namespace reprieve
