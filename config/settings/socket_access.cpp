#include "config/settings/socket_access.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <array>
#include <limits>
#include <string>

#include "config/settings/address.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr FileMode kOnlyOwner{0600};

/// Room for an entry of the user database; a group may have many members.
using EntryText = std::array<char, std::size_t{64} << 10>;

std::optional<unsigned> user_id(const std::string& name) {
  EntryText text;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found) != 0) return {};
  return found == nullptr ? std::nullopt : std::optional<unsigned>(found->pw_uid);
}

std::optional<unsigned> group_id(const std::string& name) {
  EntryText text;
  group entry{};
  group* found = nullptr;
  if (::getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found) != 0) return {};
  return found == nullptr ? std::nullopt : std::optional<unsigned>(found->gr_gid);
}

/// A number, or the id of a name. The highest number means "unchanged" to chown.
std::expected<unsigned, Unfit> read_id(std::string_view text, std::size_t at, std::string_view what,
                                       std::optional<unsigned> (*find)(const std::string&)) {
  if (text.empty()) return unfit(at, fmt::format("the name of a {} is missing", what));
  if (is_number(text)) {
    const auto id = number_in<unsigned>(text);
    if (id && *id != std::numeric_limits<unsigned>::max()) return *id;
    return unfit(at, fmt::format("{} is not the number of a {}", in_quotes(text), what));
  }
  if (const auto id = find(std::string(text))) return *id;
  return unfit(at, fmt::format("this system has no {} {}", what, in_quotes(text)));
}

}  // namespace

std::expected<void, Unfit> read_owner(std::string_view owner, SocketAccess& access) {
  const auto colon = owner.find(':');
  const auto user = owner.substr(0, colon);
  if (!user.empty() || colon == owner.npos) {
    const auto id = read_id(user, 0, "user", user_id);
    if (!id) return std::unexpected(id.error());
    access.user = *id;
  }
  if (colon == owner.npos) return {};
  const auto id = read_id(owner.substr(colon + 1), colon + 1, "group", group_id);
  if (!id) return std::unexpected(id.error());
  access.group = *id;
  return {};
}

SocketAccess socket_access(const ListenerSettings& settings, bool admin) {
  const auto& mode = settings.listen_socket_mode;
  SocketAccess access{
      .mode = admin && mode.at.line == 0 ? kOnlyOwner : mode.value, .user = {}, .group = {}};
  if (settings.listen_socket_owner) (void)read_owner(settings.listen_socket_owner->value, access);
  return access;
}

}  // namespace karmad
