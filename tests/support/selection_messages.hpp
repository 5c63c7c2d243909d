#pragma once

#include <rapidjson/document.h>

#include <string>
#include <vector>

#include "tests/support/cluster.hpp"

namespace karmad::test {

/// A line of the selection log that is a JSON object.
struct SelectionMessage {
  rapidjson::Document json;
  std::string line;

  std::string text(const char* name) const;
  bool has(const char* name) const { return json.HasMember(name); }
};

/// What the component serverSelection has logged so far. The test fails for a line that is not one
/// JSON object.
std::vector<SelectionMessage> selection_messages(Master& master);

/// Waits until it has logged so many.
bool logged_selections(Master& master, std::size_t messages);

/// Their words, `Server selection started` and so on.
std::vector<std::string> words_of(const std::vector<SelectionMessage>& messages);

}  // namespace karmad::test
