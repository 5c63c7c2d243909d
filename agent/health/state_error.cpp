#include "agent/health/state_error.hpp"

#include <fmt/format.h>

#include "agent/json/json_tree.hpp"

namespace karmad {

namespace {

using Json = rapidjson::Value;
using What = UseError::What;

std::optional<What> meant_by(std::int64_t code) {
  switch (code) {
    case 10107:
    case 13435:
    case 10058:
      return What::not_primary;
    case 11602:
    case 13436:
    case 189:
      return What::recovering;
    case 11600:
    case 91:
      return What::shutting_down;
    default:
      return std::nullopt;
  }
}

std::optional<What> meant_by(std::string_view type) {
  if (type == "not_primary") return What::not_primary;
  if (type == "recovering") return What::recovering;
  if (type == "shutting_down") return What::shutting_down;
  return std::nullopt;
}

/// Whether that error means that the request was refused before any work.
bool is_refusal(What what, std::int64_t code) {
  constexpr std::int64_t not_primary_or_secondary = 13436;
  return what == What::not_primary || code == not_primary_or_secondary;
}

std::string_view words(What what) {
  if (what == What::not_primary) return "says that it is not the primary";
  if (what == What::recovering) return "says that it is recovering";
  return "says that it is shutting down";
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
  const bool coded = code != nullptr && code->IsNumber();  // it decides, also an unknown one
  const auto number = coded && code->IsInt64() ? code->GetInt64() : 0;
  const auto what = coded ? meant_by(number) : meant_by(text_of(member_of(object, "type")));
  if (!what) return std::nullopt;
  return UseError{
      .what = *what,
      .version = version_in(object),
      .why = fmt::format("{}{}", words(*what), coded ? fmt::format(" (code {})", number) : ""),
      .nothing_done = is_refusal(*what, number)};
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
                     .why = fmt::format("{} (403/3)", words(What::not_primary)),
                     .nothing_done = true};
  if (!error) return std::nullopt;
  if (!error->version) error->version = version_in(top);
  if (tells_of_effects(top) || tells_of_effects(member_of(top, "error")))
    error->nothing_done = false;
  return error;
}

}  // namespace karmad
