#pragma once

#include "preemption/attempt.hpp"
#include "preemption/candidates.hpp"
#include "preemption/domains.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace reprieve {

/// The rules of one way to preempt (DESIGN 3): where the preemptor may sit, who may go, which steps
/// a domain goes through and what its outcome costs. The search goes through the domains, takes
/// the best and keeps the reasons; a policy has no part in that.
class policy {
public:
  policy() = default;
  virtual ~policy() = default;
  policy(const policy&) = delete;
  policy& operator=(const policy&) = delete;

  /// As it stands in decisions.
  virtual std::string_view name() const = 0;

  /// The domains that the preemptor tries.
  virtual domain_set domains() const = 0;

  /// Goes through all steps in the domain.
  virtual attempt try_domain(const domain& where) = 0;

  /// The priority that the most important victim in the domain has at least, as far as can be told
  /// at once; nothing where no victims are enough.
  virtual std::optional<std::int64_t> least_level(const domain& where) const = 0;

  /// What a domain lacks that `least_level` has ruled out.
  virtual attempt ruled_out(const domain& where) = 0;

  /// Who may be a victim, and why others may not.
  virtual const candidate_rules& rules() const = 0;
};

} // namespace reprieve
