#include "agent/dialect/kinds/manticore.hpp"

#include <array>

#include "agent/dialect/fronts/elastic/multi_search.hpp"
#include "agent/dialect/kinds/manticore_elastic.hpp"
#include "agent/dialect/kinds/manticore_json.hpp"
#include "agent/dialect/kinds/manticore_sql.hpp"
#include "agent/dialect/kinds/manticore_update.hpp"
#include "agent/dialect/kinds/percolate.hpp"

namespace karmad {

namespace {

constexpr DialectEndpoint search(std::string_view path) {
  return {path, "POST", TicketClass::search, make_manticore_json};
}

constexpr DialectEndpoint sql(std::string_view path, Statements statements) {
  return {path, "GET, POST", TicketClass::search, make_manticore_sql, statements};
}

constexpr DialectEndpoint update(std::string_view path) {
  return {path, "POST", TicketClass::update, make_manticore_update};
}

constexpr DialectEndpoint percolate(std::string_view path) {
  return {path, "GET, POST", TicketClass::search, make_percolate_search};
}

constexpr DialectEndpoint stored_query(std::string_view path) {
  return {path, "POST, PUT", TicketClass::update, make_stored_query};
}

constexpr DialectEndpoint elastic(std::string_view path, std::string_view methods,
                                  TicketClass ticket_class = TicketClass::update) {
  return {path, methods, ticket_class, make_manticore_elastic};
}

constexpr DialectEndpoint multi_search(std::string_view path) {
  return {.path = path,
          .methods = "GET, POST",
          .make = make_manticore_elastic,
          .several = {read_multi_search, append_responses}};
}

constexpr std::array kEndpoints{
    search("/search"),
    search("/json/search"),
    DialectEndpoint{"/autocomplete", "POST", TicketClass::search, make_manticore_autocomplete},
    sql("/sql", Statements::as_json),
    sql("/cli_json", Statements::as_json),
    sql("/cli", Statements::as_text),
    update("/insert"),
    update("/replace"),
    update("/update"),
    update("/delete"),
    update("/bulk"),
    update("/json/insert"),
    update("/json/replace"),
    update("/json/update"),
    update("/json/delete"),
    update("/json/bulk"),
    percolate("/pq/{table}/search"),
    percolate("/pq/{table}/_search"),
    percolate("/json/pq/{table}/search"),
    percolate("/json/pq/{table}/_search"),
    stored_query("/pq/{table}/doc"),
    stored_query("/pq/{table}/doc/"),
    stored_query("/pq/{table}/doc/{id}"),
    stored_query("/json/pq/{table}/doc"),
    stored_query("/json/pq/{table}/doc/"),
    stored_query("/json/pq/{table}/doc/{id}"),
    elastic("/_search", "GET, POST", TicketClass::search),
    elastic("/_count", "GET, POST", TicketClass::search),
    elastic("/{table}/_search", "GET, POST", TicketClass::search),
    elastic("/{table}/_count", "GET, POST", TicketClass::search),
    multi_search("/_msearch"),
    multi_search("/{table}/_msearch"),
    elastic("/_bulk", "POST, PUT"),
    elastic("/{table}/_bulk", "POST, PUT"),
    elastic("/{table}/_update/{id}", "POST"),
    elastic("/{table}/_doc", "POST"),
    elastic("/{table}/_doc/{id}", "PUT, POST, DELETE"),
    elastic("/{table}/_create/{id}", "PUT, POST"),
};

}  // namespace

constexpr DialectKind kManticore{.name = "manticore", .capabilities = {}, .endpoints = kEndpoints};

std::unique_ptr<Dialect> make_manticore_json(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings);
}

std::unique_ptr<Dialect> make_manticore_update(const DialectSettings& settings) {
  return std::make_unique<ManticoreUpdate>(settings);
}

std::unique_ptr<Dialect> make_manticore_autocomplete(const DialectSettings& settings) {
  return std::make_unique<ManticoreAutocomplete>(settings);
}

std::unique_ptr<Dialect> make_percolate_search(const DialectSettings& settings) {
  return std::make_unique<PercolateSearch>(settings);
}

std::unique_ptr<Dialect> make_stored_query(const DialectSettings& settings) {
  return std::make_unique<StoredQuery>(settings);
}

std::unique_ptr<Dialect> make_manticore_elastic(const DialectSettings& settings) {
  return std::make_unique<ManticoreElastic>(settings);
}

std::unique_ptr<Dialect> make_manticore_sql(const DialectSettings& settings) {
  return std::make_unique<ManticoreSql>(settings);
}

}  // namespace karmad
