// CAF's library is not built for the thread sanitizer, which therefore sees neither that a message
// is sent before it is handled nor that an actor runs on one thread at a time. The functions here
// are called instead of the library's own, by the library too, and tell the sanitizer. They must be
// in the program's own objects: only these come before the library when it looks up its functions.

#include <caf/blocking_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/ref_counted.hpp>
#include <caf/scheduled_actor.hpp>
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <atomic>
#include <cstdlib>
#include <utility>

namespace {

template <class Function>
Function* in_library(const char* mangled_name) {
  void* found = ::dlsym(RTLD_NEXT, mangled_name);
  if (!found)
    std::abort();
  return reinterpret_cast<Function*>(found);
}

/// The address by which the sanitizer knows a message; `request_deletion` has no other.
void* address_of(caf::mailbox_element& message) {
  return static_cast<caf::memory_managed*>(&message);
}

} // namespace

namespace caf {

// A message passes from its sender to the actor that handles it, or deletes it unread.

void scheduled_actor::enqueue(mailbox_element_ptr message, execution_unit* on) {
  static auto* const enqueue =
    in_library<void(scheduled_actor*, mailbox_element_ptr, execution_unit*)>(
      "_ZN3caf15scheduled_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEE"
      "PNS_14execution_unitE");
  __tsan_release(address_of(*message));
  enqueue(this, std::move(message), on);
}

void blocking_actor::enqueue(mailbox_element_ptr message, execution_unit* on) {
  static auto* const enqueue =
    in_library<void(blocking_actor*, mailbox_element_ptr, execution_unit*)>(
      "_ZN3caf14blocking_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEE"
      "PNS_14execution_unitE");
  __tsan_release(address_of(*message));
  enqueue(this, std::move(message), on);
}

intrusive::task_result blocking_actor::mailbox_visitor::operator()(mailbox_element& message) {
  static auto* const visit = in_library<intrusive::task_result(mailbox_visitor*, mailbox_element&)>(
    "_ZN3caf14blocking_actor15mailbox_visitorclERNS_15mailbox_elementE");
  __tsan_acquire(address_of(message));
  return visit(this, message);
}

void memory_managed::request_deletion(bool) const noexcept {
  __tsan_acquire(const_cast<memory_managed*>(this));
  delete this;
}

// An actor passes from the thread that makes it to the first that runs it, and from each to the
// next. The next may begin before `resume` has returned, so it is released after each message.

void scheduled_actor::launch(execution_unit* on, bool lazy, bool hide) {
  static auto* const launch = in_library<void(scheduled_actor*, execution_unit*, bool, bool)>(
    "_ZN3caf15scheduled_actor6launchEPNS_14execution_unitEbb");
  __tsan_release(this);
  launch(this, on, lazy, hide);
}

bool scheduled_actor::activate(execution_unit* on) {
  static auto* const activate = in_library<bool(scheduled_actor*, execution_unit*)>(
    "_ZN3caf15scheduled_actor8activateEPNS_14execution_unitE");
  __tsan_acquire(this);
  const bool alive = activate(this, on);
  __tsan_release(this);
  return alive;
}

scheduled_actor::activation_result scheduled_actor::reactivate(mailbox_element& message) {
  static auto* const reactivate = in_library<activation_result(scheduled_actor*, mailbox_element&)>(
    "_ZN3caf15scheduled_actor10reactivateERNS_15mailbox_elementE");
  __tsan_acquire(address_of(message));
  const auto result = reactivate(this, message);
  __tsan_release(this);
  return result;
}

// Reference counts: the same as in the library, compiled where the sanitizer sees the atomics.

void ref_counted::deref() const noexcept {
  if (unique())
    request_deletion(false);
  else if (rc_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    request_deletion(true);
}

void intrusive_ptr_release_weak(actor_control_block* counted) {
  if (counted->weak_refs == 1 || counted->weak_refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    counted->block_dtor(counted);
}

void intrusive_ptr_release(actor_control_block* counted) {
  if (counted->strong_refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    counted->data_dtor(counted->get());
    intrusive_ptr_release_weak(counted);
  }
}

} // namespace caf
