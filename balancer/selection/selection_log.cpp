#include "balancer/selection/selection_log.hpp"

#include <fmt/format.h>

#include "agent/json/json_line.hpp"
#include "balancer/trace/plain_text.hpp"
#include "balancer/trace/process_log.hpp"
#include "strategies/read_preference.hpp"

namespace karmad {
namespace {

/// The kind of set, and every mirror with role and round trip.
std::string description(const Shard& shard, const SetDescription& picture) {
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

}  // namespace

SelectionLog::SelectionLog(std::shared_ptr<LineWriter> to)
    : logger_(logger_for(std::move(to), "selection", "%v")) {}

void SelectionLog::level(LogLevel least) {
  set_level(*logger_, least);
}

template <class AddMore>
void SelectionLog::write(spdlog::level::level_enum level, std::string_view message,
                         const About& about, AddMore add_more) const {
  auto line = fmt::format(R"({{"time":"{}","level":"{}","component":"serverSelection")",
                          utc_text(std::chrono::system_clock::now()),
                          spdlog::level::to_string_view(level).data());
  {
    JsonLine out(line);
    out.add(R"(,"message":)", Quoted{message}, R"(,"operation":)",
            Quoted{about.query.request.operation}, R"(,"operationId":)", about.query.record.id,
            R"(,"selector":)", Quoted{criteria_of(about.selection.need())});
    const auto view = about.shard.mirrors->view(about.query.worker.loop.index);
    out.add(R"(,"topologyDescription":)", Quoted{description(about.shard, view->picture)});
    add_more(out);
    out.add('}');
  }
  logger_->log(level, line);
}

void SelectionLog::started(const About& about) const {
  if (debug()) write(spdlog::level::debug, "Server selection started", about, [](JsonLine&) {});
}

void SelectionLog::succeeded(const About& about, const Agent& agent) const {
  if (!debug()) return;
  const auto& address = agent.address;
  write(spdlog::level::debug, "Server selection succeeded", about, [&](JsonLine& out) {
    out.add(R"(,"serverHost":)", Quoted{address.is_unix() ? address.unix_path : address.host});
    if (!address.is_unix()) out.add(R"(,"serverPort":)", address.port);
  });
}

void SelectionLog::failed(const About& about, std::string_view failure) const {
  if (!debug()) return;
  write(spdlog::level::debug, "Server selection failed", about,
        [&](JsonLine& out) { out.add(R"(,"failure":)", Quoted{failure}); });
}

void SelectionLog::waiting(const About& about, Micros remaining) const {
  if (!logger_->should_log(spdlog::level::info)) return;
  write(spdlog::level::info, "Waiting for suitable server to become available", about,
        [&](JsonLine& out) { out.add(R"(,"remainingTimeMS":)", remaining.count() / 1000); });
}

}  // namespace karmad
