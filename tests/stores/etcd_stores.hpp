#pragma once

#include "state/store/etcd/etcd_store.hpp"
#ifdef REPRIEVE_ETCD_CPP_APIV3
#include "state/store/etcd_cpp/etcd_cpp_store.hpp"
#endif

#include <gtest/gtest.h>

#include <type_traits>

namespace reprieve {

/// The stores that speak to etcd, for tests that run on each.
#ifdef REPRIEVE_ETCD_CPP_APIV3
using etcd_stores = testing::Types<etcd_store, etcd_cpp_store>;
#else
using etcd_stores = testing::Types<etcd_store>;
#endif

struct etcd_store_names {
  template <class Store>
  static std::string GetName(int) {
    return std::is_same_v<Store, etcd_store> ? "direct" : "library";
  }
};

} // namespace reprieve
