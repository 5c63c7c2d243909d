#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace karmad {

/// A file of the project; `path` counts from its folder.
inline std::string project_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(KARMAD_SOURCE_DIR "/" + path).rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

/// The blocks between lines of three backticks; those that name a language are left out.
inline std::vector<std::string> plain_blocks(const std::string& text) {
  std::vector<std::string> blocks;
  std::istringstream lines_of(text);
  bool inside = false;
  bool plain = false;
  for (std::string line; std::getline(lines_of, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      plain = line == "```";
      if (inside && plain) blocks.emplace_back();
    } else if (inside && plain) {
      blocks.back() += line + '\n';
    }
  }
  return blocks;
}

}  // namespace karmad
