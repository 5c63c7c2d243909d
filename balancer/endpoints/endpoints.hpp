#pragma once

#include <optional>
#include <string_view>

#include "balancer/core/query.hpp"
#include "config/load.hpp"

namespace karmad {

/// Answers any request: our own endpoints, those that dialects serve, and routes of tables. The
/// table of our own stands in endpoints.cpp.
Task<Answer> answer(Query& query, Scatter scatter);

/// Whether a request needs a ticket, and which: the endpoint says so (AC-062); of statements and of
/// what comes to a route, the dialect. What tells about karmad itself needs none.
TicketClass ticket_class_of(const Query& query);
/// What the path tells of it without the rest of the request; none where that decides.
std::optional<TicketClass> ticket_class_of(const Topology& topology, std::string_view path);

/// Judges what only the floors below know (Topology::judge), and that no route is a path of ours.
Judge judge_with(Dialects known);
/// The same with the dialects of karmad.
void judge(const Settings& settings, Problems& problems, Problems& notices);

/// True for a path that karmad answers itself, or one of these dialects: a route of that name is
/// never asked. `/` is not among them; it gives way to a route.
bool is_own_path(std::string_view path, Dialects known = dialects());

/// True for a path whose answer tells of karmad itself; at any rate of requests it is given. `/` is
/// not among them, as it may be a route.
bool answers_itself(std::string_view path);

}  // namespace karmad
