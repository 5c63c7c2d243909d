#include "agent/dialect/manticore_json/judge.hpp"

#include <fmt/format.h>

#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

namespace {

constexpr std::size_t kLongestMessage = 1024;

bool says_json(std::string_view content_type) {
  return content_type.empty() || content_type.starts_with("application/json") ||
         contains_folded(content_type, "json");
}

/// The required last byte for the body's first byte; 0: it is not JSON.
char json_end(std::string_view body) {
  const auto first = body.find_first_not_of(kJsonSpace);
  if (first == body.npos) return 0;
  return body[first] == '{' ? '}' : body[first] == '[' ? ']' : '\0';
}

/// Checks the first and last byte only; enough for answers that are passed on.
bool looks_like_json(std::string_view body) {
  const auto end = json_end(body);
  return end != 0 && body[body.find_last_not_of(kJsonSpace)] == end;
}

Judgement blamed(const AgentReply& reply, std::string_view error) {
  if (!error.empty()) return judge_error(error, reply.request);
  return judgement(Outcome::agent_error,
                   fmt::format("status {} without an error text", reply.status));
}

}  // namespace

Judgement judge_error(std::string_view error, const ClientRequest* request) {
  const auto blame = blame_of(error, request);
  auto judged =
      judgement(blame == Blame::client ? Outcome::client_mistake : Outcome::agent_error, error);
  if (blame == Blame::unclear) judged.complaint = judged.message;
  return judged;
}

void append_error_body(std::string& to, std::string_view reason) {
  JsonLine out(to);
  out.add(R"({"error":)");
  out.add_quoted(reason);
  out.add('}');
}

Judgement judgement(Outcome outcome, std::string_view message) {
  return {outcome, std::string(message.substr(0, kLongestMessage))};
}

Judgement judge_reply(const AgentReply& reply) {
  if (reply.status == 200) {
    if (!says_json(reply.content_type))
      return judgement(Outcome::wrong_reply,
                       fmt::format("the answer is {}, not JSON", reply.content_type));
    if (!(reply.whole ? looks_like_json(reply.body) : json_end(reply.body) != 0))
      return judgement(Outcome::wrong_reply, "the answer is not JSON");
    return {.outcome = Outcome::answered, .ends_in = json_end(reply.body)};
  }
  const bool json = says_json(reply.content_type) && looks_like_json(reply.body);
  const auto error = json ? agent_error_text(reply.body) : std::string();
  const auto with_status = [&] {
    return fmt::format("status {}{}{}", reply.status, error.empty() ? "" : ": ", error);
  };
  if (reply.status == 408 || reply.status == 429)
    return judgement(Outcome::agent_error, with_status());
  if (reply.status >= 400 && reply.status < 500)
    return judgement(blame_of(error, reply.request) == Blame::agent ? Outcome::agent_error
                                                                    : Outcome::client_mistake,
                     error.empty() ? with_status() : error);
  if ((reply.status == 500 || reply.status == 501) && json) return blamed(reply, error);
  if (reply.status >= 500) return judgement(Outcome::agent_error, with_status());
  return judgement(Outcome::wrong_reply, fmt::format("unexpected status {}", reply.status));
}

}  // namespace karmad
