#pragma once

#include "state/model/object.hpp"
#include "state/quantities/time.hpp"

#include <absl/status/status.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// An object whose record can't be read. Nobody serves it, its name stays taken, and the record
/// stays as it is until somebody has it removed by force: all others go on.
struct set_aside {
  object_kind kind = object_kind::node;
  std::string name;
  std::string resource_group; ///< empty for what stands in the catalog
  std::string key;            ///< of the record that can't be read
  std::string why;
  time_point since = no_time; ///< when that was found
  /// Of a node: pods may run there of which nothing can be read.
  bool hides_pods = false;
  /// Keys of what else there is of it, which goes with it.
  std::vector<std::string> beside{};

  bool operator==(const set_aside&) const = default;
};

/// Those of one shard. Mostly there are none.
class objects_aside {
public:
  objects_aside() = default;
  explicit objects_aside(std::vector<set_aside> all);

  /// The object of that kind and name, or null where it can be read.
  const set_aside* find(object_kind kind, std::string_view name) const;
  void remove(object_kind kind, std::string_view name);

  bool empty() const {
    return all_.empty();
  }
  std::vector<set_aside> all() const;
  auto begin() const {
    return all_.begin();
  }
  auto end() const {
    return all_.end();
  }

private:
  std::map<std::pair<object_kind, std::string>, set_aside> all_;
};

/// What stands in the place of a queue whose record can't be read, so that its work goes on.
queue queue_of_no_settings(std::string name);

/// What people are told of it: what can't be read, where it stands, and what can be done.
std::string describe(const set_aside& what);

/// The answer to whoever asks for the object, or wants to delete it without force.
absl::Status cannot_be_read(const set_aside& what);

/// The answer to whoever wants to make another of the name.
absl::Status cannot_be_made(const set_aside& what);

/// Likewise to whoever wants to put a queue below it.
absl::Status cannot_be_above(const set_aside& what);

} // namespace reprieve
