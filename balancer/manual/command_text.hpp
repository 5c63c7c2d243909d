#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace karmad {

/// An option or a positional argument of a command, as `--help` shows it.
struct OptionText {
  std::vector<std::string> names;  ///< with their dashes, the short ones first; empty: positional
  std::string value;               ///< name of its value, such as FILE; empty: it is a flag
  std::string meaning;
  bool repeats = false;  ///< may be given more than once

  bool takes_file() const { return value == "FILE"; }
};

/// A command of the program, or the program itself. The manual page and the completions are written
/// from it, so that they have every option that the command line has.
struct CommandText {
  std::string name;  ///< one word
  std::string description;
  std::string footer;
  std::vector<OptionText> options;
  std::vector<OptionText> positionals;
  std::vector<CommandText> commands;
};

/// Everything that `--help` of this command and of those below it shows; hidden options (without a
/// group) are left out.
CommandText command_text(const CLI::App& app, std::string_view name);

}  // namespace karmad
