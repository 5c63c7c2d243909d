#include "tests/support/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "tests/support/cluster.hpp"

namespace karmad::test {

Load::Load(int port, unsigned clients, Ask ask) {
  for (unsigned i = 0; i < clients; ++i)
    clients_.emplace_back([this, port, ask] { run(port, ask); });
}

void Load::run(int port, const Ask& ask) {
  auto client = std::make_unique<HttpClient>(port);
  while (!stopping_) {
    auto wrong = ask(*client, asked_++);
    ++answers_;
    if (wrong.empty()) continue;
    client = std::make_unique<HttpClient>(port);
    const std::scoped_lock lock(mutex_);
    if (wrong_.size() < 100) wrong_.push_back(std::move(wrong));
  }
}

bool Load::more(std::size_t answers) const {
  const auto enough = answers_ + answers;
  return eventually([&] { return answers_ >= enough; });
}

void Load::stop() {
  stopping_ = true;
  for (auto& client : clients_) client.join();
  clients_.clear();
}

std::string Load::wrong() const {
  const std::scoped_lock lock(mutex_);
  return fmt::format("{}", fmt::join(wrong_, "\n"));
}

Load::Ask expecting(std::vector<LoadQuery> questions) {
  for (auto& question : questions) question.answer = without_took(std::move(question.answer));
  return [questions = std::move(questions)](HttpClient& client, std::size_t n) {
    const auto& question = questions[n % questions.size()];
    const auto answer = client.request("POST", "/search", question.body);
    if (!answer) return std::string("no answer");
    if (answer->status == 200 && without_took(answer->body) == question.answer)
      return std::string();
    return fmt::format("{} {}", answer->status, answer->body.substr(0, 500));
  };
}

Load::Ask expecting_200(std::string body) {
  return [body = std::move(body)](HttpClient& client, std::size_t) {
    const auto answer = client.request("POST", "/search", body);
    if (!answer) return std::string("no answer");
    if (answer->status == 200) return std::string();
    return fmt::format("{} {}", answer->status, answer->body.substr(0, 500));
  };
}

}  // namespace karmad::test
