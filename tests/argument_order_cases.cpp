// What tests/tidy has to find in sources and what it must not: it reads this file first and
// compares the lines it finds with those marked `found`. No program is made of it.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct dice {
  int throw_once();
  int seen() const;
};

int draw(dice& from);
void take(std::size_t size, std::string text);
void take(std::string text, std::function<void()> then);
void compare(int one, int another);

struct sized_text {
  sized_text(std::size_t size, std::string text);
};

struct pair_of_draws {
  pair_of_draws(int one, int another);
};

class holder {
public:
  void moves_a_member_and_reads_it() {
    take(name_.size(), std::move(name_));                                       // found
    auto shared = std::make_shared<sized_text>(name_.size(), std::move(name_)); // found
    sized_text direct(name_.size(), std::move(name_));                          // found
    const sized_text in_order{name_.size(), std::move(name_)};
  }

  void moves_itself_and_reads_a_member() {
    take(name_, [whole = std::make_shared<holder>(std::move(*this))] {}); // found
  }

  bool exchanges_and_compares(int with) {
    return std::exchange(number_, with) != number_; // found
  }

  void changes_itself_twice() {
    compare(next(), next()); // found
    const int first = next();
    compare(first, next());
  }

private:
  int next();

  std::string name_;
  int number_ = 0;
};

void moves_a_variable_and_reads_it(std::string text, std::string other) {
  take(text.size(), std::move(text));                      // found
  take(other, [other = std::move(other)] {});              // found
  sized_text direct(text.size(), std::exchange(text, {})); // found
  const sized_text in_order{text.size(), std::move(text)};
  take(other, [other]() mutable { auto later = std::move(other); });
  auto inside = [text]() mutable { take(text.size(), std::move(text)); }; // found
}

void changes_a_variable_and_reads_it(dice some, int number, const std::vector<int>& numbers) {
  compare(some.throw_once(), some.throw_once());    // found
  compare(draw(some), some.seen());                 // found
  compare(some.seen(), draw(some));                 // found
  compare(number++, number);                        // found
  const pair_of_draws pair(draw(some), draw(some)); // found
  const pair_of_draws in_order{draw(some), draw(some)};
  int sum = draw(some) + draw(some);                                   // found
  auto text = std::to_string(draw(some)) + std::to_string(draw(some)); // found
  text.append(std::to_string(draw(some))).append(std::to_string(some.seen()));
  const std::vector<int> copied(numbers.begin(), numbers.end());
  compare(some.seen(), some.seen());
}

} // namespace
