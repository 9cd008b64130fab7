#pragma once

#include "state/model/catalog.hpp"

#include <string>
#include <vector>

/// Queues whose parents lead back to themselves, so that there is no queue at the top. Everybody
/// follows parents to the top without looking for cycles: admission refuses them, and whoever has
/// queues from elsewhere looks for them here.
namespace reprieve {

/// The queues of a cycle, each before its parent; the one whose name comes first is the first.
using queue_cycle = std::vector<std::string>;

/// All there are; what is only below one is in none.
std::vector<queue_cycle> cycles_in(const by_name<queue>& queues);

/// For people, such as `a -> b -> a`; of many queues, some are named.
std::string describe(const queue_cycle& cycle);

/// Likewise of several, separated by commas.
std::string describe(const std::vector<queue_cycle>& cycles);

} // namespace reprieve
