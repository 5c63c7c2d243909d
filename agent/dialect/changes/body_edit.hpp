#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/request.hpp"

namespace karmad {

/// A text for a place of a body. An empty place with an `end` gets the text inserted; `end` 0: the
/// edit is none.
struct BodyEdit {
  ByteRange place;
  std::string_view text;
};

/// Appends `part` of the body with the edits, which lie in it and do not overlap. Sorts them.
inline void append_edited(std::string& out, std::string_view body, ByteRange part,
                          std::span<BodyEdit> edits) {
  std::ranges::sort(edits, {}, [](const BodyEdit& edit) { return edit.place.begin; });
  auto copied = part.begin;
  for (const auto& [place, text] : edits) {
    if (!place.found()) continue;
    out.append(body.substr(copied, place.begin - copied)).append(text);
    copied = place.end;
  }
  out.append(body.substr(copied, part.end - copied));
}

}  // namespace karmad
