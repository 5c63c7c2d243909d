#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace karmad {

/// Byte buffers of one worker, used again. Not thread-safe. What grew beyond `keep_up_to` is freed
/// when it comes back, so one huge reply does not stay in memory; the large ones that are kept are
/// bounded in sum.
class Buffers {
 public:
  explicit Buffers(std::size_t keep_up_to);

  /// An empty buffer, with room for at least `room` bytes.
  std::string take(std::size_t room = 0);
  void give(std::string&& buffer);

  /// So many bytes of large buffers are kept at most while they are idle.
  void keep_at_most(std::size_t bytes) { keep_at_most_ = bytes; }
  static constexpr std::size_t kKeptBytes = 16 << 20;

  /// Every buffer has this room; with the zero behind it, memory of a round size.
  static constexpr std::size_t kSmall = (8 << 10) - 1;

 private:
  static constexpr std::size_t kKeptSmall = 256;  // a request under way holds one
  static constexpr std::size_t kKeptLarge = 128;

  std::size_t keep_up_to_;
  std::size_t keep_at_most_ = kKeptBytes;
  std::size_t kept_bytes_ = 0;  ///< of `large_`
  std::vector<std::string> small_;
  std::vector<std::string> large_;
};

/// A buffer that goes back to its worker by itself.
class Buffer {
 public:
  explicit Buffer(Buffers& home, std::size_t room = 0) : home_(&home), bytes_(home.take(room)) {}
  /// Takes over bytes that lie in one of `home`'s.
  Buffer(Buffers& home, std::string&& bytes) : home_(&home), bytes_(std::move(bytes)) {}
  Buffer(Buffer&& other) noexcept : home_(other.home_), bytes_(std::move(other.bytes_)) {
    other.bytes_.clear();
  }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(home_, other.home_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() { give_back(); }

  /// Ahead of its time; it is an empty string then.
  void give_back() { home_->give(std::move(bytes_)); }

  std::string& operator*() { return bytes_; }
  const std::string& operator*() const { return bytes_; }
  std::string* operator->() { return &bytes_; }
  const std::string* operator->() const { return &bytes_; }

 private:
  Buffers* home_;
  std::string bytes_;
};

/// The capacity that a buffer of `room` bytes gets next to hold `needed`, when the final length is
/// unknown: twice as much while it is small, then a quarter more, so that little of a large
/// one stays unused; `most` at most, unless more is needed.
std::size_t next_room(std::size_t room, std::size_t needed, std::size_t most);
/// The same when it will hold `whole` bytes in the end: by doubling, and never more.
std::size_t next_room_of(std::size_t whole, std::size_t room, std::size_t needed);

/// Moves what was appended to bit by bit to memory of its size, if much of a large one is unused.
void drop_spare_room(std::string& bytes);

/// Makes `bytes` `size` long without filling what is new: it is about to be read into.
void resize_for_reading(std::string& bytes, std::size_t size);

}  // namespace karmad
