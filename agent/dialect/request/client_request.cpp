#include "agent/dialect/request/client_request.hpp"

#include "agent/transport/http/url_encoding.hpp"

namespace karmad {

void append_path(std::string& out, const ClientRequest& request,
                 std::span<const std::string> tables) {
  if (tables.empty() || request.path_table.empty()) {
    out.append(request.path);
    return;
  }
  const auto begin = static_cast<std::size_t>(request.path_table_raw.data() - request.path.data());
  out.append(request.path.substr(0, begin));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_url_encoded(out, tables[i]);
  }
  out.append(request.path.substr(begin + request.path_table_raw.size()));
}

}  // namespace karmad
