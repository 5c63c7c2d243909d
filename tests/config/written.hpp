#pragma once

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

using Files = std::map<std::string, std::string>;
using Variables = std::map<std::string, std::string>;

/// A world that consists of these files and variables only.
inline Environment world(Files files, Variables variables = {}) {
  return {.read_file = [files](const std::string& path, std::size_t at_most,
                               FileKind) -> std::expected<std::string, std::string> {
            const auto file = files.find(path);
            if (file == files.end()) return std::unexpected("No such file or directory");
            if (file->second.size() > at_most) return std::unexpected("it is too large");
            return file->second;
          },
          .glob =
              [files](const std::string& pattern) {
                std::vector<std::string> found;  // backwards, as nothing promises an order
                for (auto file = files.rbegin(); file != files.rend(); ++file)
                  if (fnmatch(pattern.c_str(), file->first.c_str(), FNM_PATHNAME) == 0)
                    found.push_back(file->first);
                return found;
              },
          .variable = [variables](const std::string& name) -> std::optional<std::string> {
            const auto variable = variables.find(name);
            if (variable == variables.end()) return std::nullopt;
            return variable->second;
          }};
}

/// Loads `text` as the file c.
inline Loaded load_text(std::string text, Variables variables = {}) {
  return load("c", world({{"c", std::move(text)}}, std::move(variables)));
}

/// The settings that `text` gives without a problem.
inline Settings settings_of(const std::string& text) {
  auto loaded = load_text(text);
  for (const auto& problem : loaded.problems) ADD_FAILURE() << karmad::text(problem);
  return loaded.settings.value_or(Settings{});
}

using Lines = std::vector<std::string>;

inline Lines lines(const Problems& problems) {
  Lines out;
  for (const auto& problem : problems) out.push_back(text(problem));
  return out;
}

/// What is wrong with `text`, as it is printed.
inline Lines problems_of(std::string text, Variables variables = {}) {
  return lines(load_text(std::move(text), std::move(variables)).problems);
}

inline Lines notices_of(std::string text) {
  const auto loaded = load_text(std::move(text));
  return loaded.settings ? lines(loaded.settings->notices) : Lines{"does not load"};
}

inline bool mentions(const Lines& lines, std::string_view part) {
  for (const auto& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

/// A table `t` with these lines in its body, the first in line 3.
inline std::string table(std::string_view body) {
  return "table t {\n type = distributed\n" + std::string(body) + "\n}\n";
}

/// `text` as if it began in line 1, column 1 of the file c.
inline SourceText source(std::string_view text) {
  SourceText out("c");
  unsigned column = 0;
  for (const char c : text) out.add(c, 1, ++column);
  return out;
}

}  // namespace karmad
