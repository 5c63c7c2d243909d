#pragma once

#include <rapidjson/writer.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balancer/status/json_text.hpp"
#include "strategies/time.hpp"

namespace karmad {

/// A JSON document while it is written: names and values as the status needs them.
class Document {
 public:
  explicit Document(std::string& out) : sink_(out), writer_(sink_) {}

  template <class Body>
  void object(Body body) {
    writer_.StartObject();
    body();
    writer_.EndObject();
  }
  template <class Body>
  void object(std::string_view key, Body body) {
    name(key);
    object(body);
  }
  /// A member that is JSON already.
  void raw(std::string_view key, std::string_view json) {
    name(key);
    raw(json);
  }
  void raw(std::string_view json) {
    writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  }
  template <class Items, class Body>
  void array(std::string_view key, const Items& items, Body body) {
    name(key);
    writer_.StartArray();
    for (const auto& item : items) body(item);
    writer_.EndArray();
  }

  void text(std::string_view value) { writer_.String(clean_utf8(value)); }
  void text(std::string_view key, std::string_view value) {
    name(key);
    text(value);
  }
  void count(std::string_view key, std::uint64_t value) {
    name(key);
    writer_.Uint64(value);
  }
  void optional(std::string_view key, std::optional<std::uint64_t> value) {
    if (value) return count(key, *value);
    null(key);
  }
  void optional(std::string_view key, std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return null(key);
    name(key);
    writer_.Double(*value);
  }
  void number(std::string_view key, std::int64_t value) {
    name(key);
    writer_.Int64(value);
  }
  void flag(std::string_view key, bool value) {
    name(key);
    writer_.Bool(value);
  }
  /// Four decimals: a hundredth of a percent.
  void share(std::string_view key, double value) {
    name(key);
    writer_.Double(std::round(value * 1e4) / 1e4);
  }
  void milliseconds(std::string_view key, std::optional<Micros> value) { time(key, value, 1e3); }
  void seconds(std::string_view key, std::optional<Micros> value) { time(key, value, 1e6); }

  void null(std::string_view key) {
    name(key);
    writer_.Null();
  }

 private:
  void name(std::string_view key) {
    writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }
  void time(std::string_view key, std::optional<Micros> value, double unit) {
    name(key);
    if (value)
      writer_.Double(static_cast<double>(value->count()) / unit);
    else
      writer_.Null();
  }

  StringSink sink_;
  rapidjson::Writer<StringSink> writer_;
};

}  // namespace karmad
