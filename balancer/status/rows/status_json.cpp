#include "balancer/status/rows/status_json.hpp"

#include <set>

#include "agent/json/json_text.hpp"
#include "balancer/status/document.hpp"
#include "balancer/status/rows/agent_status.hpp"

namespace karmad {

void append_status_json(std::string& out, const Snapshot& snapshot) {
  Document document(out);
  document.object([&] {
    std::set<std::string> seen;
    status_rows(snapshot, [&](std::string key, const std::string& value, bool is_number) {
      const auto [name, is_new] = seen.insert(clean_utf8(key));  // tables may have any name
      if (!is_new) return;
      if (is_number) {
        document.raw(*name, value);
      } else {
        document.text(*name, value);
      }
    });
  });
}

}  // namespace karmad
