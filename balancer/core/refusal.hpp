#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace karmad {

struct Answer;

/// Why a client gets no answer, where a status and a sentence are not enough for its code to
/// act on.
struct Refusal {
  int status = 503;
  std::string_view type;  ///< a word that does not change, for programs
  std::string reason;
  int code = 0;                         ///< the number a rule gives the error; 0: none
  bool overloaded = false;              ///< carries both labels: try again, later (BP-015)
  std::optional<unsigned> retry_after;  ///< seconds
  std::string details;                  ///< further members of `error`: `"name":value,…`
};

/// `{"error":{"type","reason",…},"status"}`, with the labels in the head as well.
Answer answer_with(const Refusal& refusal);

}  // namespace karmad
