#include "agent/transport/loop/buffers.hpp"

#include <algorithm>
#include <utility>

namespace karmad {

Buffers::Buffers(std::size_t keep_up_to) : keep_up_to_(keep_up_to) {
  small_.reserve(kKeptSmall);
  large_.reserve(kKeptLarge);
}

std::string Buffers::take(std::size_t room) {
  auto& list = room > kSmall ? large_ : small_;
  // A kept buffer that is much too large is not used, because capacity is counted; one that is too
  // small is not grown.
  const bool kept = !list.empty() && room <= keep_up_to_ &&
                    (&list == &small_ || list.back().capacity() / 2 <= room);
  // The only one: it becomes the result.
  std::string buffer = kept ? std::move(list.back()) : std::string();
  if (kept) {
    list.pop_back();
    if (&list == &large_) kept_bytes_ -= std::min(kept_bytes_, buffer.capacity());
  }
  if (buffer.capacity() < std::max(room, kSmall)) buffer.reserve(std::max(room, kSmall));
  return buffer;
}

void Buffers::give(std::string&& buffer) {
  const auto room = buffer.capacity();
  if (room < kSmall) return;
  auto& list = room <= 2 * kSmall ? small_ : large_;
  const bool is_large = &list == &large_;
  if (room > keep_up_to_ || list.size() == list.capacity() ||
      (is_large && kept_bytes_ + room > keep_at_most_)) {
    std::string().swap(buffer);  // assigning an empty string would keep the memory
    return;
  }
  buffer.clear();
  if (is_large) kept_bytes_ += room;
  list.push_back(std::move(buffer));
}

std::size_t next_room(std::size_t room, std::size_t needed, std::size_t most) {
  constexpr std::size_t kDoubled = 1 << 20;
  if (needed <= room) return room;
  return std::max(needed, std::min(most, room < kDoubled ? 2 * room : room + room / 4));
}

std::size_t next_room_of(std::size_t whole, std::size_t room, std::size_t needed) {
  return needed <= room ? room : std::max(needed, std::min(2 * room, whole));
}

void drop_spare_room(std::string& bytes) {
  constexpr std::size_t kSpare = 1 << 20;
  if (bytes.capacity() - bytes.size() < std::max(kSpare, bytes.size() / 4)) return;
  std::string exact;
  exact.reserve(bytes.size());
  exact.append(bytes);
  bytes.swap(exact);
}

void resize_for_reading(std::string& bytes, std::size_t size) {
  // g++ 12 passes the new capacity to the operation instead of `size`.
  bytes.resize_and_overwrite(size, [size](char*, std::size_t) { return size; });
}

}  // namespace karmad
