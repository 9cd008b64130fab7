#include "state/containers/name_pool.hpp"

namespace reprieve {

name_pool::id name_pool::intern(std::string_view text) {
  const auto wanted = pack(text);
  if (const auto known = find_packed(wanted); known != no_row) {
    ++names_[known].references;
    return known;
  }
  const auto name = names_.take();
  names_[name] = {texts_.put(wanted), 1};
  by_text_.insert(hash_of(wanted), name, [&](id other) { return hash_of_name(other); });
  return name;
}

void name_pool::release(id name) {
  auto& gone = names_[name];
  if (--gone.references > 0)
    return;
  by_text_.erase(hash_of_name(name), name, [&](id other) { return hash_of_name(other); });
  texts_.drop(gone.text);
  names_.give_back(name);
}

name_pool::id name_pool::find(std::string_view text) const {
  return find_packed(pack(text));
}

name_pool::id name_pool::find_packed(std::u16string_view text) const {
  return by_text_.find(hash_of(text), [&](id name) { return packed(name) == text; });
}

} // namespace reprieve
