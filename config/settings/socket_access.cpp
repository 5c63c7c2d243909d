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

/// A function of the system that looks a name up.
template <class Entry>
using Find = int(const char* name, Entry* entry, char* text, std::size_t size, Entry** found);

/// A number, or the id of a name. The highest number means "unchanged" to chown.
template <class Entry>
std::expected<unsigned, Unfit> read_id(std::string_view text, std::size_t at, std::string_view what,
                                       Find<Entry>* find, unsigned Entry::*id_of) {
  if (text.empty()) return unfit(at, fmt::format("the name of a {} is missing", what));
  if (is_number(text)) {
    const auto id = number_in<unsigned>(text);
    if (id && *id != std::numeric_limits<unsigned>::max()) return *id;
    return unfit(at, fmt::format("{} is not the number of a {}", in_quotes(text), what));
  }
  EntryText room;
  Entry entry{};
  Entry* found = nullptr;
  if (find(std::string(text).c_str(), &entry, room.data(), room.size(), &found) == 0 &&
      found != nullptr)
    return entry.*id_of;
  return unfit(at, fmt::format("this system has no {} {}", what, in_quotes(text)));
}

}  // namespace

std::expected<void, Unfit> read_owner(std::string_view owner, SocketAccess& access) {
  const auto colon = owner.find(':');
  const auto user = owner.substr(0, colon);
  if (!user.empty() || colon == owner.npos) {
    const auto id = read_id(user, 0, "user", ::getpwnam_r, &passwd::pw_uid);
    if (!id) return std::unexpected(id.error());
    access.user = *id;
  }
  if (colon == owner.npos) return {};
  const auto id =
      read_id(owner.substr(colon + 1), colon + 1, "group", ::getgrnam_r, &group::gr_gid);
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
