#include "tests/support/selection_messages.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace karmad::test {

std::string SelectionMessage::text(const char* name) const {
  const auto found = json.FindMember(name);
  const bool is_text = found != json.MemberEnd() && found->value.IsString();
  return is_text ? found->value.GetString() : std::string();
}

std::vector<SelectionMessage> selection_messages(Master& master) {
  std::vector<SelectionMessage> messages;
  auto output = master.process().output();
  output.erase(output.rfind('\n') + 1);  // the last line may be on its way
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.contains("serverSelection")) continue;
    auto& message = messages.emplace_back(SelectionMessage{{}, line});
    message.json.Parse(line.c_str());
    EXPECT_TRUE(!message.json.HasParseError() && message.json.IsObject()) << line;
    if (message.json.HasParseError()) message.json.SetObject();
  }
  return messages;
}

bool logged_selections(Master& master, std::size_t messages) {
  return eventually([&] { return selection_messages(master).size() >= messages; });
}

std::vector<std::string> words_of(const std::vector<SelectionMessage>& messages) {
  std::vector<std::string> words;
  for (const auto& message : messages) words.push_back(message.text("message"));
  return words;
}

}  // namespace karmad::test
