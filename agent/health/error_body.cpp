#include "agent/health/error_body.hpp"

namespace karmad {

const rapidjson::Value* ErrorBody::object() const {
  if (!parsed_) {
    parsed_ = true;
    const auto start = text_.find_first_not_of(" \t\r\n");
    if (start == text_.npos || text_[start] != '{' || text_.size() > kLongest) return nullptr;
    document_.emplace();
    document_->Parse<rapidjson::kParseIterativeFlag>(text_.data(), text_.size());
    if (document_->HasParseError()) document_.reset();
  }
  return document_ ? &*document_ : nullptr;
}

}  // namespace karmad
