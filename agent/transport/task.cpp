#include "agent/transport/task.hpp"

namespace karmad {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kRecycle = false;  // recycling would hide a use after free
#else
constexpr bool kRecycle = true;
#endif

constexpr std::size_t kStep = 128;
constexpr std::size_t kClasses = 64;  // frames up to 8 KiB
constexpr unsigned kKept = 256;       // of each size

struct Free {
  Free* next;
};

struct Lists {
  std::array<Free*, kClasses> first{};
  std::array<unsigned, kClasses> count{};
  ~Lists() {
    for (auto* list : first)
      while (list != nullptr) ::operator delete(std::exchange(list, list->next));
  }
};
thread_local Lists lists;

std::size_t class_of(std::size_t size) {
  return (size + kStep - 1) / kStep;
}

}  // namespace

void* Frames::take(std::size_t size) {
  const auto c = class_of(size);
  if (kRecycle && c < kClasses && lists.first[c] != nullptr) {
    --lists.count[c];
    return std::exchange(lists.first[c], lists.first[c]->next);
  }
  return ::operator new(c* kStep);
}

void Frames::give(void* frame, std::size_t size) noexcept {
  const auto c = class_of(size);
  if (!kRecycle || c >= kClasses || lists.count[c] == kKept) {
    ::operator delete(frame);
    return;
  }
  ++lists.count[c];
  lists.first[c] = new (frame) Free{lists.first[c]};
}

}  // namespace karmad
