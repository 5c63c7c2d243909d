#include <fmt/format.h>
#include <rapidjson/document.h>

#include <iostream>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/client/commands.hpp"
#include "balancer/client/explanation_text.hpp"
#include "balancer/client/http_get.hpp"
#include "balancer/trace/plain_text.hpp"

namespace karmad {
namespace {

std::string target_of(const ExplainOptions& options) {
  std::string target = "/explain";
  if (options.table.empty()) {
    append_url_encoded(target += '/', options.id);
    return target;
  }
  append_url_encoded(target += "?table=", options.table);
  if (!options.read_preference.empty())
    append_url_encoded(target += "&read_preference=", options.read_preference);
  return target;
}

int failed_explain(std::string_view why, int code) {
  std::cerr << "karmad explain: " << why << '\n';
  return code;
}

/// The message of an error answer.
std::string reason_in(const std::string& body) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(body.c_str());
  if (document.HasParseError() || !document.IsObject() || !document.HasMember("error") ||
      !document["error"].IsString())
    return {};
  return without_controls(document["error"].GetString());
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const auto server = server_with_token(options.address, options.token_file);
  if (!server) return failed_explain(server.error(), 2);
  const auto answer = http_get(*server, target_of(options), std::chrono::seconds(5));
  if (!answer) return failed_explain(answer.error(), 1);
  if (answer->status != 200)
    return failed_explain(fmt::format("status {}: {}", answer->status, reason_in(answer->body)), 1);
  if (options.json) {
    std::cout << answer->body << '\n';
    return 0;
  }
  const auto text = explanation_text(answer->body);
  if (!text) return failed_explain(text.error(), 1);
  std::cout << *text;
  return 0;
}

}  // namespace karmad
