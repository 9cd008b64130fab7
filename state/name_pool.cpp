#include "state/name_pool.hpp"

namespace reprieve {

name_pool::id name_pool::intern(std::string_view text) {
  const auto hash = hash_of(text);
  const auto known = by_text_.find(hash, [&](id name) { return this->text(name) == text; });
  if (known != no_row) {
    ++names_[known].references;
    return known;
  }
  const auto name = names_.take();
  names_[name] = {texts_.put(text), 1};
  by_text_.insert(hash, name, [&](id other) { return hash_of(this->text(other)); });
  return name;
}

void name_pool::release(id name) {
  auto& gone = names_[name];
  if (--gone.references > 0)
    return;
  const auto hash_of_name = [&](id other) { return hash_of(text(other)); };
  by_text_.erase(hash_of_name(name), name, hash_of_name);
  texts_.drop(gone.text);
  names_.give_back(name);
}

name_pool::id name_pool::find(std::string_view text) const {
  return by_text_.find(hash_of(text), [&](id name) { return this->text(name) == text; });
}

} // namespace reprieve
