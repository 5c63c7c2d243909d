#include "balancer/manual/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
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

/// Name of its value, such as FILE; empty: it is a flag. CLI11's words for types say nothing of the
/// value.
std::string value_name(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  if (option.get_items_expected_max() == 0) return {};  // a flag
  const auto type = option.get_type_name();
  return type == "FILE" ? type : "VALUE";
}

bool takes_file(const CLI::Option& option) {
  return value_name(option) == "FILE";
}

/// With their dashes, the short ones first; empty: positional.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

enum class OptionKind : bool { named, positional };

/// Those that `--help` shows; hidden options have no group.
std::vector<const CLI::Option*> options_of(const CLI::App& command,
                                           OptionKind kind = OptionKind::named) {
  return command.get_options([kind](const CLI::Option* each) {
    return !each->get_group().empty() && each->get_positional() == (kind == OptionKind::positional);
  });
}

/// Those that `--help` shows.
std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::string path_below(const std::string& path, const CLI::App& command) {
  return path.empty() ? command.get_name() : path + ' ' + command.get_name();
}

constexpr std::string_view kProgram = "karmad";
constexpr std::string_view kGenerated = "generated from the command line of the program";

/// Calls `visit` for the program and for every command below it, with the words that lead there
/// without the name of the program, such as `top`.
void for_each_command(const CLI::App& command, const std::string& path,
                      const std::function<void(const CLI::App&, const std::string&)>& visit) {
  visit(command, path);
  for (const auto* const each : commands_of(command))
    for_each_command(*each, path_below(path, *each), visit);
}

/// The first clause, short enough for a menu.
std::string short_meaning(const CLI::Option& option) {
  const auto meaning = option.get_description();
  return meaning.substr(0, meaning.find_first_of(";\n"));
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
std::string function_name(std::string path) {
  for (auto& c : path)
    if (c == ' ' || c == '-') c = '_';
  return fmt::format("_{}{}{}", kProgram, path.empty() ? "" : "_", path);
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

std::string zsh_option(const CLI::Option& option) {
  std::string out;
  const auto names = names_of(option);
  const auto value = value_name(option);
  const bool repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  for (const auto& name : names) {
    const auto exclusion = repeats ? "*" : fmt::format("({})", fmt::join(names, " "));
    auto spec = fmt::format("{}{}[{}]", exclusion, name, zsh_escaped(short_meaning(option)));
    if (!value.empty()) spec += fmt::format(":{}:{}", value, takes_file(option) ? "_files" : "");
    out += fmt::format(" \\\n    {}", shell_word(spec));
  }
  return out;
}

std::string zsh_function(const CLI::App& command, const std::string& path) {
  auto out = fmt::format("{}() {{\n", function_name(path));
  std::string specs;
  for (const auto* const option : options_of(command)) specs += zsh_option(*option);
  if (commands_of(command).empty()) {
    for (const auto* const each : options_of(command, OptionKind::positional))
      specs += fmt::format(" \\\n    {}", shell_word("::" + zsh_escaped(value_name(*each)) + ":"));
    return out + fmt::format("  _arguments -s{}\n}}\n", specs);
  }
  out += fmt::format(
      "  local context state state_descr line\n  typeset -A opt_args\n"
      "  _arguments -s -C{} \\\n    '1: :->command' '*:: :->rest'\n"
      "  case $state in\n    command)\n      local -a commands\n      commands=(\n",
      specs);
  for (const auto* const each : commands_of(command))
    out += fmt::format("        {}\n", shell_word(each->get_name() + ':' +
                                                  zsh_escaped(menu_line(each->get_description()))));
  out += "      )\n      _describe command commands ;;\n    rest)\n      case $words[1] in\n";
  for (const auto* const each : commands_of(command))
    out += fmt::format("        {}) {} ;;\n", each->get_name(),
                       function_name(path_below(path, *each)));
  return out + "      esac ;;\n  esac\n}\n";
}

/// When a command of fish is the one that was typed: its words are there, and none of a command
/// below it.
std::string fish_condition(const CLI::App& command, std::string_view path) {
  std::string out;
  while (!path.empty())
    out += fmt::format("{}__fish_seen_subcommand_from {}", out.empty() ? "" : "; and ",
                       take_until(path, ' '));
  std::string below;
  for (const auto* const each : commands_of(command)) below += ' ' + each->get_name();
  if (below.empty()) return out;
  return fmt::format("{}not __fish_seen_subcommand_from{}", out.empty() ? "" : out + "; and ",
                     below);
}

std::string fish_option(const std::string& condition, const CLI::Option& option) {
  auto out = fmt::format("complete -c {} -n {}", kProgram, shell_word(condition));
  for (const auto& name : names_of(option))
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!value_name(option).empty()) out += takes_file(option) ? " -r -F" : " -x";
  return out + fmt::format(" -d {}\n", shell_word(short_meaning(option)));
}

/// Completion of the program's commands, options and file names, as a file for the shell of that
/// name. Names of commands and options consist of letters, digits and `-`.
std::string bash_completion(const CLI::App& program) {
  std::string commands;
  std::string values;
  std::string words;
  for_each_command(program, "", [&](const CLI::App& command, const std::string& path) {
    std::vector<std::string> known;
    for (const auto* const each : commands_of(command)) {
      known.push_back(each->get_name());
      commands += fmt::format("      {}) command={} ;;\n", shell_word(path + ' ' + known.back()),
                              shell_word(path_below(path, *each)));
    }
    for (const auto* const option : options_of(command))
      for (const auto& name : names_of(*option)) {
        known.push_back(name);
        if (!value_name(*option).empty())
          values += fmt::format("    {}) {}return ;;\n", shell_word(path + ' ' + name),
                                takes_file(*option) ? "_karmad_files; " : "");
      }
    words += fmt::format("    {}) words={} ;;\n", shell_word(path),
                         shell_word(fmt::format("{}", fmt::join(known, " "))));
  });
  return filled(karmad_bash_completion, karmad_bash_completion_end,
                {{"commands", commands}, {"values", values}, {"words", words}});
}

std::string zsh_completion(const CLI::App& program) {
  auto out = fmt::format("#compdef {}\n# {}\n\n", kProgram, kGenerated);
  for_each_command(program, "", [&](const CLI::App& command, const std::string& path) {
    out += zsh_function(command, path);
  });
  return out + fmt::format("\n{} \"$@\"\n", function_name(""));
}

std::string fish_completion(const CLI::App& program) {
  auto out = fmt::format("# {}\ncomplete -c {} -f\n", kGenerated, kProgram);
  for_each_command(program, "", [&](const CLI::App& command, const std::string& path) {
    const auto condition = fish_condition(command, path);
    for (const auto* const each : commands_of(command))
      out += fmt::format("complete -c {} -n {} -a {} -d {}\n", kProgram, shell_word(condition),
                         each->get_name(), shell_word(menu_line(each->get_description())));
    for (const auto* const option : options_of(command)) out += fish_option(condition, *option);
  });
  return out;
}

/// Line breaks of help texts are for terminals of one width.
std::string as_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? ' ' : c;
  return roff(out);
}

