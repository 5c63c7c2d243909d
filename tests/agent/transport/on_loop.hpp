#pragma once

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <optional>

#include "agent/transport/loop/loop.hpp"
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

/// `co_await PostedTurn{loop}`: goes on when the loop has done what is ready now.
struct PostedTurn {
  Loop& loop;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) const {
    asio::post(loop.io, [caller] { caller.resume(); });
  }
  void await_resume() const noexcept {}
};

/// Awaits `task` on the loop.
inline void finish(Loop& loop, Task<void> task) {
  bool ended = false;
  spawn([](Task<void> own, bool& done) -> Task<void> {
    co_await std::move(own);
    done = true;
  }(std::move(task), ended));
  if (turn_until(loop, [&] { return ended; })) return;
  ADD_FAILURE() << "it did not end";
  std::abort();  // what it refers to is about to go
}

/// What `task` results in, awaited on the loop.
template <class T>
T result_of(Loop& loop, Task<T> task) {
  std::optional<T> result;
  finish(loop, [](Task<T> own, std::optional<T>& into) -> Task<void> {
    into.emplace(co_await std::move(own));
  }(std::move(task), result));
  return std::move(*result);
}

}  // namespace karmad::test
