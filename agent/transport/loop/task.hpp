#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace karmad {

/// Caches the coroutine frames of one thread by size, so that the steady state allocates nothing. A
/// frame is allocated and freed on one thread.
class Frames {
 public:
  static void* take(std::size_t size) {
    const auto c = class_of(size);
    if (c >= kClasses || kept_.first[c] == nullptr) return fresh(c);
    --kept_.count[c];
    return std::exchange(kept_.first[c], kept_.first[c]->next);
  }
  static void give(void* frame, std::size_t size) noexcept {
    const auto c = class_of(size);
    if (!kRecycle || c >= kClasses || kept_.count[c] == kMost) return ::operator delete(frame);
    ++kept_.count[c];
    kept_.first[c] = new (frame) Free{kept_.first[c]};
  }

 private:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kRecycle = false;  // recycling would hide a use after free
#else
  static constexpr bool kRecycle = true;
#endif
  static constexpr std::size_t kStep = 128;
  static constexpr std::size_t kClasses = 64;  // frames up to 8 KiB
  static constexpr unsigned kMost = 256;       // of each size

  struct Free {
    Free* next;
  };
  struct Kept {
    std::array<Free*, kClasses> first;
    std::array<unsigned, kClasses> count;
  };
  /// Frees the cache when the thread ends.
  struct Cleaner;

  static constexpr std::size_t class_of(std::size_t size) {
    return (size + kStep - 1) / kStep;
  }
  static void* fresh(std::size_t c);

  static constinit inline thread_local Kept kept_{};
};

template <class T>
class Task;

/// `auto& result = co_yield InPlace{}` in a task gives a reference to its default-constructed
/// result; `co_return InPlace{}` ends the task with it. For results that are costly to move.
struct InPlace {};

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation;

  static void* operator new(std::size_t size) { return Frames::take(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { Frames::give(frame, size); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final : std::suspend_always {
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      const auto next = self.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
  };
  Final final_suspend() noexcept { return {}; }
  /// Tasks report errors as values; pure code within them is called by internal_error_in().
  void unhandled_exception() noexcept { std::terminate(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  void return_value(InPlace) {}
  struct Ready : std::suspend_never {
    T& place;
    T& await_resume() const noexcept { return place; }
  };
  Ready yield_value(InPlace) { return {{}, value.emplace()}; }
  T& result() { return *value; }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() noexcept {}
};

}  // namespace detail

/// A coroutine that starts when it is awaited and resumes its caller when it ends, on the same
/// thread. If it never suspends, neither does the caller. Why not Asio's awaitable:
/// docs/decisions/003-tasks.md.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> self) : self_(self) {}
  Task(Task&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (self_) self_.destroy();
  }

  /// `co_await task()` gives its result, `co_await kept` a reference into the kept task.
  auto operator co_await() && noexcept {
    struct Awaiter : TaskAwaiter {
      T await_resume() {
        if constexpr (!std::is_void_v<T>) return std::move(this->self.promise().result());
      }
    };
    return Awaiter{{{}, self_}};
  }
  auto operator co_await() & noexcept {
    struct Awaiter : TaskAwaiter {
      std::add_lvalue_reference_t<T> await_resume() {
        if constexpr (!std::is_void_v<T>) return this->self.promise().result();
      }
    };
    return Awaiter{{{}, self_}};
  }

 private:
  struct TaskAwaiter : std::suspend_always {
    std::coroutine_handle<promise_type> self;
    bool await_suspend(std::coroutine_handle<> caller) {
      self.resume();
      if (self.done()) return false;
      self.promise().continuation = caller;
      return true;
    }
  };

  std::coroutine_handle<promise_type> self_;
};

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>{std::coroutine_handle<Promise<T>>::from_promise(*this)};
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>{std::coroutine_handle<Promise<void>>::from_promise(*this)};
}

}  // namespace detail

/// A coroutine that starts when called and is not awaited. The caller guarantees the lifetime of
/// everything it refers to.
struct Background {
  struct promise_type {
    static void* operator new(std::size_t size) { return Frames::take(size); }
    static void operator delete(void* frame, std::size_t size) noexcept {
      Frames::give(frame, size);
    }
    Background get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// Runs a task that is not awaited. The caller guarantees the lifetime of everything the task
/// refers to.
inline void spawn(Task<void> task) {
  [](Task<void> own) -> Background { co_await std::move(own); }(std::move(task));
}

/// One coroutine waits here until another one on the same thread calls notify().
class AsyncEvent : public std::suspend_always {
 public:
  /// Resumes the waiting coroutine, if any, before it returns.
  void notify() {
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }
  void await_suspend(std::coroutine_handle<> caller) noexcept { waiter_ = caller; }

 private:
  std::coroutine_handle<> waiter_;
};

}  // namespace karmad
