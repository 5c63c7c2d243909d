#include "balancer/trace/process_log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <mutex>

#include "agent/json/json_line.hpp"
#include "balancer/trace/plain_text.hpp"
#include "config/settings/words.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr const char* kPattern = "%Y-%m-%d %H:%M:%S.%e %l %v";

std::unique_ptr<spdlog::formatter> formatter_of(const char* pattern) {
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::local, "");
}

/// One JSON object per line. The name of the function in a message's source location, which is not
/// used otherwise, has the members of log_with_members().
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    std::string text;
    {
      JsonLine line(text);
      const auto level = spdlog::level::to_string_view(message.level);
      line.add(R"({"time":)", Quoted{utc_text(message.time)}, R"(,"level":)",
               Quoted{{level.data(), level.size()}}, R"(,"message":)",
               Quoted{{message.payload.data(), message.payload.size()}});
      if (message.source.funcname != nullptr) line.add(std::string_view(message.source.funcname));
      line.add('}');
    }
    to.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

std::unique_ptr<spdlog::formatter> formatter_of(LogFormat format) {
  if (format == LogFormat::json) return std::make_unique<JsonFormatter>();
  return formatter_of(kPattern);
}

class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LineSink(std::shared_ptr<LineWriter> to, std::unique_ptr<spdlog::formatter> formatter)
      : base_sink(std::move(formatter)), to_(std::move(to)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    to_->write({line.data(), line.size()});
  }
  void flush_() override { to_->flush(); }

  const std::shared_ptr<LineWriter> to_;
};

std::string lines_were_dropped(LogFormat format, std::uint64_t count) {
  const auto text =
      fmt::format("{} of the log dropped: not read in time", counted_noun(count, "line"));
  spdlog::memory_buf_t line;
  formatter_of(format)->format({"karmad", spdlog::level::warn, text}, line);
  return fmt::to_string(line);
}

spdlog::level::level_enum level_of(LogLevel level) {
  return spdlog::level::from_str(std::string(word(level)));
}

}  // namespace

ProcessLog::ProcessLog(LogLevel level, LogFormat format)
    : format_(std::make_shared<std::atomic<LogFormat>>(format)),
      lines_(LineWriter::for_descriptor(
          STDERR_FILENO, {.gather = {}, .on_recovery = [format = format_](std::uint64_t count) {
                            return lines_were_dropped(*format, count);
                          }})) {
  auto log = std::make_shared<spdlog::logger>(
      "karmad", std::make_shared<LineSink>(lines_, formatter_of(format)));
  spdlog::set_default_logger(std::move(log));
  configure(level, format);
}

void ProcessLog::configure(LogLevel level, LogFormat format) {
  format_->store(format);
  auto& log = *spdlog::default_logger();
  set_level(log, level);
  log.set_formatter(formatter_of(format));
}

ProcessLog::~ProcessLog() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("karmad"));  // no output
  lines_->end();
}

void log_with_members(LogLevel level, std::string_view message, const std::string& members) {
  const spdlog::source_loc where("karmad", 1, members.c_str());
  spdlog::default_logger_raw()->log(where, level_of(level), message);
}

std::shared_ptr<spdlog::logger> logger_for(std::shared_ptr<LineWriter> to, const char* name,
                                           const char* pattern) {
  return std::make_shared<spdlog::logger>(
      name, std::make_shared<LineSink>(std::move(to), formatter_of(pattern)));
}

void set_level(spdlog::logger& logger, LogLevel least) {
  logger.set_level(level_of(least));
}

}  // namespace karmad
