#include "balancer/manual/command_text.hpp"

namespace karmad {

namespace {

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

}  // namespace

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

}  // namespace karmad
