#include "agent/ping_kinds/ping_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {
namespace {

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

std::expected<Description, std::string> describe_ping(const PingKind& kind,
                                                      std::span<const PingAnswer> answers,
                                                      std::string_view me, std::string_view table) {
  if (!answers.empty() && is_denied(answers.front().status)) return Description{.denied = true};
  return kind.describe(answers, me, table);
}

std::string answered_with(int status) {
  return fmt::format("answered the ping with status {}", status);
}

constinit const PingKind kHttpPing{"http", ask_http, describe_http, false};

const PingKind* ping_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kPingKinds, name, &PingKind::name);
  return found == kPingKinds.end() ? nullptr : *found;
}

std::span<const std::string_view> ping_kind_names() {
  static const auto names = [] {
    std::array<std::string_view, kPingKinds.size() + 1> all;
    *std::ranges::transform(kPingKinds, all.begin(), &PingKind::name).out = "none";
    return all;
  }();
  return names;
}

}  // namespace karmad
