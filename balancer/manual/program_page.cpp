#include "balancer/manual/program_page.hpp"

#include <fmt/format.h>

#include "config/manual_page.hpp"

namespace karmad {

namespace {

constexpr auto kFilesAndMore = R"(.SH FILES
.TP
.I /etc/karmad/karmad.conf
the configuration that the service of the Debian package uses.
.TP
.I /var/log/karmad
where the service may write an access log.
.SH SEE ALSO
.BR karmad.conf (5),
.BR systemctl (1),
.I /usr/share/doc/karmad
)";

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

}  // namespace

std::string program_manual_page(const CommandText& program) {
  auto out = fmt::format(
      ".TH KARMAD 8 \"\" \"karmad {}\" \"karmad\"\n"
      ".SH NAME\nkarmad \\- balances searches over the mirrors of search servers\n"
      ".SH SYNOPSIS\n\\fB{} \\-\\-config\\fR \\fIFILE\\fR [\\fB\\-\\-check\\fR | "
      "\\fB\\-\\-dump\\-config\\fR]\n.br\n\\fB{}\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n",
      KARMAD_VERSION, program.name, program.name, as_one_line(program.description));
  out += ".SH OPTIONS\n" + option_entries(program);
  out += ".SH COMMANDS\n";
  for (const auto& command : program.commands) out += command_section(command, program.name + ' ');
  out += ".SH SIGNALS AND EXIT CODES\n" + verbatim_block(program.footer);
  return out + kFilesAndMore;
}

}  // namespace karmad
