#include "preemption/policies/queues/quota_victims.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace reprieve {

namespace {

using column_amounts = group_shares::amounts_by_column;

/// What a queue has too much of what is asked for, while it gives portions back.
class surplus {
public:
  surplus(const group_shares& shares, const lavish_queue& of, const column_amounts& asked,
          const reclaim_rules& rules)
      : overrules_(rules.overrules), counts_(asked.size()), left_(asked.size()),
        past_(asked.size()) {
    for (std::size_t c = 0; c < asked.size(); ++c) {
      left_[c] = shares.staying(of.leaf)[c] - shares.deserved(of.leaf)[c];
      counts_[c] = asked[c] > 0 && (shares.is_scarce(c) || left_[c] > 0);
    }
    if (rules.down_to == reclaims::to_the_share)
      return;
    auto exactly = *this;
    for (const auto& portion : of.in_order)
      if (may_go(portion) && exactly.gives(portion))
        exactly.take(portion);
    past_ = exactly.left_;
  }

  /// Whether the queue has too much of something that the portion holds: more than that, or, where
  /// portions that it can do without are not enough, anything.
  bool gives(const queue_portion& portion) const {
    bool too_much = false;
    for (std::size_t c = 0; c < counts_.size(); ++c) {
      if (!counts_[c] || portion.holds[c] == 0)
        continue;
      if (portion.holds[c] > left_[c] && past_[c] <= 0)
        return false;
      too_much = too_much || left_[c] > 0;
    }
    return too_much;
  }

  /// Who stays in any case leaves it to others to give back what is too much.
  bool may_go(const queue_portion& portion) const {
    return !portion.daemon && !portion.being_placed && (overrules_ || !portion.shielded);
  }

  void take(const queue_portion& portion) {
    for (std::size_t c = 0; c < left_.size(); ++c)
      left_[c] -= portion.holds[c];
  }

private:
  bool overrules_;
  std::vector<bool> counts_; ///< what is asked for, but not what there is enough of for everybody
  column_amounts left_;
  column_amounts past_; ///< of that, what nobody can give without the queue having too little
};

std::string why_reclaimed(const group_shares& shares, std::size_t leaf, const column_amounts& asked,
                          bool overrules) {
  std::string amounts;
  for (std::size_t c = 0; c < asked.size(); ++c) {
    const auto used = shares.staying(leaf)[c];
    const auto deserved = shares.deserved(leaf)[c];
    const auto& name = shares.columns()[c];
    if (asked[c] > 0 && used > deserved)
      amounts += fmt::format("{}{} {} and deserves {}", amounts.empty() ? "" : ", ",
                             format_quantity(used, name), name, format_quantity(deserved, name));
  }
  return fmt::format("its queue {} uses {},{}", shares.at(leaf).spec.name, amounts,
                     overrules ? " so that neither a minimum runtime nor a protection holds," : "");
}

} // namespace

std::shared_ptr<const victim_scope> scope_of_reclaim(const group_shares& shares,
                                                     std::span<const lavish_queue> queues,
                                                     const column_amounts& asked,
                                                     const cluster_view& view,
                                                     const reclaim_rules& rules) {
  auto scope = std::make_shared<victim_scope>();
  scope->policy = "queues";
  scope->overrules = rules.overrules;
  scope->why_others_stay = "its queue uses no more than it deserves, or others of it go first";
  for (const auto& one : queues) {
    const auto reason = scope->reasons.size();
    scope->reasons.push_back(why_reclaimed(shares, one.leaf, asked, rules.overrules));
    const surplus whole{shares, one, asked, rules};
    std::map<std::string_view, surplus> left; // by node, or all of it by none
    for (const auto& portion : one.in_order) {
      if (rules.left_out.contains(portion.id))
        continue;
      bool may_go = false;
      std::set<std::string_view> nodes;
      if (rules.in_all.contains(one.leaf))
        nodes.insert("");
      else
        for (const auto& p : portion.pods)
          nodes.insert(p.node);
      for (const auto node : nodes) {
        auto& here = left.try_emplace(node, whole).first->second;
        if (!here.gives(portion))
          continue;
        may_go = true;
        if (here.may_go(portion))
          here.take(portion);
      }
      if (const auto row = may_go ? view.find_portion(portion.id) : no_row; row != no_row)
        scope->portions.emplace(row, reason);
    }
  }
  return scope;
}

std::map<std::size_t, std::set<portion_id>> given_too_much(const group_shares& shares,
                                                           std::span<const lavish_queue> queues,
                                                           const column_amounts& asked,
                                                           std::span<const victim> victims,
                                                           const reclaim_rules& rules) {
  std::set<portion_id> going;
  for (const auto& one : victims)
    going.insert(one.portion);
  std::map<std::size_t, std::set<portion_id>> found;
  for (const auto& one : queues) {
    surplus left{shares, one, asked, rules};
    for (const auto& portion : one.in_order) {
      if (!going.contains(portion.id))
        continue;
      if (left.gives(portion))
        left.take(portion);
      else
        found[one.leaf].insert(portion.id);
    }
  }
  return found;
}

} // namespace reprieve
