#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What the inputs of a target are made of.
enum class input_form { bytes, protobuf, text };

/// Makes inputs that are wrong in some way out of ones that are right. The same seed makes the same
/// input, on every machine.
class mutator {
public:
  explicit mutator(std::uint64_t seed) : state_(seed) {}

  /// One of the corpus with some changes: bytes, parts that go, come twice or from another one; of
  /// Protobuf messages also numbers, types and lengths of fields, at any depth, with lengths around
  /// them that fit or don't; of texts also lines, words and indentation.
  std::string mutate(const std::vector<std::string>& corpus, input_form form);

  /// From 0 up to, but without, `end`.
  std::size_t below(std::size_t end);
  bool once_in(std::size_t times) {
    return below(times) == 0;
  }

private:
  std::uint64_t next();
  std::uint64_t odd_number();
  std::string odd_text();
  void change_bytes(std::string& in, const std::vector<std::string>& corpus);
  void change_message(std::string& in, const std::vector<std::string>& corpus);
  void change_text(std::string& in);

  std::uint64_t state_;
};

/// What an input may grow to by mutation.
inline constexpr std::size_t largest_input = std::size_t{64} << 10;

} // namespace reprieve
