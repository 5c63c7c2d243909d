#include "balancer/manual/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "config/manual_page.hpp"
#include "config/text/paragraphs.hpp"
#include "config/text/source_text.hpp"

// The bytes of manual_page.roff and completion.bash.
// NOLINTBEGIN(readability-identifier-naming): symbols
extern "C" const char karmad_program_manual[];
extern "C" const char karmad_program_manual_end[];
extern "C" const char karmad_bash_completion[];
extern "C" const char karmad_bash_completion_end[];
// NOLINTEND(readability-identifier-naming)

namespace karmad {
namespace {

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

/// CLI11's words for types say nothing of the value.
std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};  // a flag
  const auto type = option.get_type_name();
  return type == "FILE" ? type : "VALUE";
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const auto& name : option.get_snames()) text.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) text.names.push_back("--" + name);
  text.value = option.get_positional() ? option.get_name(true) : value_name(option);
  text.meaning = option.get_description();
  text.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return text;
}

/// Everything that `--help` of this command and of those below it shows; hidden options (without a
/// group) are left out.
CommandText command_text(const CLI::App& app, std::string_view name) {
  CommandText text{
      .name = std::string(name), .description = app.get_description(), .footer = app.get_footer()};
  for (const auto* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? text.positionals : text.options).push_back(option_text(*option));
  }
  for (const auto* const command :
       app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    text.commands.push_back(command_text(*command, command->get_name()));
  return text;
}

constexpr std::string_view kGenerated = "generated from the command line of the program";

/// Calls `visit` for the program and for every command below it, with the words that lead there
/// without the name of the program, such as `top`.
void for_each_command(const CommandText& command, const std::string& path,
                      const std::function<void(const CommandText&, const std::string&)>& visit) {
  visit(command, path);
  for (const auto& each : command.commands)
    for_each_command(each, path.empty() ? each.name : path + ' ' + each.name, visit);
}

/// The first clause, short enough for a menu.
std::string short_meaning(const OptionText& option) {
  const auto end = option.meaning.find_first_of(";\n");
  return option.meaning.substr(0, end);
}

std::string menu_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// As a word of a shell, in quotes.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

/// `_karmad_ctl_drain` for `ctl drain`.
std::string function_name(const std::string& program, std::string path) {
  for (auto& c : path)
    if (c == ' ' || c == '-') c = '_';
  return '_' + program + (path.empty() ? "" : "_" + path);
}

/// For _arguments: brackets and colons have a meaning there.
std::string zsh_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionText& option) {
  std::string out;
  for (const auto& name : option.names) {
    const auto exclusion = option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    auto spec = fmt::format("{}{}[{}]", exclusion, name, zsh_escaped(short_meaning(option)));
    if (!option.value.empty())
      spec += fmt::format(":{}:{}", option.value, option.takes_file() ? "_files" : "");
    out += fmt::format(" \\\n    {}", shell_word(spec));
  }
  return out;
}

std::string zsh_function(const std::string& program, const CommandText& command,
                         const std::string& path) {
  auto out = fmt::format("{}() {{\n", function_name(program, path));
  std::string specs;
  for (const auto& option : command.options) specs += zsh_option(option);
  if (command.commands.empty()) {
    for (const auto& positional : command.positionals)
      specs += fmt::format(" \\\n    {}", shell_word("::" + zsh_escaped(positional.value) + ":"));
    return out + fmt::format("  _arguments -s{}\n}}\n", specs);
  }
  out += fmt::format(
      "  local context state state_descr line\n  typeset -A opt_args\n"
      "  _arguments -s -C{} \\\n    '1: :->command' '*:: :->rest'\n"
      "  case $state in\n    command)\n      local -a commands\n      commands=(\n",
      specs);
  for (const auto& each : command.commands)
    out += fmt::format("        {}\n",
                       shell_word(each.name + ':' + zsh_escaped(menu_line(each.description))));
  out += "      )\n      _describe command commands ;;\n    rest)\n      case $words[1] in\n";
  for (const auto& each : command.commands)
    out += fmt::format("        {}) {} ;;\n", each.name,
                       function_name(program, path.empty() ? each.name : path + ' ' + each.name));
  return out + "      esac ;;\n  esac\n}\n";
}

/// When a command of fish is the one that was typed: its words are there, and none of a command
/// below it.
std::string fish_condition(const CommandText& command, std::string_view path) {
  std::string out;
  while (!path.empty())
    out += fmt::format("{}__fish_seen_subcommand_from {}", out.empty() ? "" : "; and ",
                       take_until(path, ' '));
  std::string below;
  for (const auto& each : command.commands) below += ' ' + each.name;
  if (below.empty()) return out;
  return fmt::format("{}not __fish_seen_subcommand_from{}", out.empty() ? "" : out + "; and ",
                     below);
}

std::string fish_option(const std::string& program, const std::string& condition,
                        const OptionText& option) {
  auto out = fmt::format("complete -c {} -n {}", program, shell_word(condition));
  for (const auto& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) out += option.takes_file() ? " -r -F" : " -x";
  return out + fmt::format(" -d {}\n", shell_word(short_meaning(option)));
}

