#include "balancer/trace/process_log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "config/text/enum_names.hpp"

namespace karmad {
namespace {

constexpr const char* kPattern = "%Y-%m-%d %H:%M:%S.%e %l %v";

std::unique_ptr<spdlog::formatter> formatter_of(const char* pattern) {
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, "");
}

class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LineSink(std::shared_ptr<LineWriter> to, const char* pattern)
      : base_sink(formatter_of(pattern)), to_(std::move(to)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    to_->write({line.data(), line.size()});
  }
  void flush_() override { to_->flush(); }

  const std::shared_ptr<LineWriter> to_;
};

std::string lines_were_dropped(std::uint64_t count) {
  const auto text =
      fmt::format("{} lines of the log were dropped: they were not read in time", count);
  spdlog::memory_buf_t line;
  formatter_of(kPattern)->format({"karmad", spdlog::level::warn, text}, line);
  return fmt::to_string(line);
}

}  // namespace

ProcessLog::ProcessLog(LogLevel level)
    : lines_(LineWriter::for_descriptor(STDERR_FILENO,
                                        {.gather = {}, .on_recovery = lines_were_dropped})) {
  auto log = logger_for(lines_, "karmad", kPattern);
  set_level(*log, level);
  spdlog::set_default_logger(std::move(log));
}

ProcessLog::~ProcessLog() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("karmad"));  // no output
  lines_->end();
}

std::shared_ptr<spdlog::logger> logger_for(std::shared_ptr<LineWriter> to, const char* name,
                                           const char* pattern) {
  return std::make_shared<spdlog::logger>(name, std::make_shared<LineSink>(std::move(to), pattern));
}

void set_level(spdlog::logger& logger, LogLevel least) {
  struct Row {
    LogLevel level;
    spdlog::level::level_enum of_spdlog;
  };
  static constexpr std::array<Row, 4> kLevels{{{LogLevel::debug, spdlog::level::debug},
                                               {LogLevel::info, spdlog::level::info},
                                               {LogLevel::warning, spdlog::level::warn},
                                               {LogLevel::error, spdlog::level::err}}};
  static_assert(lists_all(kLevels, &Row::level));
  logger.set_level(kLevels[static_cast<std::size_t>(least)].of_spdlog);
}

}  // namespace karmad
