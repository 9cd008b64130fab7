#pragma once

#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reprieve {

/// A directory with the set that `deploy/certs` makes.
class certificate_maker {
public:
  explicit certificate_maker(std::vector<std::string> names = {}) {
    make(std::move(names));
  }

  /// Runs it once more with these arguments.
  run_result make(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {REPRIEVE_SOURCE "/deploy/certs", path_.path().string()});
    auto made = run_program(arguments);
    EXPECT_EQ(made.code, 0) << made.output;
    return made;
  }

  std::string file(const std::string& name) const {
    return (path_.path() / name).string();
  }

  std::string text(const std::string& name) const {
    return file_contents(file(name));
  }

  /// The options by which a process of the cluster shows that certificate to others, and checks
  /// theirs: those of a daemon begin with `--peer-`.
  std::vector<std::string> shown_as(const std::string& name,
                                    const std::string& prefix = "--peer-") const {
    return {prefix + "cert",     file(name + ".crt"), prefix + "key",
            file(name + ".key"), prefix + "ca",       file("ca.crt")};
  }

  void remove(const std::string& name) const {
    std::filesystem::remove(file(name));
  }

private:
  temporary_directory path_;
};

} // namespace reprieve
