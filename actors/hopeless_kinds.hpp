#pragma once

#include "preemption/evaluation.hpp"
#include "preemption/required_node.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// The kinds of lone pods for which a cycle has found nothing: whoever asks for the same finds
/// nothing either, until somebody else goes. Of those that wait most are alike, and there may be
/// many.
class hopeless_kinds {
public:
  void add(const preemptor& who, const plan_settings& settings, std::string_view why) {
    constexpr std::size_t most = 16;
    if (kinds_.size() < most && is_alike_by_kind(who, settings))
      kinds_.push_back({request_for(who, settings), why_without_name(who, why)});
  }

  /// Why there is nothing for this one; empty where that is not known.
  std::string why(const preemptor& who, const plan_settings& settings) const {
    if (!kinds_.empty() && is_alike_by_kind(who, settings))
      for (const auto& one : kinds_)
        if (is_for(one.asked, who))
          return who.workload + one.why;
    return {};
  }

  /// Something happened that may help.
  void forget() {
    kinds_.clear();
  }

private:
  struct kind {
    evaluation_request asked;
    std::string why; ///< behind the name
  };

  /// Whether what a unit finds depends on nothing but what it asks for: not on its own pods, its
  /// reservation or its place in a queue.
  static bool is_alike_by_kind(const preemptor& who, const plan_settings& settings) {
    return !who.gang && !who.may_have_weaker_kin && !is_bound_to_a_node(who)
           && settings.group.policy != group_policy::sessions;
  }

  static std::string why_without_name(const preemptor& who, std::string_view why) {
    if (why.starts_with(who.workload))
      why.remove_prefix(who.workload.size());
    return std::string(why);
  }

  std::vector<kind> kinds_;
};

} // namespace reprieve
