#pragma once

#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <memory>
#include <string>
#include <vector>

namespace reprieve::replicas {

/// A network for this process and those that it starts, with a cell for each replica: a network
/// namespace that has a link to etcd, one to the other cells and one to clients. A link that is
/// down carries nothing, either way, and nobody is told.
///
/// The namespaces have no names. The kernel takes them away, and all links with them, when the last
/// process in them ends, and those that run there die with the test.
class private_network {
public:
  enum class link { etcd, peers, clients };

  /// Why there can be none; empty where there can. This thread, and all that it starts later, are
  /// in a network of their own from then on: to be called before there are others.
  static std::string enter();

  explicit private_network(int cells);
  ~private_network();

  /// An address of this side, or of the cell, on the link.
  static std::string here(int cell, link way);
  static std::string there(int cell, link way);

  /// The command that runs this one in the cell.
  std::vector<std::string> inside(int cell, std::vector<std::string> command) const;

  void set_up(int cell, link way, bool up);

private:
  void ip(std::vector<std::string> words) const;
  void ip_inside(int cell, const std::vector<std::string>& words) const;
  void join(int cell, link way) const;
  std::string name_here(int cell, link way) const;

  temporary_directory directory_;
  std::vector<std::unique_ptr<child_process>> cells_; ///< each keeps one namespace there
  int number_ = 0;                                    ///< tells the links of several networks apart
};

} // namespace reprieve::replicas
