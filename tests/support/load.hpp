#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/http_client.hpp"

namespace karmad::test {

/// Clients that ask again and again, each on a kept connection, until this is stopped or destroyed.
class Load {
 public:
  /// Request `n` on a client's connection: what was wrong with the answer, or nothing.
  using Ask = std::function<std::string(HttpClient& client, std::size_t n)>;
  Load(int port, unsigned clients, Ask ask);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() { stop(); }

  std::size_t answers() const { return answers_; }
  /// Waits for so many answers more.
  bool more(std::size_t answers) const;
  void stop();
  /// What was wrong so far, one line each; the first hundred.
  std::string wrong() const;

 private:
  void run(int port, const Ask& ask);

  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> asked_{0};
  std::atomic<std::size_t> answers_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> wrong_;
  std::vector<std::thread> clients_;
};

struct LoadQuery {
  std::string body;
  std::string answer;
};

/// Posts the bodies to /search in turn and expects a 200 with the answer, but for `took`.
Load::Ask expecting(std::vector<LoadQuery> questions);

/// Posts `body` to /search and expects a 200.
Load::Ask expecting_200(std::string body);

}  // namespace karmad::test
