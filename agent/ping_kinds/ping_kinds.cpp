#include "agent/ping_kinds/ping_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/ping_kinds/kinds.hpp"

namespace karmad {
namespace {

constexpr std::array<std::string_view, 7> kNames{
    "http", "native", "manticore", "elasticsearch", "opensearch", "solr", "none"};

std::vector<PingRequest> ask_http(std::string_view path, std::string_view) {
  return {{.target = path.empty() ? "/" : std::string(path)}};
}

/// Any success: the mirror is alive, and equal to all others.
std::expected<Description, std::string> describe_http(std::span<const PingAnswer> answers,
                                                      std::string_view, std::string_view) {
  if (answers.empty()) return std::unexpected("did not answer the ping");
  if (!is_success(answers[0].status)) return std::unexpected(answered_with(answers[0].status));
  return Description{};
}

}  // namespace

std::string answered_with(int status) {
  return fmt::format("answered the ping with status {}", status);
}

const PingKind* ping_kind(std::string_view name) {
  static const std::array kKinds{PingKind{"http", ask_http, describe_http, false},
                                 native_ping(),
                                 manticore_ping(),
                                 elasticsearch_ping("elasticsearch"),
                                 elasticsearch_ping("opensearch"),
                                 solr_ping()};
  const auto* found = std::ranges::find(kKinds, name, &PingKind::name);
  return found == kKinds.end() ? nullptr : found;
}

std::span<const std::string_view> ping_kind_names() {
  return kNames;
}

}  // namespace karmad
