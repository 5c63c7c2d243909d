#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/loop/task.hpp"

namespace karmad {

/// Longest head of a reply.
inline constexpr std::size_t kReplyHead = 64 << 10;

/// The fields of a parsed head, kept as places in its bytes: these may move to another buffer. Its
/// memory is recycled; it lives and dies on one thread.
class ReplyFields {
 public:
  /// `bytes`: what `head` was parsed from.
  ReplyFields(const Head& head, std::string_view bytes);

  /// The first field of that name (case-insensitive), or empty. `bytes`: where they are now.
  std::string_view find(std::string_view name, std::string_view bytes) const;
  /// Puts the head back together, with views into `bytes`.
  void restore(Head& head, std::string_view bytes) const;

  static void* operator new(std::size_t size) { return Frames::take(size); }
  static void operator delete(void* memory, std::size_t size) { Frames::give(memory, size); }

 private:
  struct Place {
    std::uint16_t begin;
    std::uint16_t size;
  };
  struct FieldPlace {
    Place name;
    Place value;
  };
  static_assert(kReplyHead - 1 <= UINT16_MAX);

  HeadFacts facts_;
  std::array<FieldPlace, kMaxFields> places_;  ///< only those of fields are written
};

}  // namespace karmad
