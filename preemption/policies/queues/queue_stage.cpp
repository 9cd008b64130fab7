#include "preemption/policies/queues/queue_stage.hpp"

#include "preemption/policies/queues/limit_exchange.hpp"
#include "preemption/policies/queues/queue_balance.hpp"
#include "preemption/policies/queues/queue_table.hpp"
#include "preemption/problem/apportion.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace reprieve {

namespace {

queue_case case_of(std::int64_t deserved, std::int64_t allocated, std::int64_t used) {
  if (deserved > allocated)
    return queue_case::lacking;
  if (deserved == allocated)
    return queue_case::constant;
  return used <= deserved ? queue_case::surplus_unused : queue_case::surplus_used;
}

void add(resources& sum, const resources& part) {
  for (const auto& [name, amount] : part)
    sum[name] = narrowed(static_cast<wide_int>(sum[name]) + amount);
}

/// One resource through the stage.
struct resource_course {
  queue_balance balance;
  std::vector<std::int64_t> deserved; ///< by vertex
  std::vector<std::int64_t> kept;     ///< likewise, what pods may use whoever else asks
  std::vector<queue_account> before;  ///< by row, once what had been waited for has come in
  std::vector<queue_movement> moved;  ///< by row
};

class stage {
public:
  stage(const queue_stage_input& in, bool exchanges)
      : in_(in), exchanges_(exchanges), table_(in), portions_(table_.rows()),
        on_their_way_(table_.rows()), used_in_vain_(table_.rows()) {
    for (std::size_t c = 0; c < table_.columns().size(); ++c) {
      accounts_.push_back(table_.accounts(c));
      demand_.push_back(table_.demand(c, accounts_.back()));
    }
  }

  /// Nobody goes so that a queue keeps room for portions in vain.
  void choose() {
    courses_.clear();
    result_.cuts.clear();
    choices_.assign(table_.rows(), {});
    stuck_.assign(table_.rows(), {});
    limited_.clear();
    for (std::size_t c = 0; c < table_.columns().size(); ++c)
      begin(c);
    find_stuck();
    preprocess();
    for (auto& course : courses_) {
      course.moved = course.balance.promise_what_is_deserved();
      course.balance.settle();
    }
    choose_everywhere();
  }

  /// Counts those as there in vain who go and are larger than all that their queue may keep: of one
  /// queue, whose most important of them goes before those of others, as these may have enough
  /// without them. Whether there are any.
  bool leave_in_vain() {
    std::optional<std::pair<std::int32_t, portion_id>> first;
    std::size_t of = 0;
    std::vector<const queue_portion*> found;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const auto here = in_vain(row);
      if (here.empty())
        continue;
      if (std::pair last{here.back()->priority, here.back()->id}; !first || last < *first) {
        first = std::move(last);
        of = row;
        found = here;
      }
    }
    auto& used = used_in_vain_[of];
    used.resize(table_.columns().size());
    for (const auto* one : found) {
      in_vain_.insert(one->id);
      for (std::size_t c = 0; c < used.size(); ++c)
        used[c] = narrowed(static_cast<wide_int>(used[c]) + one->holds[c]);
    }
    return !found.empty();
  }

  bool has_exchanged() const {
    return !exchanged_.empty();
  }

  queue_stage_result run() && {
    tell();
    return std::move(result_);
  }

private:
  using row_of_amounts = std::vector<std::int64_t>;

  /// In the order in which they go.
  std::vector<const queue_portion*> in_vain(std::size_t row) const {
    const auto& victims = choices_[row].victims;
    if (victims.empty() || !table_.leaf(row).spec.cap_by_demand || exchanged_.contains(row))
      return {};
    const auto most = allowed(row);
    std::set<portion_id> going;
    for (const auto& one : victims)
      going.insert(one.portion);
    std::vector<const queue_portion*> found;
    for (const auto& one : portions_[row])
      if (!std::ranges::equal(one.holds, most, std::less_equal{}) && going.contains(one.id)
          && !in_vain_.contains(one.id))
        found.push_back(&one);
    return found;
  }

