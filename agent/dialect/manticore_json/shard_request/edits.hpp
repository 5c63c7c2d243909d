#pragma once

#include <string>
#include <string_view>

#include "agent/dialect/manticore_json/request.hpp"
#include "agent/dialect/plan/shard_text.hpp"

namespace karmad {

/// The edits of the client's body, which must outlive it, as the request must.
class Edits {
 public:
  Edits(std::string_view body, const SearchRequest& request) : body_(body), request_(request) {}

  /// Replaces the value of a property, or adds it.
  void set(Property property, std::string value);
  void set(Property property, std::uint64_t value) { set(property, std::to_string(value)); }
  void set_if_given(Property property, std::uint64_t value) {
    if (request_[property].found()) set(property, value);
  }
  /// Adds members, written without braces, to an object, or adds the object.
  void add_members(Property property, const std::string& members);
  void replace(ByteRange at, std::string value) {
    edits_.push_back({at.begin, at.end, std::move(value)});
  }
  void replace(ByteRange at, std::uint64_t value) { replace(at, std::to_string(value)); }

  /// The edits, with those of the table's name.
  TextEdits take();

 private:
  std::string_view body_;
  const SearchRequest& request_;
  TextEdits edits_;
};

}  // namespace karmad
