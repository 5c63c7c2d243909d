#pragma once

#include <string>
#include <utility>

namespace karmad {

/// What is wrong with a request; the first thing said stays. Readers go on with a harmless value
/// after a complaint, so that they need no early ways out.
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

}  // namespace karmad
