#include "state/records/resume.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Whether the workload stands for pods that are to be there, for as long as it is there itself.
bool is_standing(const workload& w) {
  switch (w.kind) {
  case workload_kind::daemon:
  case workload_kind::deployment:
    return true;
  case workload_kind::inference:
    return w.autoscaled;
  case workload_kind::batch:
  case workload_kind::interactive:
    break;
  }
  return false;
}

bool asks_to_resume(const workload& w) {
  switch (w.resume.policy) {
  case resume_policy::always:
    return true;
  case resume_policy::never:
    return false;
  case resume_policy::by_kind:
    break;
  }
  return is_standing(w) || (w.kind == workload_kind::batch && w.checkpoint.supported);
}

/// Doubles with each preemption, up to an hour, or to what the workload asks for if that is more.
duration delay_after(const resume_settings& settings, std::int32_t attempts) {
  constexpr duration longest = std::chrono::hours{1};
  auto delay = settings.backoff;
  for (std::int32_t i = 1; i < attempts && delay > duration{0} && delay < longest; ++i)
    delay *= 2;
  return std::min(delay, std::max(longest, settings.backoff));
}

} // namespace

resumption resume(const workload& w, std::int32_t attempts, time_point now) {
  const bool exhausted = !is_standing(w) && attempts > w.resume.limit;
  if (exhausted || !asks_to_resume(w))
    return {};
  return {true, now + delay_after(w.resume, attempts)};
}

} // namespace reprieve
