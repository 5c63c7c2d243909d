#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/process.hpp"

namespace karmad::test {

/// What a fake mirror does with a request: bytes to send, and what becomes of the connection.
struct Reaction {
  /// `linger`: stay, and close when no further request comes for a moment.
  /// `die`: reset all connections and refuse new ones, like a process that crashed.
  /// `echo`: send back all that comes; when the other side has ended its half, send "bye" and
  /// close.
  enum class Then { stay, close, reset, hang, linger, die, echo };
  std::string bytes;
  Then then = Then::stay;
  std::size_t step = 0;                       ///< bytes per packet; 0: all at once
  std::chrono::milliseconds after{0};         ///< how long the mirror is busy with it
  std::size_t held_from = std::string::npos;  ///< bytes that wait for send_rest()
};

/// `200 OK` with this JSON body.
Reaction json(std::string_view body, int status = 200);
/// An answer to any search that found nothing.
Reaction nothing_found();
/// A mirror's mood for `nothing_found`, `after` so long.
Reaction slowly(std::chrono::milliseconds after);
/// Accepts and never answers.
Reaction silence();

enum class Home { ipv4, ipv6, unix_socket };
/// Whether this machine has [::1].
bool has_ipv6();

/// An agent that lives in the test: HTTP requests come in on 127.0.0.1, a function of the test says
/// what goes out, byte by byte if it must. GET requests (pings) get an empty 200 unless
/// `pings_too`. The function is called from other threads, one call at a time.
class FakeMirror {
 public:
  using React = std::function<Reaction(const std::string& request)>;
  explicit FakeMirror(React react, bool pings_too = false, Home home = Home::ipv4);
  /// At this address of 127.0.0.0/8 and this port.
  FakeMirror(React react, std::string host, int port);
  FakeMirror(const FakeMirror&) = delete;
  FakeMirror& operator=(const FakeMirror&) = delete;
  ~FakeMirror();

  int port() const { return port_; }
  /// As an agent line has it.
  std::string address() const;
  void react(React react);
  /// From now on it reacts as soon as it has a head, and never reads the body.
  void react_to_heads() { heads_only_ = true; }
  /// From now on it answers only as many requests as answer() lets it; all of them after release().
  void hold() { may_answer_ = 0; }
  void answer(int requests) { may_answer_ += requests; }
  void release() { may_answer_ = kAll; }
  /// Lets go what reactions hold back, from now on.
  void send_rest() { holds_rest_ = false; }
  /// Bytes it has got rid of, in all.
  std::size_t sent() const { return sent_; }
  /// Bytes that have come, in all.
  std::size_t received() const { return received_; }
  /// Requests it is at now, and was at most at a time.
  int busy() const { return busy_; }
  int most_busy() const { return most_busy_; }
  /// Requests seen, without pings (unless `pings_too`).
  std::size_t requests() const;
  std::vector<std::string> seen() const;
  std::size_t connections() const { return accepted_; }
  std::size_t open_connections() const;
  /// Closes every open connection, as an agent does that tires of idle ones.
  void close_all();

 private:
  static constexpr int kAll = 1 << 30;
  void accept();
  void work(const Reaction& reaction);
  void serve(int socket);
  void echo(int socket, std::string in);
  bool send_in_steps(int socket, std::string_view bytes, std::size_t step);

  Home home_;
  std::string host_ = "127.0.0.1";
  TempDir dir_;
  int listener_ = -1;
  int port_ = 0;
  bool pings_too_;
  std::atomic<bool> stopping_{false};  ///< or dead
  std::atomic<bool> heads_only_{false};
  std::atomic<std::size_t> accepted_{0};
  std::atomic<bool> holds_rest_{true};
  std::atomic<std::size_t> sent_{0};
  std::atomic<std::size_t> received_{0};
  std::atomic<int> may_answer_{kAll};
  std::atomic<int> busy_{0};
  std::atomic<int> most_busy_{0};
  mutable std::mutex mutex_;
  React react_;
  std::vector<std::string> seen_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A port of 127.0.0.1 without a listener: connections are refused.
class ClosedPort {
 public:
  ClosedPort();
  ~ClosedPort();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

 private:
  int port_ = 0;
  int socket_ = -1;
};

/// A port of 127.0.0.1 that never answers a new connection: its queue is full.
class FullPort {
 public:
  FullPort();
  ~FullPort();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  int listener_ = -1;
  std::vector<int> waiting_;
};

}  // namespace karmad::test
