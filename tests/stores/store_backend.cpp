#include "tests/stores/store_backend.hpp"

#include "state/store/memory/memory_store.hpp"
#include "state/store/sqlite/sqlite_store.hpp"
#include "tests/stores/etcd_stores.hpp"
#include "tests/stores/waiting.hpp"

#include <atomic>

namespace reprieve {

namespace {

/// A clock that the test turns; read by threads of the store.
class turned_clock {
public:
  std::function<duration()> reader() {
    return [now = now_] { return duration(now->load()); };
  }

  void turn(duration by) {
    now_->fetch_add(by.count());
  }

private:
  std::shared_ptr<std::atomic<duration::rep>> now_ =
    std::make_shared<std::atomic<duration::rep>>(duration(1h).count());
};

class memory_backend final : public store_backend {
public:
  store& get() override {
    return store_;
  }

  duration shortest_lease() const override {
    return 1s;
  }

  void pass(duration time) override {
    clock_.turn(time);
    store_.expire_leases();
  }

  void lose(lease_id lease) override {
    outlive_holder(lease);
  }

  void outlive_holder(lease_id lease) override {
    store_.abandon(lease);
    pass(shortest_lease());
  }

private:
  turned_clock clock_;
  memory_store store_{{.clock = clock_.reader()}};
};

class sqlite_backend final : public store_backend {
public:
  sqlite_backend() {
    open();
  }

  store& get() override {
    return *store_;
  }

  duration shortest_lease() const override {
    return 300ms;
  }

  void pass(duration time) override {
    for (const auto step = shortest_lease() / 3; time > 0s; time -= step) {
      clock_.turn(step);
      std::this_thread::sleep_for(step * 3 / 2); // the worker looks at the clock that often
    }
  }

  void lose(lease_id) override {
    clock_.turn(shortest_lease()); // as if the machine had slept
  }

  void outlive_holder(lease_id) override {
    open();
  }

private:
  void open() {
    store_.reset();
    auto opened = sqlite_store::open(directory_.path(), {.clock = clock_.reader()});
    if (!opened.ok())
      throw std::runtime_error(opened.status().ToString());
    store_ = *std::move(opened);
  }

  temporary_directory directory_;
  turned_clock clock_;
  std::unique_ptr<sqlite_store> store_;
};

template <class Store>
class etcd_backend : public store_backend {
public:
  etcd_backend() {
    open();
  }

  store& get() override {
    return *store_;
  }

  duration shortest_lease() const override {
    return 2s; // etcd lengthens shorter ones
  }

  void pass(duration time) override {
    std::this_thread::sleep_for(time);
  }

  void lose(lease_id lease) override {
    auto other = etcd_store::open(options_);
    if (auto revoked = revoke(**other, lease); !revoked.ok())
      throw std::runtime_error(revoked.status().ToString());
  }

  void outlive_holder(lease_id) override {
    open();
    pass(shortest_lease());
  }

protected:
  const etcd_options& options() const {
    return options_;
  }

private:
  void open() {
    store_ = *Store::open(options_);
  }

  const etcd_options options_{.endpoints = {shared_etcd().endpoint()}, .prefix = fresh_prefix()};
  std::unique_ptr<Store> store_;
};

#ifdef REPRIEVE_ETCD_CPP_APIV3
class etcd_cpp_backend final : public etcd_backend<etcd_cpp_store> {
public:
  std::string cannot_compact() const override {
    return "etcd-cpp-apiv3 has no call that compacts";
  }

  store& compactor() override {
    return *direct_;
  }

private:
  std::unique_ptr<etcd_store> direct_ = *etcd_store::open(options());
};
#endif

template <class Backend>
std::unique_ptr<store_backend> make() {
  return std::make_unique<Backend>();
}

} // namespace

etcd_process& shared_etcd() {
  static etcd_process etcd;
  return etcd;
}

std::string fresh_prefix() {
  static int number = 0;
  return "/test-" + std::to_string(++number) + "/";
}

const std::vector<backend_kind>& backend_kinds() {
  static const std::vector<backend_kind> kinds = {
    {"memory", make<memory_backend>, [] { return true; }},
    {"sqlite", make<sqlite_backend>, [] { return true; }},
    {"etcd", make<etcd_backend<etcd_store>>, etcd_process::available},
#ifdef REPRIEVE_ETCD_CPP_APIV3
    {"etcd_cpp", make<etcd_cpp_backend>, etcd_process::available},
#endif
  };
  return kinds;
}

} // namespace reprieve
