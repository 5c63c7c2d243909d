#pragma once

#include <string>
#include <string_view>

#include "agent/json/json_line.hpp"
#include "agent/stats/stats_writer.hpp"

namespace karmad {

/// A JSON document while it is written at the end of a string, which is whole again when this
/// goes. Numbers that are written to it become members of the innermost open object; their labels
/// are not shown.
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
  void array(std::string_view key, const Items& items, Body body) {
    name(key);
    open('[');
    for (const auto& item : items) body(item);
    close(']');
  }

  /// A member that is JSON already.
  void raw(std::string_view key, std::string_view json) {
    name(key);
    out_.add(json);
    follows_ = true;
  }
  void text(std::string_view value) {
    separate();
    out_.add_quoted(value);
  }
  void text(std::string_view key, std::string_view value) {
    name(key);
    text(value);
  }
  /// What was not measured or has no limit is null; shares get four decimals. A double that is not
  /// finite is null.
  void value(std::string_view key, const StatValue& value, Unit unit = Unit::count);

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
  bool follows_ = false;  ///< a comma must come before the next name or value
};

}  // namespace karmad
