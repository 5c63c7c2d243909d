#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/core/query.hpp"
#include "config/load.hpp"

namespace karmad {

/// Why a request for a route of a table must not be passed on with its path: for a server it could
/// lead out of the route, or servers could read it differently. Empty if the path is safe.
/// Refused are segments `.` and `..`, also encoded or with parameters (`..;x`), empty segments,
/// slashes and backslashes that are encoded, any backslash, control characters, bytes that are
/// not valid in UTF-8, invalid escapes, and any of these encoded twice.
std::string_view trouble_with_path(std::string_view path);

/// Answers any request: endpoints about karmad itself (the table is in endpoints.cpp), endpoints of
/// dialects, and routes of tables.
Task<Answer> answer(Query& query, Scatter scatter);

/// Whether a request needs a ticket, and which one: the endpoint decides (AC-062); for statements
/// and for routes the dialect does. Answers about karmad itself need none.
TicketClass ticket_class_of(Query& query);
/// The same from the path alone; none if the rest of the request decides.
std::optional<TicketClass> ticket_class_of(const Topology& topology, std::string_view path);

/// The table whose agents get requests for that path as they are; null: karmad or a dialect answers
/// it.
const Table* table_passed_to(const Topology& topology, std::string_view path);

/// The answer to a request whose path alone says that nothing answers it; counted as refused.
std::optional<Answer> refuse_path(Worker& worker, const Topology& topology, std::string_view path);

/// Checks what only the floors below know (Topology::judge), and that no route is a path that
/// karmad answers itself.
Judge judge_with(Dialects known);
/// The same with the built-in dialects.
void judge(const Settings& settings, Problems& problems, Problems& notices);

/// True for a path that karmad or one of these dialects always answers: such a path cannot be a
/// route. `/` is not one of them, as a route may have it, nor are shared paths of a dialect.
bool is_own_path(std::string_view path, Dialects known = dialects());

/// The paths of all endpoints about karmad itself; `/{id}` at the end: any id follows.
std::vector<std::string> own_paths();

/// True for a path whose answer is about karmad itself; it is given at any rate of requests. `/` is
/// not one of them, as it may be a route.
bool is_about_karmad(std::string_view path);

}  // namespace karmad
