#include "tests/replicas/store_keys.hpp"

#include "state/records/keys.hpp"
#include "state/store/etcd/etcd_store.hpp"

#include <future>

namespace reprieve::replicas {

namespace {

absl::StatusOr<range_result> read(const std::vector<std::string>& etcd, const std::string& prefix) {
  etcd_options options;
  options.endpoints = etcd;
  auto store = etcd_store::open(options);
  if (!store.ok())
    return store.status();
  std::promise<absl::StatusOr<range_result>> found;
  (*store)->read({with_prefix(prefix), 0, 0, false},
                 [&](absl::StatusOr<range_result> answer) { found.set_value(std::move(answer)); });
  return found.get_future().get();
}

} // namespace

std::vector<key_value> read_keys(const std::vector<std::string>& etcd, const std::string& prefix) {
  auto found = read(etcd, prefix);
  return found.ok() ? std::move(found->values) : std::vector<key_value>{};
}

int open_decisions(const std::vector<std::string>& etcd) {
  const auto found = read(etcd, std::string(keys::open_decisions));
  return found.ok() ? static_cast<int>(found->values.size()) : -1;
}

} // namespace reprieve::replicas
