#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings/settings.hpp"
#include "config/text/environment.hpp"
#include "config/text/parse.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

/// True for keys that add to a list; of other known keys the first value counts.
bool repeats(SectionKind kind, std::string_view key);

/// The settings of a tree; bounds are not checked yet. Unknown keys, invalid values and settings
/// that must not be ignored are problems; settings that karmad does not use are notices. After a
/// problem the settings contain what was probably meant, so that they can be checked further.
/// `repeated` gets the settings of further sections searchd, which were reported.
Settings read(const Tree& tree, Problems& problems, std::vector<InstanceSettings>& repeated);

/// Either settings, or the problems of the file.
struct Loaded {
  std::optional<Settings> settings;
  Problems problems;
};

/// Checks what only later libraries can judge: strategies, roles, read preferences. Is also called
/// for settings with other problems: unreadable values then have their defaults, and values may be
/// out of bounds.
using Judge = std::function<void(const Settings&, Problems& problems, Problems& notices)>;

/// Reads and checks a configuration with all included files. Finds all problems in one run,
/// including those of `judge`: at most a hundred, each once, in order of files and lines. Never
/// throws for any content. `kind`: of `path`, which may be a pipe at the start; included files must
/// be regular files.
Loaded load(const std::string& path, const Environment& environment = real_environment(),
            FileKind kind = FileKind::any, const Judge& judge = {});

/// Reads `[host:]port[:protocol]` or `/path[:protocol]`. Lines without a protocol, with `http`,
/// with `mysql` or `mysql41` (also with `_readonly`) or with `admin` (by default on the loopback
/// address) are used; the search server's other protocols give a notice. Options follow the
/// protocol: `http,proxy,no-auth,users=FILE,tokens=FILE`.
std::optional<Listen> parse_listen(const SourceText& line, Problems& problems, Problems& notices);

}  // namespace karmad
