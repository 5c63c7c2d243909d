#include "balancer/shard/selection_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "agent/json/json_text.hpp"
#include "balancer/trace/process_log.hpp"
#include "strategies/read_preference_text.hpp"

namespace karmad {
namespace {

/// The kind of set, and every mirror with role and round trip.
std::string description(const Shard& shard, const SetPicture& picture) {
  auto told = fmt::format("kind {}:", name(picture.kind));
  for (std::size_t i = 0; i < picture.mirrors.size(); ++i) {
    const auto& facts = picture.mirrors[i];
    fmt::format_to(std::back_inserter(told), " {} {}", (*shard.mirrors)[i].agent->name,
                   name(facts.role));
    if (!facts.tags.empty()) fmt::format_to(std::back_inserter(told), " {}", text(facts.tags));
    if (facts.rtt) fmt::format_to(std::back_inserter(told), " {} us", facts.rtt->count());
    told.push_back(i + 1 < picture.mirrors.size() ? ',' : '.');
  }
  return told;
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  out.append(",\"").append(name).append("\":");
  append_json_quoted(out, value);
}

}  // namespace

SelectionLog::SelectionLog(std::shared_ptr<LineWriter> to)
    : logger_(logger_for(std::move(to), "selection", "%v")) {}

void SelectionLog::level(LogLevel least) {
  set_level(*logger_, least);
}

void SelectionLog::write(spdlog::level::level_enum level, std::string_view message,
                         const About& about, const std::string& more) const {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto ms = now.time_since_epoch().count() % 1000;
  auto line =
      fmt::format(R"({{"time":"{:%FT%T}.{:03}Z","level":"{}","component":"serverSelection")",
                  fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms,
                  spdlog::level::to_string_view(level).data());
  append_text(line, "message", message);
  append_text(line, "operation", about.query.operation);
  fmt::format_to(std::back_inserter(line), ",\"operationId\":{}", about.query.id);
  append_text(line, "selector", about.selection.criteria());
  append_text(
      line, "topologyDescription",
      description(about.shard, about.shard.mirrors->view(about.query.worker.loop.index)->picture));
  line.append(more).push_back('}');
  logger_->log(level, line);
}

void SelectionLog::succeeded(const About& about, const Agent& agent) const {
  if (!debug()) return;
  std::string more;
  if (!agent.address.is_unix()) {
    append_text(more, "serverHost", agent.address.host);
    fmt::format_to(std::back_inserter(more), ",\"serverPort\":{}", agent.address.port);
  } else {
    append_text(more, "serverHost", agent.address.unix_path);
  }
  write(spdlog::level::debug, "Server selection succeeded", about, more);
}

void SelectionLog::failed(const About& about, std::string_view failure) const {
  if (!debug()) return;
  std::string more;
  append_text(more, "failure", failure);
  write(spdlog::level::debug, "Server selection failed", about, more);
}

void SelectionLog::waiting(const About& about, Micros remaining) const {
  if (!logger_->should_log(spdlog::level::info)) return;
  write(spdlog::level::info, "Waiting for suitable server to become available", about,
        fmt::format(",\"remainingTimeMS\":{}", remaining.count() / 1000));
}

}  // namespace karmad
