#include "balancer/manual/completions.hpp"

#include <fmt/format.h>

#include <functional>

namespace karmad {

namespace {

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
std::string fish_condition(const CommandText& command, const std::string& path) {
  std::string out;
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find(' ', begin), path.size());
    out += fmt::format("{}__fish_seen_subcommand_from {}", out.empty() ? "" : "; and ",
                       path.substr(begin, end - begin));
    begin = end + 1;
  }
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

}  // namespace

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
  return fmt::format(
      R"(# bash completion for {0}, {1}
_karmad_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
_karmad() {{
  local command='' word words=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
{2}    esac
  done
  COMPREPLY=()
  case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{3}  esac
  case $command in
{4}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -F _karmad {0}
)",
      program.name, kGenerated, commands, values, words);
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

}  // namespace karmad
