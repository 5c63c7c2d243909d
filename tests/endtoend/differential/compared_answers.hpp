#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/endtoend/differential/generated_searches.hpp"
#include "tests/support/http_client.hpp"

namespace karmad::test {

/// The differences that docs/merging.md allows ("What may differ from one table"), each with its
/// number of cases.
class AllowedDifferences {
 public:
  enum class Rule {
    floats_alike,   ///< hits changed places whose real number prints alike
    float_sums,     ///< sums of 32-bit floats
    wide_sums,      ///< sums beyond 64 bits, which one server wraps around
    averages,       ///< the last digits
    over_request,   ///< terms of more groups than a shard is asked for
    own_order,      ///< of composites without `sort`
    tied_groups,    ///< groups changed places that tie in the order asked for
    not_merged,     ///< refused on several shards
    told_by_shard,  ///< the text of a mistake names the shard
  };
  void count(Rule rule) { ++counts_[rule]; }
  /// One line each, for the test's output.
  std::string told() const;

 private:
  std::map<Rule, int> counts_;
};

/// Compares the answer of one table that holds everything with the merged answer of shards. Counts
/// differences that the rules allow; returns a text about any other one, empty if there is none.
std::string difference(const GeneratedSearch& search, const Response& whole, const Response& merged,
                       AllowedDifferences& allowed);

/// The same for a search that the search server refuses, or that only a merge refuses.
std::string mistake_difference(const Response& whole, const Response& merged,
                               AllowedDifferences& allowed);
std::string refusal_difference(const Response& merged, AllowedDifferences& allowed);

/// Every group of a composite aggregation, as JSON, and how it was paged.
struct PagedGroups {
  std::map<std::string, std::string> counts;  ///< by the bucket's key
  std::string in_order;                       ///< the keys as they came, without case
  std::size_t pages = 0;                      ///< with the last, empty one
  std::string spelled;                        ///< the keys as they came
  std::string trouble;                        ///< a page that is none, a group twice, no end
};

/// Pages through it by the answers to the bodies of its searches; status 0: there is none.
PagedGroups page_through(const std::function<Response(const std::string& body)>& answer_to,
                         const GeneratedSearch& search, std::string_view table);

std::string groups_difference(const GeneratedSearch& search, const PagedGroups& whole,
                              const PagedGroups& merged, AllowedDifferences& allowed);

}  // namespace karmad::test