  void begin(std::size_t column) {
    const auto& name = table_.columns()[column];
    const auto capacity = amount_of(in_.capacity, name);
    auto accounts = accounts_[column];
    const auto unit = unit_of(in_, name);
    auto shares = deserved_shares(table_.tree(), name, capacity, demand_[column], unit);
    // Until pods are gone, so that nothing is shared anew because they leave. Room that they leave
    // and others are promised is there twice, as it is used twice.
    std::vector<std::int64_t> used(table_.tree().vertices.size());
    auto staying = used;
    wide_int all = table_.used_outside(column);
    wide_int leaving = 0;
    for (std::size_t row = 0; row < accounts.size(); ++row) {
      const auto in_vain = used_in_vain_[row].empty() ? 0 : used_in_vain_[row][column];
      used[table_.tree().leaves[row]] = accounts[row].used - in_vain;
      staying[table_.tree().leaves[row]] = accounts[row].staying - in_vain;
      all += accounts[row].used - in_vain;
      leaving += accounts[row].used - accounts[row].staying;
    }
    const auto twice = std::clamp<wide_int>(all - capacity, 0, leaving);
    auto kept = kept_shares(table_.tree(), name, narrowed(capacity + twice), used, unit,
                            twice > 0 ? share_rounding::upwards : share_rounding::exact);
    // Nobody goes who may stay when they are gone: those who come now are let in by that.
    if (leaving > 0) {
      const auto then = kept_shares(table_.tree(), name, capacity, staying, unit);
      for (std::size_t v = 0; v < kept.size(); ++v)
        kept[v] = std::max(kept[v], then[v]);
    }
    for (std::size_t row = 0; row < accounts.size(); ++row)
      accounts[row].deserved = shares.deserved[table_.tree().leaves[row]];
    std::ranges::move(shares.cuts, std::back_inserter(result_.cuts));
    queue_balance balance{capacity, table_.used_outside(column), std::move(accounts)};
    balance.settle();
    std::vector<queue_account> before{balance.accounts().begin(), balance.accounts().end()};
    courses_.push_back(
      {std::move(balance), std::move(shares.deserved), std::move(kept), std::move(before), {}});
  }

  /// A queue that uses more than it may loses pods until it does not, before anything moves between
  /// queues (docs/policies.md#queues).
  void preprocess() {
    choose_everywhere();
    for (std::size_t row = 0; row < table_.rows(); ++row)
      for (std::size_t c = 0; c < choices_[row].freed.size(); ++c)
        courses_[c].balance.leave(row, choices_[row].freed[c]);
  }

  void choose_everywhere() {
    exchanged_.clear();
    for (std::size_t row = 0; row < table_.rows(); ++row)
      choices_[row] = choose(row, allowed(row));
    if (!exchanges_)
      return;
    for (const auto& [row, gives_way] : exchange_.run(choices_)) {
      auto may_use = allowed(row);
      for (std::size_t c = 0; c < may_use.size(); ++c) {
        const auto freed = choices_[row].freed[c];
        const auto stays = courses_[c].before[row].staying - freed;
        if ((gives_way && freed > 0) || stays > may_use[c])
          may_use[c] = stays;
      }
      exchanged_[row] = std::move(may_use);
    }
  }

