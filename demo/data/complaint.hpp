#pragma once

#include <string>
#include <utility>

namespace karmad::demo {

/// The first error of a request. After an error the readers continue with a harmless value, so that
/// they need no early returns.
class Complaint {
 public:
  void say(int status, std::string text) {
    if (status_ == 0) {
      status_ = status;
      text_ = std::move(text);
    }
  }
  explicit operator bool() const { return status_ != 0; }
  int status() const { return status_; }
  const std::string& text() const { return text_; }

 private:
  int status_ = 0;
  std::string text_;
};

}  // namespace karmad::demo
