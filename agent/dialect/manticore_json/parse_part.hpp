#pragma once

#include <rapidjson/document.h>

#include <cassert>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"
#include "agent/json/json_tree.hpp"

namespace karmad {

/// Builds the tree of a small part of a request. The whole request was validated before, including
/// its nesting depth.
inline void parse_part(std::string_view text, rapidjson::Document& part) {
  part.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                  text.size());
  assert(!part.HasParseError());
}

inline std::unexpected<ClientError> refused(std::string reason) {
  return std::unexpected(ClientError{400, std::move(reason)});
}

}  // namespace karmad