std::string option_entry(const CLI::Option& option) {
  std::string head;
  for (const auto& name : names_of(option))
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(name));
  if (const auto value = value_name(option); !value.empty())
    head += fmt::format("{}\\fI{}\\fR", head.empty() ? "" : " ", roff(value));
  return fmt::format(".TP\n{}\n{}\n", head, as_one_line(option.get_description()));
}

std::string option_entries(const CLI::App& command) {
  std::string out;
  for (const auto kind : {OptionKind::positional, OptionKind::named})
    for (const auto* const option : options_of(command, kind)) out += option_entry(*option);
  return out;
}

std::string verbatim_block(std::string_view text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff_verbatim(text));
}

/// The command, then the commands below it.
std::string command_section(const CLI::App& command, const std::string& before) {
  const auto words = before + command.get_name();
  auto out = fmt::format(".SS \\fB{}\\fR [\\fIOPTION\\fR ...]", roff(words));
  for (const auto* const each : options_of(command, OptionKind::positional))
    out += fmt::format(" [\\fI{}\\fR]", roff(value_name(*each)));
  const auto commands = commands_of(command);
  out += fmt::format("{}\n{}\n{}{}", commands.empty() ? "" : " \\fICOMMAND\\fR",
                     as_one_line(command.get_description()), option_entries(command),
                     verbatim_block(command.get_footer()));
  for (const auto* const each : commands) out += command_section(*each, words + ' ');
  return out;
}

/// The manual page karmad(8), in roff. The same text always gives the same bytes.
std::string program_manual_page(const CLI::App& program) {
  std::string commands;
  for (const auto* const command : commands_of(program))
    commands += command_section(*command, fmt::format("{} ", kProgram));
  return filled(karmad_program_manual, karmad_program_manual_end,
                {{"version", KARMAD_VERSION},
                 {"description", as_one_line(program.get_description())},
                 {"options", option_entries(program)},
                 {"commands", commands},
                 {"signals", verbatim_block(program.get_footer())}});
}

struct GeneratedFile {
  std::string_view name;
  std::string (*write)(const CLI::App&);
};

constexpr std::array kGeneratedFiles{
    GeneratedFile{"karmad.8", program_manual_page},
    GeneratedFile{"karmad.conf.5", [](const CLI::App&) { return configuration_manual_page(); }},
    GeneratedFile{"karmad.bash", bash_completion},
    GeneratedFile{"_karmad", zsh_completion},
    GeneratedFile{"karmad.fish", fish_completion},
};

}  // namespace

std::string generated_file_names() {
  const auto names = kGeneratedFiles | std::views::transform(&GeneratedFile::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::string> generated_file(std::string_view name, const CLI::App& app) {
  const auto* const file = std::ranges::find(kGeneratedFiles, name, &GeneratedFile::name);
  if (file == kGeneratedFiles.end()) return std::nullopt;
  return file->write(app);
}

}  // namespace karmad
