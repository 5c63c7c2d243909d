#include "balancer/core/refusal.hpp"

#include "agent/json/json_line.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

namespace {

void add_body(JsonLine body, const Refusal& refusal) {
  body.add(R"({"error":{"type":)");
  body.add_quoted(refusal.type);
  body.add(R"(,"reason":)");
  body.add_quoted(refusal.reason);
  if (refusal.code != 0) {
    body.add(R"(,"code":)");
    body.add_number(refusal.code);
  }
  if (refusal.overloaded) body.add(R"(,"labels":["SystemOverloadedError","RetryableError"])");
  if (!refusal.details.empty()) {
    body.add(',');
    body.add(refusal.details);
  }
  body.add(R"(},"status":)");
  body.add_number(refusal.status);
  body.add('}');
}

}  // namespace

Answer answer_with(const Refusal& refusal) {
  Answer answer;
  answer.status = refusal.status;
  answer.retry_after = refusal.retry_after;
  answer.overloaded = refusal.overloaded;
  add_body(JsonLine(answer.body), refusal);
  return answer;
}

}  // namespace karmad
