#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "agent/transport/loop.hpp"
#include "tests/support/process.hpp"

namespace karmad::test {

/// Lets the loop turn until `condition` is true; false when that took too long.
template <class Condition>
bool turn_until(Loop& loop, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    loop.io.restart();
    loop.io.run_one_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// What `task` results in, awaited on the loop.
template <class T>
T result_of(Loop& loop, Task<T> task) {
  std::optional<T> result;
  spawn([](Task<T> own, std::optional<T>& into) -> Task<void> {
    into.emplace(co_await std::move(own));
  }(std::move(task), result));
  if (!turn_until(loop, [&] { return result.has_value(); })) {
    ADD_FAILURE() << "it did not end";
    std::abort();  // what it refers to is about to go
  }
  return std::move(*result);
}

}  // namespace karmad::test
