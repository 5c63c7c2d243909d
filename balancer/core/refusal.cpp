#include "balancer/core/refusal.hpp"

#include <fmt/format.h>

#include "agent/json/json_text.hpp"
#include "balancer/core/query.hpp"

namespace karmad {

Answer answer_with(const Refusal& refusal) {
  Answer answer;
  answer.status = refusal.status;
  answer.retry_after = refusal.retry_after;
  answer.overloaded = refusal.overloaded;
  auto& body = answer.body;
  body.append(R"({"error":{"type":)");
  append_json_quoted(body, refusal.type);
  body.append(R"(,"reason":)");
  append_json_quoted(body, refusal.reason);
  if (refusal.code != 0) fmt::format_to(std::back_inserter(body), R"(,"code":{})", refusal.code);
  if (refusal.overloaded) body.append(R"(,"labels":["SystemOverloadedError","RetryableError"])");
  if (!refusal.details.empty()) body.append(",").append(refusal.details);
  fmt::format_to(std::back_inserter(body), R"(}},"status":{}}})", refusal.status);
  return answer;
}

}  // namespace karmad
