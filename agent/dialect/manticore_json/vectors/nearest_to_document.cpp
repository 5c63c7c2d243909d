#include "agent/dialect/manticore_json/vectors/nearest_to_document.hpp"

#include <fmt/format.h>

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {
namespace {

bool starts_number(std::string_view value) {
  return value.front() == '-' || (value.front() >= '0' && value.front() <= '9');
}

}  // namespace

ClientError no_vector(std::string_view attribute, std::string_view id) {
  return {400, fmt::format("the attribute {} of the document {} is missing or no vector: a list of "
                           "numbers of at most {} bytes",
                           attribute, id, kLongestVector)};
}

std::optional<std::string> vector_numbers(std::string_view value) {
  if (value == "null") return std::string();
  if (value.size() > kLongestVector) return std::nullopt;
  std::string array(value);
  if (is_string(value)) array = fmt::format("[{}]", json_unescaped(without_quotes(value)));
  std::string numbers;
  JsonCursor json(array);
  JsonElements elements(json);
  while (elements.next()) {
    skip_space(json);
    const auto number = take_value(json);
    if (!number || !starts_number(*number)) return std::nullopt;
    if (!numbers.empty()) numbers += ',';
    numbers += *number;
  }
  skip_space(json);
  if (!elements.complete() || !json.done()) return std::nullopt;
  return numbers;
}

}  // namespace karmad
