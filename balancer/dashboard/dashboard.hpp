#pragma once

#include <span>
#include <string_view>

#include "agent/transport/http/http_head.hpp"

namespace karmad {

/// The page of the dashboard, which needs no other file. It lives as long as the program.
struct DashboardPage {
  std::string_view plain;
  std::string_view packed;               ///< the same as gzip (RFC 1952)
  std::span<const Field> fields;         ///< header fields besides those of any body
  std::span<const Field> packed_fields;  ///< the same for the gzip form
};

DashboardPage dashboard_page();

}  // namespace karmad
