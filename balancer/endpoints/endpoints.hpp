#pragma once

#include "balancer/core/query.hpp"

namespace karmad {

/// Answers any request: our own endpoints, searches, SQL, and what goes through to opaque servers.
/// The table of endpoints stands in endpoints.cpp.
Task<Answer> answer(Query& query, Scatter scatter);

/// Whether a request needs a ticket, and which: the endpoint says so (AC-062), for SQL the
/// statement, for a table of dialect `http` the method. What tells about karmad itself needs none.
enum class Subject : std::uint8_t { exempt, search, update };
Subject subject_of(const Query& query);
/// What the path tells of it without the rest of the request; none where that decides.
std::optional<Subject> subject_of(std::string_view path);

/// What only the floors below can judge (Topology::judge), and that no route is a path of ours.
void judge(const Settings& settings, Problems& problems, Problems& notices);

/// True for a path that karmad answers or understands itself: a route of that name is never asked.
/// `/` is not among them; it gives way to a route.
bool is_own_path(std::string_view path);

/// True for a path whose answer tells of karmad itself; at any rate of requests it is given. `/` is
/// not among them, as it may be a route.
bool answers_itself(std::string_view path);

}  // namespace karmad
