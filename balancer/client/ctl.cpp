#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "agent/json/json_tree.hpp"
#include "agent/stats/document.hpp"
#include "balancer/client/commands.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/trace/plain_text.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr std::string_view kAdminPort = "9309";

/// One member of a call from its text on the command line. The server judges the value.
void add_member(Document& out, std::string_view name, const std::string& value) {
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
  if (name == "weight" && digits && value.size() < 10)
    out.raw(name, value);
  else if (name == "on" && (value == "on" || value == "off"))
    out.raw(name, value == "on" ? "true" : "false");
  else
    out.text(name, value);
}

std::string body_of(AdminVerb verb, const CtlOptions& options) {
  const auto members = members_of(verb);
  return json_object([&](Document& out) {
    for (std::size_t i = 0; i < options.arguments.size(); ++i)
      add_member(out, members.required[i], options.arguments[i]);
    if (!options.mirror.empty()) out.text("mirror", options.mirror);
    if (!options.table.empty()) out.text("table", options.table);
    if (options.force) out.raw("force", "true");
  });
}

/// The members of an object in one line: `table: products, state: drain`.
std::string in_words(const rapidjson::Value& value) {
  if (!value.IsObject()) return value.IsString() ? std::string(text_of(value)) : json_of(value);
  std::string words;
  for (const auto& member : value.GetObject()) {
    if (!words.empty()) words += ", ";
    words.append(text_of(member.name)).append(" ").append(in_words(member.value));
  }
  return words;
}

/// A side of a change: a setting as in the log of a reload, or the members of what it is about.
std::string side_text(const rapidjson::Value& of) {
  if (of.IsNull()) return "none";
  const auto* source = member_of(&of, "source");
  if (source == nullptr) return in_words(of);
  const auto value = text_of(member_of(&of, "value"));
  return fmt::format("{} ({})", value.empty() ? "-" : value, text_of(source));
}

void print_result(const rapidjson::Document& result) {
  const auto* changed = member_of(&result, "changed");
  if (changed == nullptr || !changed->IsArray()) return;
  const auto waiting = list_member(result, "at_next_start");
  // A restore may also end changes of mirrors that the configuration does not have now.
  if (changed->Empty() && waiting.empty())
    std::cout << (text_member(result, "call") == "restore" ? "nothing in use changed\n"
                                                           : "nothing changed\n");
  for (const auto& change : changed->GetArray()) {
    const auto setting = text_member(change, "setting");
    const auto* before = member_of(&change, "before");
    const auto* after = member_of(&change, "after");
    if (before == nullptr || after == nullptr) continue;
    const auto line = fmt::format("{}{}{} -> {}", setting, setting.empty() ? "" : ": ",
                                  side_text(*before), side_text(*after));
    std::cout << without_controls(line) << '\n';
  }
  for (const auto& name : waiting)
    std::cout << without_controls(text_of(&name)) << " takes effect at the next start\n";
  if (const auto why = text_member(result, "not_saved"); !why.empty())
    std::cout << "not saved: " << without_controls(why) << '\n';
}

void print_refusal(const rapidjson::Document& result, unsigned status) {
  std::cerr << fmt::format("karmad ctl: status {}: {}\n", status,
                           without_controls(text_member(result, "error")));
  for (const auto& problem : list_member(result, "problems"))
    std::cerr << without_controls(text_of(&problem)) << '\n';
}

/// `show`, or the call of that name.
std::expected<HttpRequest, std::string> request_of(const CtlOptions& options) {
  const auto no_arguments = [&] {
    return std::unexpected(fmt::format("{} takes no arguments", options.verb));
  };
  if (options.verb == "show") {
    if (!options.arguments.empty()) return no_arguments();
    return HttpRequest{.target = "/admin/config"};
  }
  auto name = options.verb;
  std::ranges::replace(name, '-', '_');
  const auto verb = kAdminVerbs.find(name);
  if (!verb)
    return std::unexpected(fmt::format("no call {}; the calls are show, {}", options.verb,
                                       fmt::join(kAdminVerbs.all(), ", ")));
  const auto members = members_of(*verb);
  if (members.required.empty() && !options.arguments.empty()) return no_arguments();
  if (options.arguments.size() != members.required.size())
    return std::unexpected(fmt::format("{} takes {}: {}", options.verb,
                                       counted_noun(members.required.size(), "argument"),
                                       fmt::join(members.required, " ")));
  if (*verb == AdminVerb::hedging && options.arguments[0] != "on" && options.arguments[0] != "off")
    return std::unexpected(fmt::format("hedging is on or off, not {}", options.arguments[0]));
  return HttpRequest{.method = "POST",
                     .target = fmt::format("/admin/{}", kAdminVerbs[*verb]),
                     .body = body_of(*verb, options)};
}

}  // namespace

std::expected<ServerAddress, std::string> admin_server(const CtlOptions& options) {
  return server_with_token(options.address, options.token_file, kAdminPort);
}

int run_ctl(const CtlOptions& options) {
  const auto request = request_of(options);
  if (!request) return failed("karmad ctl", request.error(), 2);
  const auto server = admin_server(options);
  if (!server) return failed("karmad ctl", server.error(), 2);
  const auto answer = http_ask(*server, *request, kAdminWait);
  if (!answer) return failed("karmad ctl", answer.error(), 1);
  const auto result = tree_of(answer->body);
  if (result.HasParseError())
    return failed("karmad ctl", fmt::format("status {}: the answer is not JSON", answer->status),
                  1);
  if (answer->status != 200) {
    print_refusal(result, answer->status);
    return 1;
  }
  if (options.json || options.verb == "show")
    std::cout << answer->body << '\n';
  else
    print_result(result);
  return 0;
}

}  // namespace karmad