  /// What runs where nobody could come in its stead stays, as far as no limit says otherwise.
  void find_stuck() {
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const auto pods = table_.pods(row);
      const auto stays = [](const queue_pod* p) { return p->closed && !p->leaving(); };
      if (std::ranges::none_of(pods, stays))
        continue;
      stuck_[row].resize(courses_.size());
      for (std::size_t c = 0; c < courses_.size(); ++c) {
        if (exceeds_limit(row, c)) {
          limited_.insert(row);
          continue;
        }
        wide_int sum = 0;
        for (const auto* p : pods)
          if (stays(p))
            sum += taken_of(*p, table_.columns()[c]);
        stuck_[row][c] = narrowed(sum);
      }
    }
  }

  /// Whether pods that do not leave use more than the queue, or one above it, may ever have.
  bool exceeds_limit(std::size_t row, std::size_t column) const {
    const auto& vertices = table_.tree().vertices;
    for (auto v = table_.tree().leaves[row]; v != no_vertex; v = vertices[v].parent) {
      const auto limit = vertices[v].spec.limit.find(table_.columns()[column]);
      if (limit != vertices[v].spec.limit.end() && staying_below(v, column) > limit->second)
        return true;
    }
    return false;
  }

  wide_int staying_below(std::size_t vertex, std::size_t column) const {
    const auto& tree = table_.tree();
    wide_int sum = 0;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      auto v = tree.leaves[row];
      while (v != no_vertex && v != vertex)
        v = tree.vertices[v].parent;
      if (v == vertex)
        sum += courses_[column].before[row].staying;
    }
    return sum;
  }

  /// What the queue's pods may use: what it is allocated, or, capped by its demand, what it may
  /// keep whoever else asks. Those that preprocess chose are chosen together with those that make
  /// room for others, so that none goes who would not be needed for both.
  row_of_amounts allowed(std::size_t row) const {
    if (const auto agreed = exchanged_.find(row); agreed != exchanged_.end())
      return agreed->second;
    row_of_amounts amounts;
    for (const auto& course : courses_) {
      const auto deserved = course.before[row].deserved;
      if (table_.leaf(row).spec.cap_by_demand) {
        amounts.push_back(std::max(course.kept[table_.tree().leaves[row]], deserved));
        continue;
      }
      const auto allocated =
        std::min(course.before[row].allocated, course.balance.accounts()[row].allocated);
      amounts.push_back(allocated);
    }
    for (std::size_t c = 0; c < stuck_[row].size(); ++c)
      amounts[c] = std::max(amounts[c], stuck_[row][c]);
    for (const auto* p : table_.pods(row))
      if (p->overdue && !p->leaving())
        for (std::size_t c = 0; c < amounts.size(); ++c)
          amounts[c] =
            narrowed(static_cast<wide_int>(amounts[c]) + taken_of(*p, table_.columns()[c]));
    return amounts;
  }

  queue_choice choose(std::size_t row, const row_of_amounts& allowed) {
    row_of_amounts staying;
    bool too_much = false;
    for (std::size_t c = 0; c < courses_.size(); ++c) {
      staying.push_back(courses_[c].before[row].staying);
      too_much = too_much || staying[c] > allowed[c];
    }
    if (!too_much)
      return {};
    if (portions_[row].empty())
      portions_[row] = portions_in_order(table_.pods(row), table_.columns());
    if (!stuck_[row].empty() && !limited_.contains(row))
      leave_out_closed(row);
    if (!on_their_way_[row])
      on_their_way_[row] = count_on_their_way(table_.pods(row));
    return choose_victims({.queue = table_.leaf(row).spec.name,
                           .resources = table_.columns(),
                           .staying = staying,
                           .allowed = allowed,
                           .limits = in_.limits,
                           .recent_preemptions = in_.recent_preemptions,
                           .on_their_way = *on_their_way_[row],
                           .now = in_.now},
                          portions_[row]);
  }

  void leave_out_closed(std::size_t row) {
    std::set<portion_id> open;
    for (const auto* p : table_.pods(row))
      if (!p->closed)
        open.insert(p->portion);
    std::erase_if(portions_[row], [&](const queue_portion& one) { return !open.contains(one.id); });
  }

  void tell() {
    for (std::size_t c = 0; c < courses_.size(); ++c) {
      const auto& name = table_.columns()[c];
      result_.unassigned[name] = narrowed(courses_[c].balance.unassigned());
      result_.used_outside[name] = table_.used_outside(c);
    }
    const auto& vertices = table_.tree().vertices;
    std::vector<queue_outcome> outcomes(vertices.size());
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      outcomes[v].queue = vertices[v].spec.name;
      outcomes[v].own_pods = vertices[v].own_pods;
      for (std::size_t c = 0; c < courses_.size(); ++c) {
        auto& line = outcomes[v].lines.emplace_back();
        line.resource = table_.columns()[c];
        line.deserved = courses_[c].deserved[v];
      }
    }
    for (std::size_t row = 0; row < table_.rows(); ++row)
      tell_leaf(row, outcomes[table_.tree().leaves[row]]);
    for (auto v = vertices.size(); v-- > 0;) {
      if (const auto parent = vertices[v].parent; parent != no_vertex)
        for (std::size_t c = 0; c < courses_.size(); ++c)
          add_to_sum(outcomes[parent].lines[c], outcomes[v].lines[c]);
      conclude(outcomes[v]);
    }
    std::ranges::sort(outcomes, {}, [](const queue_outcome& one) {
      return std::pair<std::string_view, bool>{one.queue, one.own_pods};
    });
    result_.queues = std::move(outcomes);
  }

  void tell_leaf(std::size_t row, queue_outcome& outcome) {
    auto& choice = choices_[row];
    const auto may_use = allowed(row);
    for (std::size_t c = 0; c < courses_.size(); ++c) {
      const auto& before = courses_[c].before[row];
      const auto& after = courses_[c].balance.accounts()[row];
      const auto& moved = courses_[c].moved[row];
      auto& line = outcome.lines[c];
      line.used = before.used;
      line.leaving = before.used - before.staying;
      line.allocated_before = before.allocated;
      line.preempting_before = before.preempting;
      line.overused = std::max<std::int64_t>(before.staying - before.allocated, 0);
      line.given_unused = moved.unused;
      line.given_used = moved.used;
      line.given_waiting = moved.promises;
      line.received = moved.received;
      line.allocated = after.allocated;
      line.preempting = after.preempting;
      line.may_use = may_use[c];
      line.to_free = std::max<std::int64_t>(before.staying - may_use[c], 0);
      line.not_freed = choice.lacked.empty() ? 0 : choice.lacked[c];
    }
    outcome.victims = std::move(choice.victims);
    outcome.reprieved = std::move(choice.reprieved);
    outcome.passed_over = std::move(choice.passed_over);
  }

  static void add_to_sum(queue_line& sum, const queue_line& part) {
    for (const auto field :
         {&queue_line::used, &queue_line::leaving, &queue_line::allocated_before,
          &queue_line::preempting_before, &queue_line::overused, &queue_line::given_unused,
          &queue_line::given_used, &queue_line::given_waiting, &queue_line::received,
          &queue_line::allocated, &queue_line::preempting, &queue_line::may_use,
          &queue_line::to_free, &queue_line::not_freed})
      sum.*field = narrowed(static_cast<wide_int>(sum.*field) + part.*field);
  }

  /// All lines have their numbers.
  static void conclude(queue_outcome& outcome) {
    for (auto& line : outcome.lines) {
      line.stands = case_of(line.deserved, line.allocated_before, line.used);
      outcome.status.deserved[line.resource] = line.deserved;
      outcome.status.allocated[line.resource] = line.allocated;
      outcome.status.used[line.resource] = line.used;
      outcome.status.preempting[line.resource] = line.preempting;
    }
  }

  const queue_stage_input& in_;
  bool exchanges_;
  queue_table table_;
  std::vector<std::vector<queue_account>> accounts_; ///< by column, as they come in
  std::vector<std::vector<std::int64_t>> demand_;    ///< likewise, by vertex
  std::vector<std::vector<queue_portion>> portions_; ///< by row, where they were asked for
  std::vector<std::optional<by_name<std::int32_t>>> on_their_way_; ///< likewise
  limit_exchange exchange_{in_, table_};
  std::set<portion_id> in_vain_;
  std::vector<row_of_amounts> used_in_vain_; ///< by row, where there are any
  std::vector<queue_choice> choices_;        ///< by row
  std::vector<resource_course> courses_;     ///< by column
  /// By row and column, what stays whatever the queue deserves; empty where nothing does.
  std::vector<row_of_amounts> stuck_;
  std::set<std::size_t> limited_; ///< rows that use more of something than a limit allows
  /// By row, what may be used where portions were exchanged below a limit.
  std::map<std::size_t, row_of_amounts> exchanged_;
  queue_stage_result result_;
};

