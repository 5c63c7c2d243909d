#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/transport/http/http_head.hpp"
#include "config/settings/settings.hpp"
#include "strategies/time.hpp"

namespace karmad {

inline constexpr std::string_view kAcceptEncoding = "Accept-Encoding";
inline constexpr std::string_view kContentEncoding = "Content-Encoding";

/// How the body of an answer is coded (RFC 9110 section 8.4.1).
enum class Coding : std::uint8_t { identity, gzip, zstd };
/// As in Content-Encoding.
std::string_view text(Coding coding);

/// The coding that a client wants most of those that `allowed` has, zstd before gzip. `accepted`:
/// its Accept-Encoding (RFC 9110 section 12.5.3); what is not valid in it is not accepted.
Coding wanted_coding(std::string_view accepted, Compress allowed);
/// The same, from all its fields of that name: they are one list (RFC 9110 section 5.3).
Coding wanted_coding(const Head& fields, Compress allowed);

/// Whether bodies of that media type become smaller: texts, JSON and XML.
bool is_compressible(std::string_view content_type);

/// Compresses one body after the other, piece by piece. One thread.
class Compressor {
 public:
  /// What follows a piece: more; nothing for a while, so that all must be readable; or nothing.
  enum class Then { more, pause, end };
  /// `level`: 1 (fast) to 9 (small).
  Compressor(Coding coding, int level);
  ~Compressor();

  Coding coding() const { return coding_; }
  int level() const { return level_; }
  /// What it holds, in bytes.
  std::size_t memory() const;
  /// Appends to `out`. After Then::end the next body begins.
  void put(std::string_view piece, Then then, std::string& out);

 private:
  struct Gzip;
  struct Zstd;
  Coding coding_;
  int level_;
  std::unique_ptr<Gzip> gzip_;  ///< one of the two
  std::unique_ptr<Zstd> zstd_;
};

/// Keeps some kind of work of a thread to a part of its time, on average over a second, and to
/// times at which the thread keeps up. Pure; one thread.
class TimeShare {
 public:
  /// So long after the thread was late the work leaves it alone: the queries that waited meanwhile
  /// come first.
  static constexpr std::chrono::milliseconds kCalm{200};

  /// Whether work of that kind may begin now. `share`: 0 … 1; 1: always. `last_late`: when the
  /// thread was late the last time.
  bool allows(double share, TimePoint now, TimePoint last_late) {
    const auto since = std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    owed_ = std::max(0.0, owed_ - since * share);
    return share >= 1 || (owed_ < share && now - last_late >= kCalm);
  }
  /// The work has taken that long.
  void took(TimePoint::duration time) { owed_ += std::chrono::duration<double>(time).count(); }

 private:
  TimePoint looked_{};
  double owed_ = 0;  ///< seconds of work that the share has not paid for yet
};

}  // namespace karmad
