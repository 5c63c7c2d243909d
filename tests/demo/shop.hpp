#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>
#include <vector>

#include "demo/engine/engine.hpp"

namespace karmad::demo {

/// One agent with the whole catalogue, and part 0 and 1 of 2.
const Engine& whole_shop();
const Engine& half_shop(std::size_t number);

HttpAnswer get(const Engine& engine, std::string path, std::string query = {});
HttpAnswer post(const Engine& engine, std::string path, std::string body, std::string query = {});
HttpAnswer ask(const Engine& engine, std::string body);

/// The answer's JSON; a test failure when it is none.
rapidjson::Document json_of(const HttpAnswer& answer);

/// One hit of an answer.
struct HitRow {
  std::uint64_t id = 0;
  std::int64_t score = 0;
  std::string source;  ///< as JSON
  bool operator==(const HitRow&) const = default;
};
std::vector<HitRow> hits_of(const HttpAnswer& answer);
std::vector<std::uint64_t> ids_of(const HttpAnswer& answer);
std::uint64_t total_of(const HttpAnswer& answer);

/// The JSON text of `aggregations.name`.
std::string aggregation_of(const HttpAnswer& answer, std::string_view name);

/// A `/search` body over all documents with one aggregation named "a".
std::string with_aggregation(std::string_view aggregation, std::string_view query = {});

}  // namespace karmad::demo
