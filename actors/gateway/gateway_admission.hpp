#pragma once

#include "actors/gateway/gateway.hpp"
#include "state/admission/admission.hpp"

namespace reprieve {

/// What the gateway can tell admission: the durable objects, and those under way.
class gateway_admission_facts final : public admission_facts {
public:
  explicit gateway_admission_facts(const gateway_state& state) : state_(state) {}

  std::optional<std::string> group_of_node(std::string_view name) const override;
  const resources* capacity_of_node(std::string_view name) const override;
  by_name<wide_int> capacity_in_all() const override;
  const workload* find_workload(std::string_view name) const override;
  const workload_status* find_status(std::string_view name) const override;
  std::optional<object_reference> user_of(object_kind kind, std::string_view name) const override;
  void each_workload_in(
    std::string_view group,
    const std::function<void(const workload&, const workload_status*)>& look) const override;
  queue_fill fill_of_queue(std::string_view name) const override;
  by_name<std::int64_t> pods_by_queue() const override;
  std::size_t most_resource_groups() const override;

private:
  template <class T>
  const T* find_under_way(object_kind kind, std::string_view name) const;

  const gateway_state& state_;
};

/// The object of that kind and name, where its record can't be read; else null.
const set_aside* find_aside(const gateway_state& state, object_kind kind, std::string_view name);

/// What a node shard has told.
void apply_delta(gateway_state& state, node_delta& delta);
/// What a workload shard has told.
void apply_delta(gateway_state& state, workload_delta& delta);

/// Counts a workload in its queue while it is being written and not there yet; to be called
/// whenever either may have changed.
void count_if_new(gateway_state& state, gateway_state::coming_object& coming);

/// The durable catalog with what is under way in it.
std::shared_ptr<const catalog> catalog_with_under_way(const gateway_state& state,
                                                      std::shared_ptr<const catalog> durable);

} // namespace reprieve
