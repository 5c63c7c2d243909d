#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace karmad::mysql {

// The packets of the MySQL protocol: a length of three bytes, a number, and the payload. A payload
// of 16 MiB - 1 bytes or more continues in the next packet.

inline constexpr std::size_t kPacketHeader = 4;
inline constexpr std::size_t kLongestPacket = 0xffffff;

/// What has arrived of the packets of one payload.
struct Framing {
  enum class State : std::uint8_t {
    incomplete,
    complete,
    too_large,    ///< the payload is larger than allowed
    out_of_order  ///< a packet has a wrong number
  };
  State state = State::incomplete;
  std::size_t size = 0;       ///< bytes of all its packets; incomplete: as far as known
  std::size_t packets = 0;    ///< those whose header has arrived
  std::uint8_t sequence = 0;  ///< number of the packet after them
};

/// Reads the headers of the payload at the beginning of `bytes`, whose first packet has the number
/// `sequence`. `most`: the longest payload.
Framing frame_packets(std::string_view bytes, std::uint8_t sequence, std::size_t most);

/// Removes the headers between the packets of a complete payload. Returns the payload, a view into
/// `bytes`; what follows it begins at its end.
std::string_view join_packets(std::string& bytes, const Framing& framing);

/// Reads the fields of a payload. Reading past its end gives zeros and empty texts, and `ok()` is
/// false from then on.
class Fields {
 public:
  explicit Fields(std::string_view payload) : rest_(payload) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }
  /// A little-endian number of 1 to 8 bytes.
  std::uint64_t integer(std::size_t bytes);
  /// A number of variable length.
  std::uint64_t length();
  std::string_view bytes(std::uint64_t count);
  /// A text with its length before it.
  std::string_view text() { return bytes(length()); }
  /// A text that ends with a zero byte.
  std::string_view text_to_zero();

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Bytes of a number of variable length.
constexpr std::size_t length_size(std::uint64_t value) {
  return value < 0xfb ? 1 : value <= 0xffff ? 3 : value <= 0xffffff ? 4 : 9;
}

/// Writes packets, one after the other, into a buffer.
class Writer {
 public:
  /// `out` must outlive it. `sequence`: number of the first packet.
  explicit Writer(std::string& out, std::uint8_t sequence = 0) : out_(out), sequence_(sequence) {}

  /// Begins a payload. One of `size` bytes ends with its last byte, without end(). The buffer may
  /// be emptied at any time then, so a long payload need not be there as a whole.
  void begin(std::optional<std::size_t> size = {});
  /// Ends the payload.
  void end() { write_header(kLongestPacket - room_); }
  void integer(std::uint64_t value, std::size_t bytes);
  void length(std::uint64_t value);
  void bytes(std::string_view text);
  /// A text with its length before it.
  void text(std::string_view text);
  void text_and_zero(std::string_view text);
  void zeros(std::size_t count);

  std::string& out() { return out_; }
  /// Number of the next packet.
  std::uint8_t sequence() const { return sequence_; }

 private:
  void begin_packet();
  void write_header(std::size_t size);

  std::string& out_;
  std::uint8_t sequence_;
  std::optional<std::size_t> left_;    ///< size of the further packets; nothing: not known
  std::size_t began_ = 0;              ///< place of the packet's header
  std::size_t room_ = kLongestPacket;  ///< bytes until the packet is full
};

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