/// By what each queue may keep alone.
queue_stage_result run_plainly(const queue_stage_input& in) {
  stage made{in, false};
  made.choose();
  return std::move(made).run();
}

/// Whether nobody else has to go while those leave.
bool comes_to_rest(queue_stage_input in, const queue_stage_result& result) {
  std::set<std::string_view> going;
  for (const auto& one : result.queues)
    for (const auto& chosen : one.victims)
      for (const auto& p : chosen.pods)
        going.insert(p.uid);
  for (auto& p : in.pods)
    p.chosen = p.chosen || going.contains(p.uid);
  in.previous = statuses_of(result);
  return std::ranges::all_of(run_plainly(in).queues,
                             [](const queue_outcome& one) { return one.victims.empty(); });
}

} // namespace

std::int64_t unit_of(const queue_stage_input& in, std::string_view resource) {
  return resource::in_thousandths(resource) && resource != resource::cpu
             && !in.divisible.contains(resource)
           ? 1000
           : 1;
}

queue_stage_result run_queue_stage(const queue_stage_input& in) {
  stage made{in, true};
  made.choose();
  bool plain = !made.has_exchanged();
  while (made.leave_in_vain()) {
    plain = false;
    made.choose();
  }
  auto result = std::move(made).run();
  return plain || comes_to_rest(in, result) ? result : run_plainly(in);
}

