#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "balancer/server.hpp"
#include "tests/support/process.hpp"

namespace karmad::test {

/// The signals that end a server, blocked in this thread and in those that it starts: a server in
/// this process reads them as bytes. Construct it before any thread is started.
class BlockedSignals {
 public:
  BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals();

 private:
  sigset_t before_;
};

/// The whole server in this process, with a configuration and dialects of the test's choosing,
/// until it goes out of scope. `listen` is added.
class RunningServer {
 public:
  RunningServer(const std::string& tables, Dialects known);
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  ~RunningServer();

  int port() const { return port_; }

 private:
  TempDir dir_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  int port_ = 0;
};

}  // namespace karmad::test
