#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "balancer/core/query.hpp"
#include "config/settings/address_range.hpp"

namespace karmad {

/// A user and a password, as a client has sent them.
struct SentPassword {
  std::string user;
  std::string password;
};

/// Those in the value of a field Authorization; nothing if it has none, or they are not valid (RFC
/// 7617): without a colon, or with control characters.
std::optional<SentPassword> sent_password(std::string_view field);
/// The token in the value of a field Authorization (RFC 6750); empty: it has none.
std::string_view sent_token(std::string_view field);

/// What agents with these credentials get in the field Authorization of a query, empty: none;
/// nothing: what the dialect sends anyway. They never get the admin token, which counts where
/// queries are, too (`admin_on_query_port`).
std::optional<std::string_view> authorization_for(const AgentCredentials& credentials,
                                                  const Query& query);

/// Whether the password has that hash of crypt(3): bcrypt, yescrypt, SHA-512 … Takes 50 ms and
/// more. Any thread.
bool matches_hash(const std::string& hash, const std::string& password);
/// Whether one of the clients has that token. Takes the same time whichever it is. Any thread.
bool is_known_token(std::span<const KnownClient> clients, std::string_view token);

/// Whether the password is for clients of MySQL, and not for crypt(3).
bool is_of_mysql(const KnownClient& client);
/// Whether a client of MySQL that got `salt` has proved with mysql_native_password that it knows
/// the password with that hash: `*` and SHA1(SHA1(password)).
bool proves_native(std::string_view hash, std::string_view salt, std::string_view proof);

/// Counts and logs wrong credentials. The time to wait if their address has had too many: then they
/// were not to be looked at. `why`: for the log, without any secret.
std::optional<Micros> note_refused_client(Worker& worker, const std::optional<IpAddress>& address,
                                          std::string_view client, std::string_view why);

/// A request whose credentials are checked.
struct AuthRequest {
  Worker& worker;
  const Topology& topology;
  const ClientAuth& auth;  ///< what its listener wants
  const RequestHead& head;
  const std::optional<IpAddress>& address;  ///< none: a unix socket
  std::string_view client;                  ///< the same as text
};

/// Checks the credentials of a client; the answer if it is not served, with status 401, or 429
/// where its address had too many refused ones. A slow hash that is not remembered is computed on a
/// helper thread. All arguments must outlive the task.
Task<std::optional<Answer>> refuse_client(const AuthRequest& request);

}  // namespace karmad
