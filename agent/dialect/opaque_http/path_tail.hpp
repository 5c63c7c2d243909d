#pragma once

#include <span>
#include <string_view>

namespace karmad {

/// Requests of an engine, known by their method and the end of their path.
struct PathTail {
  std::string_view methods;  ///< `GET POST`; GET stands for HEAD too
  /// The last segments of the path; `*` matches one that does not start with an underscore.
  std::string_view tail;
};

/// Whether a request is one of these.
bool fits_any(std::span<const PathTail> tails, std::string_view method, std::string_view path);

}  // namespace karmad
