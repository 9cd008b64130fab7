#pragma once

#include "preemption/plan.hpp"
#include "preemption/preemptor.hpp"

#include <string>
#include <vector>

namespace reprieve {

/// A placement that is held while its victims leave.
struct nomination {
  std::string decision;
  std::vector<assignment> assignments; ///< as they stand in the node records
  std::vector<std::string> stuck;      ///< uids of victims that did not leave within their limit
};

/// What becomes of a nomination (DESIGN 3.2).
struct nomination_review {
  enum class fate {
    stands, ///< nobody new goes for it
    moves,  ///< there is a placement now that needs no victims at all: `instead`
    fails   ///< its own can't be had any more; a new decision may have victims
  };

  fate becomes = fate::stands;
  plan instead;
  std::string why;
};

/// The view has the nomination's holds, and its victims as leaving; it is as it was afterwards.
nomination_review review(cluster_view& view, const preemptor& who, const nomination& held,
                         const plan_settings& settings);

} // namespace reprieve
