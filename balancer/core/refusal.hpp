#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace karmad {

struct Answer;

/// Why a client gets no answer, with details that its program can act on.
struct Refusal {
  int status = 503;
  std::string_view type;  ///< a stable word for programs
  std::string reason;
  int code = 0;                         ///< a rule's number for the error; 0: none
  bool overloaded = false;              ///< with both labels: retry later (BP-015)
  std::optional<unsigned> retry_after;  ///< seconds
  std::string details;                  ///< further members of `error`: `"name":value,…`
};

/// `{"error":{"type","reason",…},"status"}`, and the labels in the head.
Answer answer_with(const Refusal& refusal);

}  // namespace karmad
