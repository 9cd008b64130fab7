#pragma once

#include "actors/interfaces/node_evaluation.hpp"
#include "state/records/node_record.hpp"
#include "state/view/cluster_view.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace reprieve {

/// A node shard's own columnar view of its durable records. Changes are only noted; the view takes
/// them in when it is asked for, each node once however often it changed.
class shard_view {
public:
  void put(std::shared_ptr<const node_record> record);
  void remove(const std::string& name);
  void know(const portion_facts& facts);

  /// All of it, settled.
  const cluster_view& up_to_date();

private:
  struct node_entry {
    std::shared_ptr<const node_record> record;  ///< null where there is none
    std::shared_ptr<const node_record> in_view; ///< likewise
    pod_list shown;                             ///< the view's pods with what they cost by now
    std::map<std::string, pod_cost, std::less<>> costs; ///< by uid
    bool costs_changed = false;
  };

  void refresh(const std::string& name, node_entry& entry);

  std::map<std::string, node_entry, std::less<>> nodes_;
  std::set<std::string, std::less<>> stale_; ///< nodes
  cluster_view view_;
};

} // namespace reprieve