/// Completion of the program's commands, options and file names, as a file for the shell of that
/// name. Names of commands and options consist of letters, digits and `-`.
std::string bash_completion(const CommandText& program) {
  std::string commands;
  std::string values;
  std::string words;
  for_each_command(program, "", [&](const CommandText& command, const std::string& path) {
    auto& list = words;
    list += fmt::format("    {}) words=", shell_word(path));
    std::string known;
    for (const auto& each : command.commands) {
      known += (known.empty() ? "" : " ") + each.name;
      commands += fmt::format("      {}) command={} ;;\n", shell_word(path + ' ' + each.name),
                              shell_word(path.empty() ? each.name : path + ' ' + each.name));
    }
    for (const auto& option : command.options)
      for (const auto& name : option.names) {
        known += (known.empty() ? "" : " ") + name;
        if (!option.value.empty())
          values += fmt::format("    {}) {}return ;;\n", shell_word(path + ' ' + name),
                                option.takes_file() ? "_karmad_files; " : "");
      }
    list += fmt::format("{} ;;\n", shell_word(known));
  });
  return filled(karmad_bash_completion, karmad_bash_completion_end,
                {{"commands", commands}, {"values", values}, {"words", words}});
}

std::string zsh_completion(const CommandText& program) {
  auto out = fmt::format("#compdef {}\n# {}\n\n", program.name, kGenerated);
  for_each_command(program, "", [&](const CommandText& command, const std::string& path) {
    out += zsh_function(program.name, command, path);
  });
  return out + fmt::format("\n{} \"$@\"\n", function_name(program.name, ""));
}

std::string fish_completion(const CommandText& program) {
  auto out = fmt::format("# {}\ncomplete -c {} -f\n", kGenerated, program.name);
  for_each_command(program, "", [&](const CommandText& command, const std::string& path) {
    const auto condition = fish_condition(command, path);
    for (const auto& each : command.commands)
      out += fmt::format("complete -c {} -n {} -a {} -d {}\n", program.name, shell_word(condition),
                         each.name, shell_word(menu_line(each.description)));
    for (const auto& option : command.options) out += fish_option(program.name, condition, option);
  });
  return out;
}

/// Line breaks of help texts are for terminals of one width.
std::string as_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? ' ' : c;
  return roff(out);
}

std::string option_entry(const OptionText& option) {
  std::string head;
  for (const auto& name : option.names)
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(name));
  if (!option.value.empty())
    head += fmt::format("{}\\fI{}\\fR", head.empty() ? "" : " ", roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", head, as_one_line(option.meaning));
}

std::string option_entries(const CommandText& command) {
  std::string out;
  for (const auto& positional : command.positionals) out += option_entry(positional);
  for (const auto& option : command.options) out += option_entry(option);
  return out;
}

std::string verbatim_block(std::string_view text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff_verbatim(text));
}

std::string command_usage(const CommandText& command, std::string_view before) {
  auto out = fmt::format("\\fB{}{}\\fR [\\fIOPTION\\fR ...]", roff(before), roff(command.name));
  for (const auto& positional : command.positionals)
    out += fmt::format(" [\\fI{}\\fR]", roff(positional.value));
  if (!command.commands.empty()) out += " \\fICOMMAND\\fR";
  return out;
}

/// The command, then the commands below it.
std::string command_section(const CommandText& command, const std::string& before) {
  auto out = fmt::format(".SS {}\n{}\n{}{}", command_usage(command, before),
                         as_one_line(command.description), option_entries(command),
                         verbatim_block(command.footer));
  for (const auto& each : command.commands)
    out += command_section(each, before + command.name + ' ');
  return out;
}

/// The manual page karmad(8), in roff. The same text always gives the same bytes.
std::string program_manual_page(const CommandText& program) {
  std::string commands;
  for (const auto& command : program.commands)
    commands += command_section(command, program.name + ' ');
  return filled(karmad_program_manual, karmad_program_manual_end,
                {{"version", KARMAD_VERSION},
                 {"description", as_one_line(program.description)},
                 {"options", option_entries(program)},
                 {"commands", commands},
                 {"signals", verbatim_block(program.footer)}});
}

struct GeneratedFile {
  std::string_view name;
  std::string (*write)(const CommandText&);
};

constexpr std::array kGeneratedFiles{
    GeneratedFile{"karmad.8", program_manual_page},
    GeneratedFile{"karmad.conf.5", [](const CommandText&) { return configuration_manual_page(); }},
    GeneratedFile{"karmad.bash", bash_completion},
    GeneratedFile{"_karmad", zsh_completion},
    GeneratedFile{"karmad.fish", fish_completion},
};

}  // namespace

std::string generated_file_names() {
  std::string names;
  for (const auto& file : kGeneratedFiles)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", file.name);
  return names;
}

std::optional<std::string> generated_file(std::string_view name, const CLI::App& app) {
  const auto* const file = std::ranges::find(kGeneratedFiles, name, &GeneratedFile::name);
  if (file == kGeneratedFiles.end()) return std::nullopt;
  return file->write(command_text(app, "karmad"));
}

}  // namespace karmad
