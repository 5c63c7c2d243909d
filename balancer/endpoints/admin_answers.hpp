#pragma once

#include <array>
#include <string_view>

#include "balancer/core/query.hpp"

namespace karmad {

/// The paths of admin calls, for the description of the API.
inline constexpr std::array<std::string_view, 3> kAdminPaths{"/admin/config", "/admin/{call}",
                                                             "/reload"};

/// Whether the request is an admin call: at one of these paths, which on the query port routes of
/// tables take precedence over.
bool is_admin_call(const Query& query);

/// Does the call, or refuses it: 401 without the token, 403 on the query port (unless
/// `admin_on_query_port`) and for web pages without a token, 400, 404, 405 and 409 for mistakes.
Task<Answer> answer_admin_call(Query& query);

}  // namespace karmad
