#include "tests/fuzz/fuzz_run.hpp"

#include "protocol/transport/grpc_status.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>
#include <optional>

// -- how much memory an input takes ---------------------------------------------------------------

namespace {

std::atomic<std::int64_t> memory_now{0};
std::atomic<std::int64_t> memory_most{0};

void count_memory(void* at, int sign) {
  const auto now = memory_now += sign * static_cast<std::int64_t>(malloc_usable_size(at));
  auto most = memory_most.load();
  while (now > most && !memory_most.compare_exchange_weak(most, now)) {
  }
}

} // namespace

// NOLINTBEGIN: they stand for those of the library
void* operator new(std::size_t size) {
  void* at = std::malloc(size == 0 ? 1 : size);
  if (at == nullptr)
    throw std::bad_alloc{};
  count_memory(at, 1);
  return at;
}

void* operator new[](std::size_t size) {
  return operator new(size);
}

void operator delete(void* at) noexcept {
  if (at != nullptr)
    count_memory(at, -1);
  std::free(at);
}

void operator delete(void* at, std::size_t) noexcept {
  operator delete(at);
}

void operator delete[](void* at) noexcept {
  operator delete(at);
}

void operator delete[](void* at, std::size_t) noexcept {
  operator delete(at);
}
// NOLINTEND

/// There where a sanitizer is.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace reprieve {

namespace {

constexpr std::int64_t fixed_memory = std::int64_t{32} << 20;
constexpr double most_seconds = 5;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* given = std::getenv(variable);
  return given == nullptr ? std::nullopt : std::optional{std::strtoull(given, nullptr, 10)};
}

std::string as_hex(std::string_view input) {
  constexpr std::size_t most = 2'000;
  std::string text;
  for (const unsigned char byte : input.substr(0, most))
    text += fmt::format("{:02x}", byte);
  return input.size() > most ? text + "…" : text;
}

// What is said where the process ends by an input; made before, as little can be done then.
std::string last_words; // NOLINT

void say_last_words() {
  if (!last_words.empty())
    (void)!write(STDERR_FILENO, last_words.data(), last_words.size());
}

void end_by_signal(int signal) {
  say_last_words();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void prepare_last_words() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(say_last_words);
    std::signal(SIGABRT, end_by_signal);
    return;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, end_by_signal);
}

bool is_sentence(std::string_view shown) {
  if (shown.empty())
    return false;
  for (const unsigned char letter : shown)
    if (letter < ' ' || letter == 0x7f)
      return false;
  return true;
}

/// What is wrong with how the input was taken; empty for nothing.
std::string judge(const fuzz_target& target, const std::string& input) {
  const auto before = memory_now.load();
  memory_most = before;
  const auto began = processor_seconds();
  absl::Status how;
  try {
    how = target.feed(input);
  } catch (const std::exception& thrown) {
    return fmt::format("an exception came out of it: {}", thrown.what());
  }
  const auto seconds = processor_seconds() - began;
  const auto memory = memory_most.load() - before;
  const auto most = fixed_memory + static_cast<std::int64_t>(target.bytes_for_each * input.size());
  if (!how.ok() && !is_sentence(presentable({how.message().data(), how.message().size()})))
    return fmt::format("it is refused without a sentence: '{}'", std::string(how.message()));
  if (memory > most)
    return fmt::format("it takes {} bytes of memory; {} are enough", memory, most);
  if (seconds > most_seconds)
    return fmt::format("it takes {} seconds", seconds);
  return {};
}

} // namespace

void run_fuzz(const fuzz_target& target) {
  ASSERT_FALSE(target.corpus.empty());
  prepare_last_words();
  for (const auto& input : target.corpus) {
    last_words = fmt::format("\n{}: one of the corpus: {}\n", target.name, as_hex(input));
    EXPECT_EQ(judge(target, input), "") << last_words;
  }
  constexpr std::uint64_t usual = 20'000;
  constexpr std::uint64_t many = 1'000'000;
  const auto seed = number_in("REPRIEVE_FUZZ_SEED").value_or(1);
  const auto only = number_in("REPRIEVE_FUZZ_ONLY");
  const auto count = std::getenv("REPRIEVE_LONG") == nullptr ? usual : many;
  for (std::uint64_t i = only.value_or(0); i < (only ? *only + 1 : count); ++i) {
    mutator changes{seed * many + i};
    const auto input = changes.mutate(target.corpus, target.form);
    last_words = fmt::format("\n{}: input {} of seed {}; play it again with REPRIEVE_FUZZ_SEED={} "
                             "REPRIEVE_FUZZ_ONLY={}; {} bytes: {}\n",
                             target.name, i, seed, seed, i, input.size(), as_hex(input));
    const auto wrong = judge(target, input);
    ASSERT_EQ(wrong, "") << last_words;
  }
  last_words.clear();
}

} // namespace reprieve
