#pragma once

#include <string>
#include <vector>

namespace reprieve::replicas {

/// What is wrong with what the machines did, by their journal; empty where nothing is:
/// - more pods on a node at a time than it has places;
/// - a pod started, or told to stop, twice;
/// - a gang of which some were stopped by a decision and others went on.
std::vector<std::string> check_journal(const std::string& journal);

/// How many pods the journal tells of that were stopped for a decision.
int evictions_in(const std::string& journal);

/// How many orders the machines took in by it: to start a pod or to stop one.
int orders_in(const std::string& journal);

} // namespace reprieve::replicas
