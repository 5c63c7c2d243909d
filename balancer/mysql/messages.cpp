#include "balancer/mysql/messages.hpp"

#include "agent/dialect/replies/judge.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"

namespace karmad::mysql {
namespace {

using namespace capability;

constexpr std::size_t kSaltStart = 8;  // the rest of the salt is further behind

void write_eof(Writer& out, const Ok& ok) {
  out.begin();
  out.integer(0xfe, 1);
  out.integer(ok.warnings, 2);
  out.integer(ok.status, 2);
  out.end();
}

/// Of a client without long data of authentication.
std::string_view authentication_in(Fields& fields, std::uint32_t capabilities) {
  const bool has_length = (capabilities & kSecureConnection) != 0;
  return has_length ? fields.bytes(fields.integer(1)) : fields.text_to_zero();
}

}  // namespace

Error error_of_answer(int status, std::string text) {
  if (status == 429 || status == 503) return {1040, "08004", std::move(text)};
  if (status == 504) return {3024, "HY000", std::move(text)};
  if (status == 403) return {1227, "42000", std::move(text)};
  if (status == 413) return {1153, "08S01", std::move(text)};
  if (text.contains("is not valid UTF-8")) return {1300, "HY000", std::move(text)};
  if (text.contains("syntax error") || text.starts_with("P0"))
    return {1064, "42000", std::move(text)};
  if (text.contains("duplicate id")) return {1062, "23000", std::move(text)};
  if (contains_folded(text, "unknown column") || text.contains("no such filter attribute") ||
      (text.contains("attribute '") && text.contains("' not found")))
    return {1054, "42S22", std::move(text)};
  if (status == 404 || text.contains("unknown local table") || text.contains("unknown table") ||
      text.contains("no such table"))
    return {1146, "42S02", std::move(text)};
  if (text.contains("Unknown system variable")) return {1193, "HY000", std::move(text)};
  // What a mirror says of the statement; drivers take 1105 for trouble of the server.
  const bool is_mistake = blame_of(text, nullptr) == Blame::client || is_update_conflict(text);
  if (status == 400 || (status <= 500 && is_mistake)) return {1064, "42000", std::move(text)};
  return {1105, "HY000", std::move(text)};
}

Login::Proof proof_in(std::string_view authentication) {
  if (authentication.empty()) return Login::Proof::none;
  const bool is_zero = authentication == std::string_view("\0", 1);
  return is_zero ? Login::Proof::nothing : Login::Proof::password;
}

bool asks_for_tls(std::string_view payload) {
  constexpr std::size_t kAlone = 4 + 4 + 1 + 23;  // nothing of the user follows
  return payload.size() == kAlone && (Fields(payload).integer(4) & kTls) != 0;
}

std::expected<Handshake, Error> read_handshake(std::string_view payload, bool encrypted) {
  const auto bad = [](std::string text) {
    return std::unexpected(Error{1043, "08S01", std::move(text)});
  };
  Fields fields(payload);
  Handshake said;
  auto& login = said.login;
  const auto capabilities = static_cast<std::uint32_t>(fields.integer(4));
  if ((capabilities & kProtocol41) == 0) return bad("a client of MySQL 4.0 or older");
  if ((capabilities & kTls) != 0 && !encrypted)
    return bad(
        "this karmad has no tls_certificate; connect without TLS (--skip-ssl, "
        "ssl-mode = DISABLED)");
  // Some clients, as that of PHP, compress what they send although it is not offered.
  if ((capabilities & kCompress) != 0)
    return bad("karmad does not offer compression; connect without it (MYSQL_ATTR_COMPRESS)");
  fields.integer(4);  // its longest packet
  fields.bytes(1 + 23);
  login.user = fields.text_to_zero();
  const bool has_long_data = (capabilities & kLongAuthData) != 0;
  login.proof = proof_in(has_long_data ? fields.text() : authentication_in(fields, capabilities));
  // Some clients leave out what follows although they promise it.
  if ((capabilities & kConnectWithDatabase) != 0 && !fields.rest().empty())
    login.database = fields.text_to_zero();
  if ((capabilities & kPluginAuth) != 0 && !fields.rest().empty())
    login.plugin = fields.text_to_zero();
  if (!fields.ok()) return bad("the answer to the greeting cannot be read");
  said.capabilities = capabilities & kOffered;
  return said;
}

std::optional<Login> read_change_user(std::string_view payload, std::uint32_t capabilities) {
  constexpr std::size_t kCharset = 2;
  Fields fields(payload);
  Login login;
  login.user = fields.text_to_zero();
  login.proof = proof_in(authentication_in(fields, capabilities));
  if (!fields.rest().empty()) login.database = fields.text_to_zero();
  if (!fields.rest().empty()) fields.bytes(kCharset);
  if ((capabilities & kPluginAuth) != 0 && !fields.rest().empty())
    login.plugin = fields.text_to_zero();
  if (!fields.ok()) return std::nullopt;
  return login;
}

void write_greeting(Writer& out, std::uint32_t connection, std::string_view salt, bool tls) {
  const auto offered = kOffered | (tls ? kTls : 0);
  out.begin();
  out.integer(10, 1);  // version of the protocol
  out.text_and_zero(kVersion);
  out.integer(connection, 4);
  out.text_and_zero(salt.substr(0, kSaltStart));
  out.integer(offered & 0xffff, 2);
  out.integer(kUtf8Collation, 1);
  out.integer(status_flag::kAutocommit, 2);
  out.integer(kOffered >> 16, 2);
  out.integer(kSaltSize + 1, 1);
  out.zeros(10);
  out.text_and_zero(salt.substr(kSaltStart));
  out.text_and_zero(kNativePassword);
  out.end();
}

void write_auth_switch(Writer& out, std::string_view plugin, std::string_view salt) {
  out.begin();
  out.integer(0xfe, 1);
  out.text_and_zero(plugin);
  out.text_and_zero(salt);
  out.end();
}

void write_fast_auth(Writer& out) {
  out.begin();
  out.integer(1, 1);
  out.integer(3, 1);
  out.end();
}

void write_ok(Writer& out, const Ok& ok, std::uint8_t mark) {
  out.begin();
  out.integer(mark, 1);
  out.length(ok.affected);
  out.length(ok.last_insert_id);
  out.integer(ok.status, 2);
  out.integer(ok.warnings, 2);
  out.end();
}

void write_error(Writer& out, const Error& error) {
  out.begin();
  out.integer(0xff, 1);
  out.integer(error.code, 2);
  out.bytes("#");
  out.bytes(error.state);
  out.bytes(shortened_utf8(error.text, kLongestErrorText));
  out.end();
}

void write_end(Writer& out, std::uint32_t capabilities, const Ok& ok) {
  if ((capabilities & kDeprecateEof) != 0) return write_ok(out, ok, 0xfe);
  write_eof(out, ok);
}

void write_end_of_columns(Writer& out, std::uint32_t capabilities, const Ok& ok) {
  if ((capabilities & kDeprecateEof) == 0) write_eof(out, ok);
}

void write_column(Writer& out, const Column& column) {
  constexpr std::uint16_t kUnsigned = 32;
  constexpr std::uint8_t kAnyDecimals = 31;
  constexpr std::uint16_t kUtf8 = 33;  // of all columns, as the search server
  const bool is_real = column.type == Type::real32 || column.type == Type::real64;
  const std::uint32_t longest = column.type == Type::string   ? 255
                                : column.type == Type::long32 ? 11
                                                              : 20;
  out.begin();
  out.text("def");
  out.zeros(3);  // schema, table, original table: empty texts
  out.text(column.name);
  out.text(column.name);
  out.length(12);  // bytes of the following fields
  out.integer(kUtf8, 2);
  out.integer(longest, 4);
  out.integer(static_cast<std::uint8_t>(column.type), 1);
  out.integer(column.is_unsigned ? kUnsigned : 0, 2);
  out.integer(is_real && column.any_decimals ? kAnyDecimals : 0, 1);
  out.zeros(2);
  out.end();
}

}  // namespace karmad::mysql
