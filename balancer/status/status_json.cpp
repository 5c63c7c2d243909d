#include "balancer/status/status_json.hpp"

#include <algorithm>
#include <set>

#include "balancer/status/agent_status.hpp"
#include "balancer/status/document.hpp"
#include "balancer/status/statements.hpp"

namespace karmad {
namespace {

/// Whether JSON reads the text as a number, the way it is written.
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto is_digits = [](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto dot = std::min(text.find('.'), text.size());
  const auto whole = text.substr(0, dot);
  if (!is_digits(whole) || (whole.size() > 1 && whole.front() == '0')) return false;
  return dot == text.size() || is_digits(text.substr(dot + 1));
}

}  // namespace

void append_status_json(std::string& out, const Snapshot& snapshot) {
  const auto rows = answer({.show = Show::status}, snapshot);
  Document document(out);
  document.object([&] {
    std::set<std::string> seen;
    for (const auto& row : rows->rows) {
      const auto name = clean_utf8(row[0]);  // tables may be called anything
      if (!seen.insert(name).second) continue;
      if (is_number(row[1])) {
        document.raw(name, row[1]);
      } else {
        document.text(name, row[1]);
      }
    }
  });
}

}  // namespace karmad