by_name<queue_status> settle_queues(const queue_stage_input& in) {
  const queue_table table{in};
  const auto& vertices = table.tree().vertices;
  std::vector<queue_status> statuses(vertices.size());
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const auto& name = table.columns()[c];
    queue_balance balance{amount_of(in.capacity, name), table.used_outside(c), table.accounts(c)};
    balance.settle();
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto& account = balance.accounts()[row];
      auto& status = statuses[table.tree().leaves[row]];
      status.allocated[name] = account.allocated;
      status.used[name] = account.used;
      status.preempting[name] = account.preempting;
    }
  }
  by_name<queue_status> settled;
  for (auto v = vertices.size(); v-- > 0;) {
    auto& status = statuses[v];
    if (const auto parent = vertices[v].parent; parent != no_vertex) {
      add(statuses[parent].allocated, status.allocated);
      add(statuses[parent].used, status.used);
      add(statuses[parent].preempting, status.preempting);
    }
    if (vertices[v].own_pods)
      continue;
    if (const auto* before = find(in.previous, vertices[v].spec.name))
      status.deserved = before->deserved;
    settled[vertices[v].spec.name] = std::move(status);
  }
  return settled;
}

by_name<queue_status> statuses_of(const queue_stage_result& result) {
  by_name<queue_status> statuses;
  for (const auto& one : result.queues)
    if (!one.own_pods)
      statuses[one.queue] = one.status;
  return statuses;
}

void add_taken(resources& to, const pod& p) {
  for (const auto& [name, amount] : p.requests)
    to[name] += amount;
  ++to[std::string(resource::pods)];
}

void add_pods(queue_stage_input& to, std::span<const pod> pods, std::string_view resource_group,
              const by_name<std::string>& queue_of) {
  for (const auto& p : pods) {
    const auto* queue = find(queue_of, p.workload);
    to.pods.push_back(
      queue_pod_of(p, queue == nullptr ? std::string{} : *queue, std::string{resource_group}));
  }
}

void add_pending(queue_stage_input& to, std::string_view queue, const resources& requests) {
  auto& asked = to.pending[std::string{queue}];
  add(asked, requests);
  add(asked, {{std::string{resource::pods}, 1}});
}

} // namespace reprieve
