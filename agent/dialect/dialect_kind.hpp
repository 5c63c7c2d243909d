#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// The paths that belong to one table, and what becomes of them.
struct TableRoute {
  std::string table;
  std::string route;                ///< prefix of the paths it answers, `/x`; `/` is everything
  std::optional<std::string> path;  ///< what replaces the prefix; empty: it is kept
  std::vector<std::string> reads;   ///< as clients write them, without the query string
};

/// True when `path` is the prefix itself or below it.
bool route_covers(std::string_view route, std::string_view path);

/// What holds for the tables of a dialect and for their agents.
struct DialectCapabilities {
  /// The end-to-end header fields of a request go to the agents, and those of an answer to the
  /// client. Else agents get the fields that karmad writes itself.
  bool passes_fields = false;
  /// What its agents say in an error answer is known. Else a status has its plain HTTP meaning,
  /// texts are compared as they are, and an error answer goes to the client as it came.
  bool understands_errors = true;
  /// Nothing is merged: a table has one shard.
  bool one_shard = false;
  /// Mirrors that are alike hand an update on to each other: any of them takes it, also where the
  /// table does not say `updates = any`.
  bool updates_anywhere = false;
};

/// How the statements about karmad itself that come to an endpoint are answered.
enum class Statements : std::uint8_t {
  none,     ///< its requests are no statements
  as_json,  ///< with rows as JSON
  as_text,  ///< with a table as text
};

/// A path where a dialect is asked.
struct DialectEndpoint {
  std::string_view path;
  std::string_view methods;  ///< as the field Allow lists them: `GET, POST`
  /// An update goes to the primary and takes no read preference (SS-100, SS-103); a search takes
  /// one (SS-105). Of statements: the most they can be, Dialect::ticket_class() tells of each.
  TicketClass ticket_class = TicketClass::search;
  std::unique_ptr<Dialect> (*make)(const DialectSettings& settings) = nullptr;
  Statements statements = Statements::none;
};

/// A dialect as a value: all that the program knows of it. dialects.cpp lists those there are;
/// nothing outside its folder knows which one it deals with.
struct DialectKind {
  std::string_view name;  ///< as a table says it in `dialect`; no other has it
  DialectCapabilities capabilities;
  /// Where its tables are asked by their name. No other dialect has one of these paths.
  std::span<const DialectEndpoint> endpoints;
  /// Of the answers that are made here: merged ones and refusals.
  std::string_view content_type = "application/json; charset=UTF-8";
  /// What understands the requests below a table's route. Null: its tables have none.
  std::unique_ptr<Dialect> (*make_routed)(TableRoute route) = nullptr;

  bool is_routed() const { return make_routed != nullptr; }
  bool operator==(const DialectKind& other) const { return name == other.name; }
};

/// The dialects that a program knows, in the order in which messages name them.
using Dialects = std::span<const DialectKind* const>;

/// The dialect of that name; null: there is none.
const DialectKind* find_dialect(Dialects known, std::string_view name);

}  // namespace karmad
