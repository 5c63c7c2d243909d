#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/transport/http/http_head.hpp"
#include "tests/agent/transport/exact_bytes.hpp"

namespace karmad::request_cases {

/// The status a request is refused with; 0: complete, 1: incomplete.
inline int verdict(std::string_view text, const HeadLimits& limits = {}) {
  RequestHead head;
  const ExactBytes bytes{text};
  const auto state = parse_request_head(bytes, limits, head);
  if (!state) return state.error().status;
  return *state == HeadState::complete ? 0 : 1;
}

inline std::string reason(std::string_view text) {
  RequestHead head;
  const auto state = parse_request_head(text, {}, head);
  return state ? "accepted" : state.error().reason;
}

/// A request whose field lines are `lines`, with a good Host before them.
inline std::string with(std::string_view lines) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n\r\n";
}

inline std::string get(std::string_view target, std::string_view method = "GET") {
  return std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

struct RequestCase {
  std::string bytes;
  int verdict;
};

inline void expect(const std::vector<RequestCase>& cases) {
  for (const auto& c : cases) EXPECT_EQ(verdict(c.bytes), c.verdict) << c.bytes;
}

}  // namespace karmad::request_cases
