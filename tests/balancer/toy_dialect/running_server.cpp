#include "tests/balancer/toy_dialect/running_server.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <sstream>

#include "balancer/endpoints/endpoints.hpp"
#include "config/load.hpp"

namespace karmad::test {

BlockedSignals::BlockedSignals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
}

BlockedSignals::~BlockedSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

RunningServer::RunningServer(const std::string& tables, Dialects known) {
  const auto path =
      dir_.file("karmad.conf", "searchd {\n listen = 127.0.0.1:0\n workers = 2\n}\n" + tables);
  auto loaded = load(path, real_environment(), FileKind::regular, judge_with(known));
  for (const auto& problem : loaded.problems) ADD_FAILURE() << text(problem);
  if (!loaded.settings) return;
  // The log tells the port, on this thread.
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  auto lines = LineWriter::for_descriptor(STDERR_FILENO, {});
  server_ = std::make_unique<Server>(path, *std::move(loaded.settings), std::move(lines),
                                     Hooks{.dialects = known});
  Problems problems;
  const auto failure = server_->open(problems);
  spdlog::set_default_logger(before);
  if (failure) {
    ADD_FAILURE() << failure->why;
    return;
  }
  constexpr std::string_view listening = "listening on 127.0.0.1:";
  const auto text = log.str();
  port_ = std::atoi(text.c_str() + text.find(listening) + listening.size());
  thread_ = std::thread([this] { EXPECT_EQ(server_->run(), 0); });
}

RunningServer::~RunningServer() {
  if (!thread_.joinable()) return;
  ::kill(::getpid(), SIGTERM);
  thread_.join();
}

}  // namespace karmad::test
