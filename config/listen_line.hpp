#pragma once

#include <optional>

#include "config/settings/settings.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

/// Reads `[host:]port[:protocol]` or `/path[:protocol]`. Lines without a protocol, with `http`,
/// with `mysql` or `mysql41` (also with `_readonly`) or with `admin` (by default on the loopback
/// address) are used; the search server's other protocols give a notice. Options follow the
/// protocol: `http,proxy,no-auth,users=FILE,tokens=FILE`.
std::optional<Listen> parse_listen(const SourceText& line, Problems& problems, Problems& notices);

}  // namespace karmad
