#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace karmad {

/// Reuses the byte buffers of one worker. Not thread-safe. A returned buffer larger than
/// `keep_up_to` is freed, so that one huge reply does not occupy memory; the total of the large
/// ones kept is bounded.
class Buffers {
 public:
  explicit Buffers(std::size_t keep_up_to);

  /// An empty buffer, with room for at least `room` bytes.
  std::string take(std::size_t room = 0);
  void give(std::string&& buffer);

  /// Limits the total size of idle large buffers.
  void keep_at_most(std::size_t bytes) { keep_at_most_ = bytes; }
  static constexpr std::size_t kKeptBytes = 16 << 20;

  /// Capacity of every buffer; with the terminating zero a round size.
  static constexpr std::size_t kSmall = (8 << 10) - 1;

 private:
  static constexpr std::size_t kKeptSmall = 256;  // a request in progress holds one
  static constexpr std::size_t kKeptLarge = 128;

  std::size_t keep_up_to_;
  std::size_t keep_at_most_ = kKeptBytes;
  std::size_t kept_bytes_ = 0;  ///< in `large_`
  std::vector<std::string> small_;
  std::vector<std::string> large_;
};

/// A buffer that returns to its worker when it is destroyed.
class Buffer {
 public:
  explicit Buffer(Buffers& home, std::size_t room = 0) : home_(&home), bytes_(home.take(room)) {}
  /// Takes over a buffer of `home` with its bytes.
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

  /// Returns the buffer early; it is an empty string then.
  void give_back() { home_->give(std::move(bytes_)); }

  std::string& operator*() { return bytes_; }
  const std::string& operator*() const { return bytes_; }
  std::string* operator->() { return &bytes_; }
  const std::string* operator->() const { return &bytes_; }

 private:
  Buffers* home_;
  std::string bytes_;
};

/// Capacity for a buffer of `room` bytes that must hold `needed`, if the final length is unknown:
/// twice as much while small, then a quarter more, so that little of a large one is unused. At most
/// `most`, unless `needed` is more.
std::size_t next_room(std::size_t room, std::size_t needed, std::size_t most);
/// The same if it will hold `whole` bytes in the end: doubles, up to `whole`.
std::size_t next_room_of(std::size_t whole, std::size_t room, std::size_t needed);

/// Moves the bytes to memory of their size if much of a large capacity is unused.
void drop_spare_room(std::string& bytes);

/// Resizes `bytes` without initializing the new part, which will be read into.
void resize_for_reading(std::string& bytes, std::size_t size);

}  // namespace karmad
