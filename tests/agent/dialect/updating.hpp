#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/kinds/dialects.hpp"

namespace karmad {

inline constexpr std::string_view kJson = "application/json; charset=UTF-8";
inline constexpr std::string_view kLines = "application/x-ndjson";

/// The dialect as the balancer uses it, with words for what a test says.
class Updating {
 public:
  explicit Updating(const DialectSettings& settings = {})
      : dialect_(make_manticore_update(settings)) {}

  const Dialect& dialect() const { return *dialect_; }

  static ClientRequest post(std::string_view path, std::string_view body) {
    return {"POST", path, "", path.ends_with("/bulk") ? kLines : kJson, body};
  }

  std::expected<Parsed, ClientError> parse(std::string_view path, std::string_view body) const {
    return dialect_->parse(post(path, body));
  }

  /// The table, or why the request is refused.
  std::string table_of(std::string_view path, std::string_view body) const {
    const auto parsed = parse(path, body);
    if (parsed) return parsed->table;
    EXPECT_EQ(parsed.error().status, 400);
    return "refused: " + parsed.error().reason;
  }

  /// What a mirror that calls the table `tables` gets for a body.
  std::string written(std::string_view path, std::string_view body,
                      std::vector<std::string> tables) const {
    const auto request = post(path, body);
    const auto parsed = dialect_->parse(request);
    if (!parsed) return "refused: " + parsed.error().reason;
    std::string buffer = "left from before";
    return std::string(dialect_->write(request, *parsed, tables, buffer).body);
  }

  Judgement judged(int status, std::string_view body, std::string_view type = kJson) const {
    return dialect_->judge({status, type, body}, false);
  }

 private:
  std::unique_ptr<Dialect> dialect_;
};

}  // namespace karmad
