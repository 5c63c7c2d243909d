#include "balancer/core/refusal.hpp"

#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

namespace {

void add_body(JsonLine body, const Refusal& refusal) {
  body.add(R"({"error":{"type":)", Quoted{refusal.type}, R"(,"reason":)", Quoted{refusal.reason});
  if (refusal.code != 0) body.add(R"(,"code":)", refusal.code);
  if (refusal.overloaded) body.add(R"(,"labels":["SystemOverloadedError","RetryableError"])");
  if (!refusal.details.empty()) body.add(',', refusal.details);
  body.add(R"(},"status":)", refusal.status, '}');
}

/// The text of `error`, or of `reason` in it; empty: there is none.
std::string reason_in_object(std::string_view object) {
  std::string reason;
  const auto take_text = [&reason](std::string_view value) {
    if (is_string(value)) reason = json_unescaped(without_quotes(value));
  };
  visit_members(object, [&](std::string_view key, std::string_view value) {
    if (key != "error") return;
    take_text(value);
    if (is_object(value))
      visit_members(value, [&](std::string_view member, std::string_view text) {
        if (member == "reason") take_text(text);
      });
  });
  return reason;
}

}  // namespace

Refusal overload_refusal(std::string reason, unsigned retry_after) {
  return {.status = 429,
          .type = "overloaded",
          .reason = std::move(reason),
          .code = 462,
          .overloaded = true,
          .retry_after = retry_after};
}

Answer answer_with(const Refusal& refusal) {
  Answer answer;
  answer.status = refusal.status;
  answer.retry_after = refusal.retry_after;
  if (refusal.overloaded) answer.error_labels = kRetryableOverload;
  add_body(JsonLine(answer.body), refusal);
  return answer;
}

Answer overload_answer(Worker& worker, std::string_view body, unsigned retry_after) {
  Answer answer;
  answer.status = 429;
  answer.body = worker.loop.buffers.take();
  answer.body.append(body);
  answer.retry_after = retry_after;
  answer.error_labels = kRetryableOverload;
  return answer;
}

std::string reason_in_answer(std::string_view body) {
  constexpr std::string_view kNone = "the statement failed without a reason";
  JsonCursor cursor(body);
  skip_space(cursor);
  std::string reason;
  if (cursor.done() || *cursor.at != '[') {
    reason = reason_in_object(body);
  } else {
    visit_elements(cursor, [&](std::string_view set) {
      reason = reason_in_object(set);
      return reason.empty();
    });
  }
  return reason.empty() ? std::string(kNone) : reason;
}

}  // namespace karmad
