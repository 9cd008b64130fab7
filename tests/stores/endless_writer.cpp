// Writes numbered keys to the store in the directory given, and prints each number when its write
// was acknowledged, until it is killed.

#include "state/store/sqlite/sqlite_store.hpp"

#include <unistd.h>

#include <cstdio>
#include <semaphore>
#include <string>

int main(int count, char** arguments) {
  using namespace reprieve;
  if (count != 2)
    return 2;
  auto store = sqlite_store::open(arguments[1]);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  // Several at a time, so that the kill hits group commits of more than one write.
  std::counting_semaphore<8> room(8);
  for (int number = 0;; ++number) {
    room.acquire();
    const auto text = std::to_string(number);
    (*store)->commit({{}, {put{"key-" + text, text}, put{"latest", text}}},
                     [&room, line = text + "\n"](auto committed) {
                       if (committed.ok())
                         (void)!::write(STDOUT_FILENO, line.data(), line.size());
                       room.release();
                     });
  }
}
