#pragma once

#include <string>

#include "tests/endtoend/differential/generated_statements.hpp"
#include "tests/support/http_client.hpp"

namespace karmad::test {

/// The request of a statement on the table `table`.
std::string path_of(const GeneratedStatement& statement);
std::string body_of(const GeneratedStatement& statement, std::string_view table);

/// What differs between the answer of one table that holds everything and the merged answer of
/// shards; empty: nothing. Not compared: times; the order of GROUP_CONCAT; lines of SHOW META about
/// single shards; the number of groups found, of which shards count some twice; of SHOW TABLE
/// STATUS what does not add up; the case of letters in groups; quotes around numbers of JSON
/// columns in hits; the text of an error, whose status is the same, or 400, 404, 500 or 501.
std::string statement_difference(const GeneratedStatement& statement, const Response& whole,
                                 const Response& merged);

}  // namespace karmad::test
