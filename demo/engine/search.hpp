#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "demo/data/index.hpp"
#include "demo/language/request.hpp"

namespace karmad {

/// The answer to a `POST /search` that came at `start`.
std::string answer_search(const Index& index, const SearchRequest& request,
                          std::chrono::steady_clock::time_point start);

/// Whether an answer shows the column `name`.
bool shows(const Source& source, std::string_view name);

}  // namespace karmad
