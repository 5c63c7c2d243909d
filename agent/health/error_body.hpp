#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string_view>

namespace karmad {

/// The body of an error answer. It is parsed as JSON at most once, when it is first asked for. The
/// text has to live as long.
class ErrorBody {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} * 1024;

  explicit ErrorBody(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }
  /// The JSON object that it is; null: it is none, or longer than kLongest.
  const rapidjson::Value* object() const;

 private:
  std::string_view text_;
  mutable bool parsed_ = false;
  mutable std::optional<rapidjson::Document> document_;  ///< if it is an object
};

}  // namespace karmad
