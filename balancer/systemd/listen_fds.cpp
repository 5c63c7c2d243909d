#include "balancer/systemd/listen_fds.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace karmad {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START
constexpr int kMostPassed = 4096;

int number_or_negative(std::string_view digits) {
  int value = -1;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  return error == std::errc{} && end == digits.end() ? value : -1;
}

}  // namespace

std::expected<std::vector<PassedDescriptor>, std::string> passed_descriptors(
    const ListenVariables& variables, int own_pid) {
  std::vector<PassedDescriptor> passed;
  if (variables.pid == nullptr || variables.fds == nullptr) return passed;
  if (number_or_negative(variables.pid) != own_pid) return passed;
  const auto count = number_or_negative(variables.fds);
  if (count < 0 || count > kMostPassed)
    return std::unexpected(
        fmt::format("LISTEN_FDS is not a number up to {}: {}", kMostPassed, variables.fds));
  std::string_view names = variables.names != nullptr ? variables.names : "";
  for (int i = 0; i < count; ++i) {
    const auto name = names.substr(0, names.find(':'));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    passed.push_back({kFirstPassed + i, std::string(name)});
  }
  return passed;
}

}  // namespace karmad
