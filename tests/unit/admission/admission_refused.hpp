#pragma once

#include "tests/unit/admission/admission_cluster.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace reprieve::admission_tests {

/// A batch that breaks one rule, in one place.
struct broken_rule {
  std::string name;
  std::vector<object> batch;
  std::string field;
  std::string says; ///< a telling part of the message
};

inline std::ostream& operator<<(std::ostream& out, const broken_rule& rule) {
  return out << rule.name;
}

/// The test itself is in admission_refusal_test.cpp.
class refused : public testing::TestWithParam<broken_rule> {};

inline std::string case_name(const testing::TestParamInfo<broken_rule>& info) {
  return info.param.name;
}

/// A valid object that one change makes wrong.
template <class T>
broken_rule changed(std::string name, T valid, const std::function<void(T&)>& change,
                    std::string field, std::string says) {
  return {std::move(name), {with<T>(std::move(valid), change)}, std::move(field), std::move(says)};
}

inline broken_rule bad_workload(std::string name, const std::function<void(workload&)>& change,
                                std::string field, std::string says) {
  return changed<workload>(std::move(name), a_workload("new"), change, std::move(field),
                           std::move(says));
}

inline broken_rule bad_pod_group(std::string name, const std::function<void(pod_group&)>& change,
                                 const std::string& field, std::string says) {
  return bad_workload(
    std::move(name), [&](workload& w) { change(w.groups[0]); }, "spec.podGroups[0]." + field,
    std::move(says));
}

} // namespace reprieve::admission_tests
