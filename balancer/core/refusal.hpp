#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace karmad {

struct Answer;
class Worker;

/// An error of karmad, with details for the program of the client.
struct Refusal {
  int status = 503;
  std::string_view type;  ///< identifies the kind of error; never changes
  std::string reason;
  int code = 0;                         ///< number of the error; 0: none
  bool overloaded = false;              ///< with both labels: retry later (BP-015)
  std::optional<unsigned> retry_after;  ///< seconds
  std::string details;                  ///< further members of `error`: `"name":value,…`
};

/// An overload, after which search clients wait before a retry: 429, code 462 (BP-015).
Refusal overload_refusal(std::string reason, unsigned retry_after = 1);

/// `{"error":{"type","reason",…},"status"}`, and the labels in the head.
Answer answer_with(const Refusal& refusal);

/// An overload whose body was written before: costs a copy of it.
Answer overload_answer(Worker& worker, std::string_view body, unsigned retry_after);

/// The text of an error answer: `{"error":"text"}`, or with the text in `reason` of an object. In a
/// list of result sets the first that has one.
std::string reason_in_answer(std::string_view body);

}  // namespace karmad
