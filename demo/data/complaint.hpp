#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace karmad::demo {

/// The first error of a request. After an error the readers continue with a harmless value, so that
/// they need no early returns.
class Complaint {
 public:
  template <class... Values>
  void say(int status, fmt::format_string<Values...> text, Values&&... values) {
    if (status_ != 0) return;
    status_ = status;
    text_ = fmt::format(text, std::forward<Values>(values)...);
  }
  explicit operator bool() const { return status_ != 0; }
  int status() const { return status_; }
  const std::string& text() const { return text_; }

 private:
  int status_ = 0;
  std::string text_;
};

}  // namespace karmad::demo
