#include "agent/health/state_error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "agent/json/json_tree.hpp"

namespace karmad {

namespace {

using Json = rapidjson::Value;
using What = UseError::What;

struct Meaning {
  What what;
  std::string_view type;
  std::string_view words;
  std::array<std::int64_t, 3> codes;
};
constexpr Meaning kMeanings[] = {
    {What::not_primary, "not_primary", "says that it is not the primary", {10107, 13435, 10058}},
    {What::recovering, "recovering", "says that it is recovering", {11602, 13436, 189}},
    {What::shutting_down, "shutting_down", "says that it is shutting down", {11600, 91, 91}}};

/// By its code, if it has one: that decides, also an unknown one. Null: another error.
const Meaning* meaning_of(bool coded, std::int64_t code, std::string_view type) {
  for (const auto& each : kMeanings)
    if (coded ? std::ranges::find(each.codes, code) != each.codes.end() : each.type == type)
      return &each;
  return nullptr;
}

/// Whether that error means that the request was refused before any work.
bool is_refusal(What what, std::int64_t code) {
  constexpr std::int64_t not_primary_or_secondary = 13436;
  return what == What::not_primary || code == not_primary_or_secondary;
}

std::optional<VersionMark> version_in(const Json* object) {
  const auto* version = member_of(object, "version");
  const auto* process_id = member_of(version, "process_id");
  const auto* counter = member_of(version, "counter");
  if (process_id == nullptr || !process_id->IsString()) return std::nullopt;
  if (counter == nullptr || !counter->IsInt64()) return std::nullopt;
  return VersionMark{std::string(text_of(*process_id)), counter->GetInt64()};
}

/// The error in one object, without its nested objects.
std::optional<UseError> said_by(const Json* object) {
  const auto* code = member_of(object, "code");
  const bool coded = code != nullptr && code->IsNumber();
  const auto number = coded && code->IsInt64() ? code->GetInt64() : 0;
  const auto* const meaning = meaning_of(coded, number, text_of(member_of(object, "type")));
  if (meaning == nullptr) return std::nullopt;
  return UseError{
      .what = meaning->what,
      .version = version_in(object),
      .why = fmt::format("{}{}", meaning->words, coded ? fmt::format(" (code {})", number) : ""),
      .nothing_done = is_refusal(meaning->what, number)};
}

/// Whether the answer lists or counts results of parts of an update.
bool tells_of_effects(const Json* object) {
  for (const auto* list :
       {"items", "writeErrors", "writeConcernError", "writeConcernErrors", "upserted"}) {
    const auto* value = member_of(object, list);
    if (value == nullptr) continue;
    if ((value->IsArray() && !value->Empty()) || (value->IsObject() && !value->ObjectEmpty()))
      return true;
  }
  for (const auto* count : {"n", "nInserted", "nUpserted", "nMatched", "nModified", "nRemoved",
                            "created", "updated", "deleted", "inserted", "replaced"}) {
    const auto* value = member_of(object, count);
    if (value == nullptr) continue;
    if (value->IsTrue() || (value->IsNumber() && value->GetDouble() != 0)) return true;
  }
  return false;
}

}  // namespace

std::optional<UseError> state_error(const ErrorBody& body, bool refused_as_replica) {
  const Json* top = body.object();
  std::optional<UseError> error;
  for (const auto* object : {top, member_of(top, "error"), member_of(top, "writeConcernError")})
    if (!error) error = said_by(object);
  if (!error && refused_as_replica)
    error = UseError{.what = What::not_primary,
                     .why = fmt::format("{} (403/3)", kMeanings[0].words),
                     .nothing_done = true};
  if (!error) return std::nullopt;
  if (!error->version) error->version = version_in(top);
  if (tells_of_effects(top) || tells_of_effects(member_of(top, "error")))
    error->nothing_done = false;
  return error;
}

}  // namespace karmad
