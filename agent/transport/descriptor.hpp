#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace karmad {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  /// Closes it; errno stays.
  ~Descriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Hands it over to the caller.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Most descriptors that travel at once; the kernel passes at most 253.
inline constexpr std::size_t kMostSentAtOnce = 200;

/// Sends as many of the bytes as the unix socket takes, without waiting, and with their first byte
/// the descriptors, at most kMostSentAtOnce, which stay open here. Returns as sendmsg(2) does.
ssize_t send_with(int socket, std::string_view bytes, std::span<const int> descriptors);

}  // namespace karmad
