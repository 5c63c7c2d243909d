#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strategies/candidates.hpp"
#include "strategies/read_preference.hpp"
#include "tests/conformance/json_files.hpp"

namespace karmad::conformance {

/// The set of mirrors a `topology_description` talks of, as the master would picture it.
struct DescribedSet {
  SetDescription picture;
  std::vector<std::string> addresses;  ///< in the order of the picture's mirrors

  /// The position of the mirror with that address; the number of mirrors when there is none.
  std::size_t position(const std::string& address) const;
  /// The mirrors named in a list of servers; the other fields of its objects do not count.
  Candidates named(const std::vector<const Json*>& servers) const;
};

/// Throws on a server or topology type it does not know.
DescribedSet described(const Json& topology_description, Micros ping_interval);

ReadPreference preference(const Json& read_preference);

/// Milliseconds as in the files.
Micros micros(double milliseconds);

}  // namespace karmad::conformance
