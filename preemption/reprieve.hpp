#pragma once

#include "preemption/candidates.hpp"

#include <set>
#include <span>
#include <vector>

namespace reprieve {

/// Puts back, where they run, as many of those as fit beside the preemptor whose going would exceed
/// a budget if every candidate in the domain went (DESIGN 3.1 step 6). `tried` has the preemptor
/// placed. They are candidates no more: `tried` keeps them. Returns them.
std::set<portion_row> reprieve_for_budgets(const cluster_view& view, const candidate_rules& rules,
                                           trial& tried, std::span<const node_row> domain);

/// Puts back every candidate that fits where it runs beside the preemptor, most important first
/// (DESIGN 3.1 step 8). Returns those that do not: the victims, in that order. `tried` has the
/// preemptor placed, and afterwards the room that is left with the victims gone from everywhere.
std::vector<portion_row> reprieve_who_fits(const cluster_view& view, const candidate_rules& rules,
                                           trial& tried,
                                           const std::set<portion_row>& kept_for_budgets);

} // namespace reprieve
