#include "agent/buffers.hpp"

#include <algorithm>
#include <utility>

namespace karmad {

Buffers::Buffers(std::size_t keep_up_to) : keep_up_to_(keep_up_to) {
  small_.reserve(kKeptSmall);
  large_.reserve(kKeptLarge);
}

std::string Buffers::take(std::size_t room) {
  auto& list = room > kSmall || (small_.empty() && !large_.empty()) ? large_ : small_;
  if (list.empty()) list.emplace_back();
  auto buffer = std::move(list.back());
  list.pop_back();
  room = std::max(room, kSmall);
  if (buffer.capacity() < room) buffer.reserve(room);
  return buffer;
}

void Buffers::give(std::string&& buffer) {
  const auto room = buffer.capacity();
  if (room < kSmall) return;
  auto& list = room <= 2 * kSmall ? small_ : large_;
  if (room > keep_up_to_ || list.size() == list.capacity()) {
    std::string().swap(buffer);  // assigning an empty string would leave the memory with it
    return;
  }
  buffer.clear();
  list.push_back(std::move(buffer));
}

void reserve_for_reading(std::string& bytes, std::size_t more, std::size_t most) {
  const auto needed = bytes.size() + more;
  if (bytes.capacity() >= needed) return;
  bytes.reserve(needed <= kGrowsUpTo ? std::max(needed, 2 * bytes.capacity())
                                     : std::max(needed, most));
}

void resize_for_reading(std::string& bytes, std::size_t size) {
  // g++ 12 tells the operation the new capacity instead of `size`.
  bytes.resize_and_overwrite(size, [size](char*, std::size_t) { return size; });
}

}  // namespace karmad
