#pragma once

#include "tests/support/history.hpp"

#include <utility>
#include <vector>

namespace reprieve {

/// A history of the workload `w` with one group `g`, written down; times are milliseconds.
struct script {
  struct span {
    int from = 0;
    int to = 0;
  };

  std::vector<recorded_call> calls;

  script& submit(int client, span when, int count, call_end how = call_end::ok) {
    add(client, when, workload_call::submit, how).counts = {{"g", count}};
    return *this;
  }
  script& submit(int client, span when, int count, apply_outcome outcome) {
    submit(client, when, count).calls.back().outcome = outcome;
    return *this;
  }
  script& scale(int client, span when, int count, call_end how = call_end::ok) {
    add(client, when, workload_call::scale, how).counts = {{"g", count}};
    return *this;
  }
  script& scale(int client, span when, int count, apply_outcome outcome) {
    scale(client, when, count).calls.back().outcome = outcome;
    return *this;
  }
  script& remove(int client, span when, call_end how = call_end::ok) {
    add(client, when, workload_call::remove, how);
    return *this;
  }
  script& get(int client, span when, call_end how) {
    add(client, when, workload_call::get, how);
    return *this;
  }
  script& get(int client, span when, workload_sight seen) {
    add(client, when, workload_call::get, call_end::ok).seen = std::move(seen);
    return *this;
  }

private:
  recorded_call& add(int client, span when, workload_call what, call_end how) {
    recorded_call call{client, "w", what};
    call.invoked = std::chrono::milliseconds{when.from};
    call.returned = std::chrono::milliseconds{when.to};
    call.how = how;
    return calls.emplace_back(std::move(call));
  }
};

inline workload_sight sight(std::string uid, std::int64_t generation, int count) {
  return {std::move(uid), generation, {{"g", count}}};
}

} // namespace reprieve
