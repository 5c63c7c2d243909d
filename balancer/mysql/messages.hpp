#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "balancer/mysql/packets.hpp"

namespace karmad::mysql {

/// Capabilities that client and server agree on in the handshake.
namespace capability {
inline constexpr std::uint32_t kLongPassword = 1U << 0;
inline constexpr std::uint32_t kFoundRows = 1U << 1;
inline constexpr std::uint32_t kLongFlag = 1U << 2;
inline constexpr std::uint32_t kConnectWithDatabase = 1U << 3;
inline constexpr std::uint32_t kCompress = 1U << 5;
inline constexpr std::uint32_t kProtocol41 = 1U << 9;
inline constexpr std::uint32_t kInteractive = 1U << 10;
inline constexpr std::uint32_t kTls = 1U << 11;
inline constexpr std::uint32_t kTransactions = 1U << 13;
inline constexpr std::uint32_t kSecureConnection = 1U << 15;
inline constexpr std::uint32_t kMultiStatements = 1U << 16;
inline constexpr std::uint32_t kMultiResults = 1U << 17;
inline constexpr std::uint32_t kPreparedMultiResults = 1U << 18;
inline constexpr std::uint32_t kPluginAuth = 1U << 19;
inline constexpr std::uint32_t kConnectAttributes = 1U << 20;
inline constexpr std::uint32_t kLongAuthData = 1U << 21;
inline constexpr std::uint32_t kDeprecateEof = 1U << 24;
}  // namespace capability

/// What karmad offers. No TLS, no compression, no local files.
inline constexpr std::uint32_t kOffered =
    capability::kLongPassword | capability::kFoundRows | capability::kLongFlag |
    capability::kConnectWithDatabase | capability::kProtocol41 | capability::kInteractive |
    capability::kTransactions | capability::kSecureConnection | capability::kMultiStatements |
    capability::kMultiResults | capability::kPreparedMultiResults | capability::kPluginAuth |
    capability::kConnectAttributes | capability::kLongAuthData | capability::kDeprecateEof;

/// The version that clients see; several of them read the number before the first dash.
inline constexpr std::string_view kVersion = "8.0.0-karmad-" KARMAD_VERSION;
/// utf8mb4_general_ci, the collation of the connection.
inline constexpr std::uint8_t kUtf8Collation = 45;
/// Bytes of the salt in the greeting.
inline constexpr std::size_t kSaltSize = 20;

/// An error packet.
struct Error {
  std::uint16_t code = 1105;         ///< as in MySQL; 1105: any other error
  std::string_view state = "HY000";  ///< SQLSTATE: five characters
  std::string text;
};

/// A row of SHOW WARNINGS.
struct Warning {
  std::string_view level = "warning";
  std::uint16_t code = 1000;
  std::string text;
};

/// Clients have a buffer of 512 bytes for the text of an error, and its end; PHP loses the place of
/// the next packet behind an error that is longer than its buffer of 4096 bytes.
inline constexpr std::size_t kLongestErrorText = 511;

/// The error for an answer of the pipeline: by its HTTP status and its text.
Error error_of_answer(int status, std::string text);

/// Who a client says to be. Any user with any password is welcome.
struct Login {
  /// What it proves its password with.
  enum class Proof : std::uint8_t {
    none,      ///< it waits for a salt
    nothing,   ///< it has no password
    password,  ///< of one
  };
  std::string user;
  std::string database;
  std::string plugin;  ///< of authentication; empty: that of the greeting
  Proof proof = Proof::none;
};
Login::Proof proof_in(std::string_view authentication);

/// What a client says in its answer to the greeting.
struct Handshake {
  std::uint32_t capabilities = 0;  ///< those that both sides have
  Login login;
};
/// The client wants TLS; what it says comes encrypted then.
bool asks_for_tls(std::string_view payload);
/// `encrypted`: the connection is.
std::expected<Handshake, Error> read_handshake(std::string_view payload, bool encrypted = false);

/// Who a client is from now on (COM_CHANGE_USER); nothing: it cannot be read.
std::optional<Login> read_change_user(std::string_view payload, std::uint32_t capabilities);

inline constexpr std::string_view kNativePassword = "mysql_native_password";
inline constexpr std::string_view kCachingSha2Password = "caching_sha2_password";

/// The first packet of a connection. `salt`: kSaltSize bytes, none of them zero. `tls`: it is
/// offered.
void write_greeting(Writer& out, std::uint32_t connection, std::string_view salt, bool tls = false);
/// Asks for authentication with that plugin.
void write_auth_switch(Writer& out, std::string_view plugin, std::string_view salt);
/// Tells a client of caching_sha2_password that its password is known.
void write_fast_auth(Writer& out);

/// Flags of the state of a connection.
namespace status_flag {
inline constexpr std::uint16_t kInTransaction = 1;
inline constexpr std::uint16_t kAutocommit = 2;
inline constexpr std::uint16_t kMoreResults = 8;  ///< further results of the same request follow
}  // namespace status_flag

struct Ok {
  std::uint64_t affected = 0;
  std::uint16_t status = status_flag::kAutocommit;
  std::uint16_t warnings = 0;
  std::uint64_t last_insert_id = 0;
};
/// `mark` 0xfe: what replaces EOF for newer clients.
void write_ok(Writer& out, const Ok& ok = {}, std::uint8_t mark = 0);
/// At most kLongestErrorText bytes of its text.
void write_error(Writer& out, const Error& error);
/// Ends a list of rows, or of what else has no number of elements.
void write_end(Writer& out, std::uint32_t capabilities, const Ok& ok = {});
/// Ends a list of columns or parameters; nothing for clients that do without.
void write_end_of_columns(Writer& out, std::uint32_t capabilities, const Ok& ok = {});

enum class Type : std::uint8_t {
  old_decimal = 0,
  tiny = 1,
  small = 2,
  long32 = 3,
  real32 = 4,
  real64 = 5,
  null = 6,
  timestamp = 7,
  long64 = 8,
  int24 = 9,
  date = 10,
  datetime = 12,
  year = 13,
  varchar = 15,
  json = 245,
  decimal = 246,
  text_first = 247,  ///< this and all up to text_last are sent as texts
  string = 254,
  text_last = string,
};

struct Column {
  std::string_view name;
  Type type = Type::string;
  bool is_unsigned = false;
  bool any_decimals = false;  ///< for numbers in the binary form: clients would round them
};
/// Describes a column as the search server does.
void write_column(Writer& out, const Column& column);

}  // namespace karmad::mysql
