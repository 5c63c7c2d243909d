#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace karmad::test {

/// A name server on a port of 127.0.0.1, over UDP and TCP, that answers what the test wants. Names
/// are written without a final dot. Any thread.
class NameServer {
 public:
  /// How it behaves.
  enum class Mood {
    good,
    silent,     ///< never answers
    garbage,    ///< random bytes
    wrong_id,   ///< a good answer to another question
    truncated,  ///< the flag for it over UDP, and nothing over TCP
    fails,      ///< SERVFAIL
    empty,      ///< no record
    broken,     ///< a good answer that is cut in the middle
  };
  struct Srv {
    unsigned priority, weight, port;
    std::string target;
  };

  NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;
  ~NameServer();

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }
  void mood(Mood mood) { mood_ = mood; }
  /// How long it waits before it sends an answer that is ready.
  void delay(std::chrono::milliseconds delay) { delay_ = delay; }
  /// The IPv4 addresses of a name.
  void set(const std::string& name, std::vector<std::string> addresses);
  void set_srv(const std::string& name, std::vector<Srv> targets);
  /// Questions so far.
  unsigned questions() const { return questions_; }

 private:
  void serve();
  std::string answer(const std::string& question, bool over_udp);
  std::string records_of(const std::string& name, unsigned type, unsigned& count) const;
  void serve_udp();
  void serve_tcp();

  int port_ = 0;
  int udp_ = -1;
  int tcp_ = -1;
  std::atomic<Mood> mood_{Mood::good};
  std::atomic<std::chrono::milliseconds> delay_{std::chrono::milliseconds(0)};
  std::atomic<unsigned> questions_{0};
  std::atomic<bool> over_{false};
  std::mutex mutex_;  ///< of the next two
  std::map<std::string, std::vector<std::string>> addresses_;
  std::map<std::string, std::vector<Srv>> srv_;
  std::thread thread_;
};

}  // namespace karmad::test
