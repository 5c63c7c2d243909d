#include "agent/dialect/kinds/dialects.hpp"

#include "agent/dialect/fronts/elastic/translate.hpp"

namespace karmad {

namespace {

using enum TicketClass;

constexpr SeveralRequests kSearches{read_multi_search, append_responses};

constexpr DialectEndpoint kEndpoints[] = {
    {"/search", "POST", search, make_manticore_json},
    {"/json/search", "POST", search, make_manticore_json},
    {"/autocomplete", "POST", search, make_manticore_autocomplete},
    {"/sql", "GET, POST", search, make_manticore_sql, Statements::as_json},
    {"/cli_json", "GET, POST", search, make_manticore_sql, Statements::as_json},
    {"/cli", "GET, POST", search, make_manticore_sql, Statements::as_text},
    {"/insert", "POST", update, make_manticore_update},
    {"/replace", "POST", update, make_manticore_update},
    {"/update", "POST", update, make_manticore_update},
    {"/delete", "POST", update, make_manticore_update},
    {"/bulk", "POST", update, make_manticore_update},
    {"/json/insert", "POST", update, make_manticore_update},
    {"/json/replace", "POST", update, make_manticore_update},
    {"/json/update", "POST", update, make_manticore_update},
    {"/json/delete", "POST", update, make_manticore_update},
    {"/json/bulk", "POST", update, make_manticore_update},
    {"/pq/{table}/search", "GET, POST", search, make_percolate_search},
    {"/pq/{table}/_search", "GET, POST", search, make_percolate_search},
    {"/json/pq/{table}/search", "GET, POST", search, make_percolate_search},
    {"/json/pq/{table}/_search", "GET, POST", search, make_percolate_search},
    {"/pq/{table}/doc", "POST, PUT", update, make_stored_query},
    {"/pq/{table}/doc/", "POST, PUT", update, make_stored_query},
    {"/pq/{table}/doc/{id}", "POST, PUT", update, make_stored_query},
    {"/json/pq/{table}/doc", "POST, PUT", update, make_stored_query},
    {"/json/pq/{table}/doc/", "POST, PUT", update, make_stored_query},
    {"/json/pq/{table}/doc/{id}", "POST, PUT", update, make_stored_query},
    {"/_search", "GET, POST", search, make_manticore_elastic},
    {"/_count", "GET, POST", search, make_manticore_elastic},
    {"/{table}/_search", "GET, POST", search, make_manticore_elastic},
    {"/{table}/_count", "GET, POST", search, make_manticore_elastic},
    {"/_msearch", "GET, POST", search, make_manticore_elastic, Statements::none, kSearches},
    {"/{table}/_msearch", "GET, POST", search, make_manticore_elastic, Statements::none, kSearches},
    {"/_bulk", "POST, PUT", update, make_manticore_elastic},
    {"/{table}/_bulk", "POST, PUT", update, make_manticore_elastic},
    {"/{table}/_update/{id}", "POST", update, make_manticore_elastic},
    {"/{table}/_doc", "POST", update, make_manticore_elastic},
    {"/{table}/_doc/{id}", "PUT, POST, DELETE", update, make_manticore_elastic},
    {"/{table}/_create/{id}", "PUT, POST", update, make_manticore_elastic},
};

}  // namespace

constexpr DialectKind kManticore{.name = "manticore", .capabilities = {}, .endpoints = kEndpoints};

}  // namespace karmad
