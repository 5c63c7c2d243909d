#pragma once

#include <string>
#include <string_view>

#include "agent/json/json_line.hpp"
#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// Appends a JSON document to a string, which is complete after the destructor. Numbers that are
/// added become members of the innermost open object; their labels are not written.
class Document final : public StatsWriter {
 public:
  explicit Document(std::string& out) : out_(out) {}

  template <class Body>
  void object(Body body) {
    open('{');
    body();
    close('}');
  }
  template <class Body>
  void object(std::string_view key, Body body) {
    name(key);
    object(body);
  }
  template <class Items, class Body>
  void array(const Items& items, Body body) {
    open('[');
    for (const auto& item : items) body(item);
    close(']');
  }
  template <class Items, class Body>
  void array(std::string_view key, const Items& items, Body body) {
    name(key);
    array(items, body);
  }
  /// An object for each item, with the members that `body` adds.
  template <class Items, class Body>
  void objects(std::string_view key, const Items& items, Body body) {
    array(key, items, [&](const auto& item) { object([&] { body(item); }); });
  }

  /// A value that is already JSON.
  void raw(std::string_view json) {
    separate();
    out_.add(json);
  }
  void raw(std::string_view key, std::string_view json) {
    name(key);
    raw(json);
  }
  void text(std::string_view value) {
    separate();
    out_.add_quoted(value);
  }
  void text(std::string_view key, std::string_view value) {
    name(key);
    text(value);
  }
  /// Null for values not measured, unlimited limits and non-finite doubles. Shares get four
  /// decimals.
  void value(const StatValue& value, Unit unit = Unit::count);
  void value(std::string_view key, const StatValue& of, Unit unit = Unit::count) {
    name(key);
    value(of, unit);
  }

 private:
  void put(const Stat& stat, const StatValue& of, std::span<const Label>) override {
    if (stat.member_key() != kHidden) value(stat.member_key(), of, stat.unit);
  }

  void separate() {
    if (follows_) out_.add(',');
    follows_ = true;
  }
  void name(std::string_view key) {
    separate();
    out_.add_quoted(key);
    out_.add(':');
    follows_ = false;
  }
  void open(char bracket) {
    separate();
    out_.add(bracket);
    follows_ = false;
  }
  void close(char bracket) {
    out_.add(bracket);
    follows_ = true;
  }

  JsonLine out_;
  bool follows_ = false;  ///< the next name or value needs a comma
};

/// An object with the members that `add_members` adds to the document that it gets.
template <class AddMembers>
std::string json_object(AddMembers add_members) {
  std::string json;
  {
    Document out(json);
    out.object([&] { add_members(out); });
  }
  return json;
}

}  // namespace karmad
