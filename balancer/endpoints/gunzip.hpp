#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// Unpacks one gzip body (RFC 1952), piece by piece: one or more members, nothing behind them.
/// Touches nothing but the strings it is given.
class Gunzip {
 public:
  /// A body may become so many times larger, beside the first `kFreely` bytes: JSON that repeats
  /// itself stays below 50, DEFLATE alone could reach 1032.
  static constexpr std::size_t kMostRatio = 200;
  static constexpr std::size_t kFreely = 1 << 20;
  /// One step takes and gives at most this much: about 0.2 ms.
  static constexpr std::size_t kStep = 64 << 10;

  /// `packed` outlives it. `most`: bytes the whole may have (413 beyond).
  Gunzip(std::string_view packed, std::size_t most);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Appends to `plain`, within its capacity, at most kStep bytes. What is wrong with the body, if
  /// anything; then it is not to be called again, and `plain` is worth nothing.
  std::optional<ClientError> step(std::string& plain);
  bool done() const { return done_; }
  /// Bytes of `packed` that are behind it.
  std::size_t taken() const;

 private:
  struct State;
  std::optional<ClientError> after(int result, std::size_t plain_size);

  const std::string_view packed_;
  const std::size_t most_;
  std::size_t given_ = 0;  ///< to zlib, of `packed_`
  std::unique_ptr<State> state_;
  bool done_ = false;
};

}  // namespace karmad
