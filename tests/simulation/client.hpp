#pragma once

#include "tests/simulation/dice.hpp"
#include "tests/simulation/member.hpp"
#include "tests/simulation/truth.hpp"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace reprieve::simulation {

/// People who use the cluster: they submit, scale and delete workloads, close, open and delete
/// nodes, and now and then have a resource group more, one thing at a time for each object, and
/// remember what they were told.
class client {
public:
  client(dice& luck, truth& facts, const cluster_shape& shape);

  /// Asks for something through this member. Says what.
  std::string act(member& through);

  /// Likewise, of what queues are about more often.
  std::string change(member& through);

  /// What a story is made of: that these workloads and what they need are there, or are not any
  /// more. Says what was asked for.
  std::string submit(member& through, const std::vector<workload>& wanted,
                     std::vector<object> beside = {});
  std::string put(member& through, std::vector<object> objects);
  std::string take_away(member& through, const std::vector<std::string>& workloads);
  std::string take_away(member& through, object_kind kind, const std::string& name,
                        bool force = false);
  const std::vector<resource_group>& groups() const {
    return groups_;
  }

  /// Whether machines are heard, so that silence means something.
  bool has_agents() const {
    return has_agents_ && ready_;
  }
  bool has_queues() const {
    return !queues_.empty();
  }

  /// Agents say that their machines are up, all but those that are silent.
  void beat(member& through);
  /// A machine falls silent, or is heard again. It runs what it runs. Says which.
  std::string silence_one();
  std::string silence(const std::string& name);
  std::string wake_one();
  /// All are heard from now on.
  void wake_all() {
    silent_.clear();
  }

  /// Takes in the answers that have come.
  void listen();

  /// The member will not answer any more.
  void lost(int generation);

  /// Whether the cluster has its nodes.
  bool are_ready() const {
    return ready_;
  }

private:
  struct question {
    int generation = 0;
    std::string name;
    std::shared_ptr<std::optional<absl::Status>> answer;
    std::function<void()> acknowledged;
  };

  std::string ask(member& through, std::string name, std::vector<object> objects,
                  std::function<void()> acknowledged);
  std::string ask_to_delete(member& through, object_kind kind, const std::string& name,
                            std::function<void()> acknowledged, bool force = false);
  std::string ask_to_delete_workload(member& through, const std::string& name);
  std::string ask_for_the_same(member& through);
  std::string ask_for_a_file(member& through);
  std::string ask_for_a_queue(member& through);
  std::string ask_for_a_node(member& through);
  std::string ask_for_a_group(member& through);
  std::string set_up(member& through);
  workload draw_workload(std::size_t number);
  workload draw_deployment(workload w);
  void draw_rank(workload& w);
  node draw_node(std::size_t number);
  void draw_queues();
  bool is_asked(const std::string& name) const;
  void hear_machines(const std::vector<object>& objects);

  dice& luck_;
  truth& facts_;
  mood mood_;
  bool has_agents_; ///< whether machines are watched
  std::set<std::string> silent_;
  std::set<std::string> of_stories_; ///< machines, which are not silent unless that is the story
  bool plenty_;    ///< nodes have something else of which there is enough for everybody
  bool has_files_; ///< whether all know how to make a promise of one
  std::int32_t last_file_ = 0;
  std::list<question> asked_;
  std::vector<node> nodes_;
  std::set<std::string> gone_; ///< nodes that were deleted
  std::vector<resource_group> groups_;
  std::vector<queue> queues_;
  std::vector<disruption_budget> budgets_;
  bool has_catalog_ = false;
  bool ready_ = false;
  std::map<std::string, workload> submitted_;
};

} // namespace reprieve::simulation
