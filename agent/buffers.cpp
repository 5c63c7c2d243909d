#include "agent/buffers.hpp"

#include <utility>

namespace karmad {

std::string Buffers::take(std::size_t room) {
  auto& list = room > kSmall || (small_.empty() && !large_.empty()) ? large_ : small_;
  std::string buffer;
  if (!list.empty()) {
    buffer = std::move(list.back());
    list.pop_back();
  }
  buffer.reserve(room > kSmall ? room : kSmall);
  return buffer;
}

void Buffers::give(std::string&& buffer) {
  if (buffer.capacity() < kSmall) return;
  auto returned = std::move(buffer);  // assigning an empty string would leave the memory with it
  if (returned.capacity() > keep_up_to_) return;
  const bool small = returned.capacity() <= 2 * kSmall;
  auto& list = small ? small_ : large_;
  const auto most = small ? kKeptSmall : kKeptLarge;
  if (list.size() == most) return;
  returned.clear();
  if (list.capacity() == 0) list.reserve(most);
  list.push_back(std::move(returned));
}

void resize_for_reading(std::string& bytes, std::size_t size) {
  // g++ 12 tells the operation the new capacity instead of `size`.
  bytes.resize_and_overwrite(size, [size](char*, std::size_t) { return size; });
}

}  // namespace karmad
