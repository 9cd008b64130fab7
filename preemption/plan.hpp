#pragma once

#include "state/cluster_view.hpp"
#include "state/decision.hpp"
#include "state/resource_group.hpp"

#include <vector>

namespace reprieve {

/// What the engine says of one preemptor.
struct plan {
  enum class outcome {
    placed,    ///< fits in what is free now; nobody goes
    waits,     ///< fits once those have gone who are leaving anyway; nobody new goes
    preempts,  ///< fits once `victims` have gone
    infeasible ///< does not fit even then; `why` says what fell short
  };

  outcome result = outcome::infeasible;
  std::vector<assignment> assignments;
  std::vector<victim> victims;
  score scored;
  reasoning why;
};

/// What is in force when a plan is made.
struct plan_settings {
  resource_group group;
  time_point now = no_time;
  bool explain = true; ///< false leaves `reasoning` but for its summary empty
};

} // namespace reprieve
