#pragma once

#include <rapidjson/document.h>

#include <string>
#include <vector>

namespace karmad::test {

/// One recorded request.
struct Case {
  std::string path;
  std::string body;
  rapidjson::Document record;  ///< the whole line: `all`, `shard1`, `shard2`, `order`
};

/// The cases of a file in tests/truth.
std::vector<Case> read_cases(const std::string& file);

/// How an answer differs from what `server` ("all", "shard1", "shard2") answered; empty where it
/// means the same. README.md says what that is.
std::string difference(const Case& one, const char* server, int status, const std::string& body);

}  // namespace karmad::test
