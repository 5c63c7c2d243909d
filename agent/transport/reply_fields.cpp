#include "agent/transport/exchange.hpp"

#include <cassert>

#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

ReplyFields::ReplyFields(const Head& head, std::string_view bytes) : facts_(head) {
  assert(head.size <= kReplyHead);
  const auto place_of = [bytes](std::string_view part) {
    if (part.empty()) return Place{0, 0};
    return Place{static_cast<std::uint16_t>(part.data() - bytes.data()),
                 static_cast<std::uint16_t>(part.size())};
  };
  for (std::size_t i = 0; i < head.field_count; ++i)
    places_[i] = {place_of(head.fields[i].name), place_of(head.fields[i].value)};
}

std::string_view ReplyFields::find(std::string_view name, std::string_view bytes) const {
  if (!facts_.names.may_have(name)) return {};
  for (std::size_t i = 0; i < facts_.field_count; ++i) {
    const auto& [of_name, of_value] = places_[i];
    if (wire::same_word(bytes.substr(of_name.begin, of_name.size), name))
      return bytes.substr(of_value.begin, of_value.size);
  }
  return {};
}

void ReplyFields::restore(Head& head, std::string_view bytes) const {
  static_cast<HeadFacts&>(head) = facts_;
  for (std::size_t i = 0; i < facts_.field_count; ++i) {
    const auto& [name, value] = places_[i];
    head.fields[i] = {bytes.substr(name.begin, name.size), bytes.substr(value.begin, value.size)};
  }
}

}  // namespace karmad
