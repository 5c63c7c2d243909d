#pragma once

#include <string>
#include <vector>

namespace karmad {

/// The answer to a statement: every row has one text per column.
struct ResultSet {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  bool operator==(const ResultSet&) const = default;
};

}  // namespace karmad
