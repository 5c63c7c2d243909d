#include "agent/transport/loop/task.hpp"

namespace karmad {

struct Frames::Cleaner {
  ~Cleaner() {
    for (auto*& list : kept_.first)
      while (list != nullptr) ::operator delete(std::exchange(list, list->next));
  }
};

void* Frames::fresh(std::size_t c) {
  static thread_local const Cleaner cleaner;
  return ::operator new(c* kStep);
}

}  // namespace karmad
