#include "balancer/operate/secrets.hpp"

#include <crypt.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/operate/state_file.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestCredentials = 4096;
constexpr std::string_view kForms =
    "write one line: basic USER:PASSWORD, bearer TOKEN or apikey TOKEN";

constexpr std::size_t kLongestList = 4 << 20;
constexpr std::size_t kMostClients = 10'000;
constexpr std::size_t kShortestHash = 20;
constexpr std::size_t kShortestBearer = 16;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kNativeBytes = 20;
constexpr std::string_view kHashed = "sha256:";
constexpr std::string_view kNative = "mysql_native:*";

std::string sha256(std::string_view text) {
  std::string digest(kHashBytes, '\0');
  if (EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                 EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 failed");
  return digest;
}

std::optional<std::string> bytes_of_hex(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  std::size_t size = 0;
  if (hex.size() % 2 != 0 ||
      OPENSSL_hexstr2buf_ex(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), &size,
                            std::string(hex).c_str(), '\0') != 1)
    return std::nullopt;
  return bytes;
}

bool is_visible(char c) {
  return c > ' ' && c < 0x7f;
}
/// A byte of a password: also of UTF-8, and a blank.
bool is_of_password(char c) {
  return static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
}

/// Takes the next line and its end off `text`.
std::string_view take_line(std::string_view& text) {
  auto line = take_until(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::unexpected<SecretMistake> secret_mistake(std::size_t offset, std::string message,
                                              unsigned line = 1) {
  return std::unexpected(
      SecretMistake{line, static_cast<unsigned>(offset + 1), std::move(message)});
}

/// `at`: its place in the line.
std::expected<std::string, SecretMistake> basic_credentials(std::string_view pair, std::size_t at) {
  const auto colon = pair.find(':');
  if (colon == pair.npos || colon == 0)
    return secret_mistake(at, "expected USER:PASSWORD after basic");
  const auto wrong = std::ranges::find_if_not(pair, is_of_password);
  if (wrong != pair.end())
    return secret_mistake(at + static_cast<std::size_t>(wrong - pair.begin()),
                          "a user or password has no control characters");
  return "Basic " + base64_of(pair);
}

std::expected<std::string, SecretMistake> token_credentials(std::string_view scheme,
                                                            std::string_view token,
                                                            std::size_t at) {
  if (token.empty()) return secret_mistake(at, "the token is missing");
  const auto wrong = std::ranges::find_if_not(token, is_visible);
  if (wrong != token.end())
    return secret_mistake(at + static_cast<std::size_t>(wrong - token.begin()),
                          "a token has visible ASCII characters only");
  return fmt::format("{} {}", scheme, token);
}

void read_token(const std::optional<Located<std::string>>& file, std::string_view key,
                std::string& secret, Problems& problems) {
  if (!file) return;
  auto text = read_token_file(file->value);
  if (text)
    secret = *std::move(text);
  else
    problems.push_back({file->at, fmt::format("{} {}: {}", key, file->value, text.error())});
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Reads a file of at most `most` bytes by `parse` into `into`.
template <class Into, class Parse>
void read_by(const Place& at, std::string_view key, const std::string& path, std::size_t most,
             Parse parse, Into& into, Problems& problems, Problems& notices) {
  const auto file = read_secret_file(path, most);
  // Several tables may inherit the same setting.
  const auto add = [](Problems& to, Problem what) {
    if (std::ranges::find(to, what) == to.end()) to.push_back(std::move(what));
  };
  if (!file) return add(problems, {at, fmt::format("{} {}: {}", key, path, file.error())});
  if (file->is_public)
    add(notices,
        {at, fmt::format("{} {}: every user of this host may read it; chmod o-r", key, path),
         Problem::Severity::warning});
  std::string_view text = file->content;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  auto read = parse(text);
  if (read)
    into = *std::move(read);
  else
    add(problems, {{path, read.error().line, read.error().column},
                   fmt::format("{}: {}", key, read.error().message)});
}

}  // namespace

std::expected<std::string, SecretMistake> parse_credentials(std::string_view text) {
  auto line = take_line(text);
  const auto first = std::min(line.find_first_not_of(" \t"), line.size());
  const auto blank = std::min(line.find_first_of(" \t", first), line.size());
  const auto scheme = lower(line.substr(first, blank - first));
  const auto at = std::min(line.find_first_not_of(" \t", blank), line.size());
  const auto rest = line.substr(at);
  for (unsigned number = 2; !text.empty(); ++number)
    if (!trimmed(take_line(text)).empty()) return secret_mistake(0, std::string(kForms), number);
  if (scheme == "basic") return basic_credentials(rest, at);
  // A blank at the end is no part of a token.
  if (scheme == "bearer") return token_credentials("Bearer", trimmed(rest), at);
  if (scheme == "apikey") return token_credentials("ApiKey", trimmed(rest), at);
  return secret_mistake(first, std::string(kForms));
}

std::expected<std::vector<KnownClient>, SecretMistake> parse_users(std::string_view text) {
  std::vector<KnownClient> users;
  for (unsigned number = 1; !text.empty(); ++number) {
    const auto line = trimmed(take_line(text));
    if (line.empty() || line.starts_with('#')) continue;
    const auto colon = line.find(':');
    if (colon == line.npos || colon == 0) return secret_mistake(0, "expected user:hash", number);
    const auto user = line.substr(0, colon);
    const std::string hash(line.substr(colon + 1));
    if (!std::ranges::all_of(user, is_of_password))
      return secret_mistake(0, "a user has no control characters", number);
    const bool mysql = hash.starts_with(kNative);
    if (std::ranges::any_of(users, [&](const KnownClient& other) {
          return other.user == user && other.hash.starts_with('*') == mysql;
        }))
      return secret_mistake(0, "the user is in an earlier line", number);
    if (users.size() == kMostClients) return secret_mistake(0, "more than 10000 users", number);
    if (mysql) {
      const auto bytes = bytes_of_hex(std::string_view(hash).substr(kNative.size()));
      if (!bytes || bytes->size() != kNativeBytes)
        return secret_mistake(colon + 1 + kNative.size(), "expected 40 digits of hex after *",
                              number);
      users.push_back({std::string(user), '*' + *bytes});
      continue;
    }
    if (hash.size() < kShortestHash || !hash.starts_with('$') ||
        !std::ranges::all_of(hash, is_visible) || ::crypt_checksalt(hash.c_str()) != CRYPT_SALT_OK)
      return secret_mistake(
          colon + 1,
          "expected a hash of crypt(3): bcrypt ($2y$…, $2b$…; `htpasswd -B`), yescrypt "
          "($y$…; `mkpasswd`) or SHA-512 ($6$…)",
          number);
    users.push_back({std::string(user), hash});
  }
  if (users.empty()) return secret_mistake(0, "expected lines user:hash, and there is none");
  return users;
}

std::expected<std::vector<KnownClient>, SecretMistake> parse_tokens(std::string_view text) {
  std::vector<KnownClient> tokens;
  for (unsigned number = 1; !text.empty(); ++number) {
    const auto line = trimmed(take_line(text));
    if (line.empty() || line.starts_with('#')) continue;
    std::string hash;
    if (line.starts_with(kHashed)) {
      const auto hex = line.substr(kHashed.size());
      const auto bytes = bytes_of_hex(hex);
      if (!bytes || bytes->size() != kHashBytes)
        return secret_mistake(kHashed.size(), "expected 64 digits of hex after sha256:", number);
      hash = *bytes;
    } else {
      if (line.size() < kShortestBearer || !std::ranges::all_of(line, is_visible))
        return secret_mistake(0, "a token has 16 or more visible ASCII characters", number);
      hash = sha256(line);
    }
    tokens.push_back({{}, std::move(hash)});
    if (tokens.size() > kMostClients) return secret_mistake(0, "more than 10000 tokens", number);
  }
  if (tokens.empty()) return secret_mistake(0, "expected a token in each line, and there is none");
  return tokens;
}

Problems read_secrets(Settings& settings, std::span<const Listen> in_use) {
  Problems problems;
  auto& searchd = settings.searchd;
  read_token(searchd.admin_token_file, "admin_token_file", searchd.admin_token, problems);
  read_token(searchd.scroll_key_file, "scroll_key_file", searchd.scroll_key, problems);
  for (auto& table : settings.tables)
    if (table.credentials)
      read_by(table.credentials->at, "credentials", table.credentials->value, kLongestCredentials,
              parse_credentials, table.authorization, problems, settings.notices);
  const auto read_clients = [&](const Place& at, std::string_view key, const ClientAuth& by) {
    auto& known = searchd.known_clients;
    if (std::ranges::find(known, by, &KnownClients::by) != known.end()) return;
    const bool basic = by.kind == ClientAuth::Kind::basic;
    known.push_back({by, {}});
    read_by(at, key, by.file, kLongestList, basic ? parse_users : parse_tokens, known.back().all,
            problems, settings.notices);
  };
  if (searchd.auth) read_clients(searchd.auth->at, "auth", searchd.auth->value);
  for (const auto& listen : searchd.listen)
    if (listen.auth) read_clients(listen.at, "listen", *listen.auth);
  for (const auto& listen : in_use)
    if (listen.auth) read_clients(listen.at, "listen, in use until a restart:", *listen.auth);
  return problems;
}

bool have_same_secrets(const Settings& one, const Settings& other) {
  const auto of_process = [](const InstanceSettings& searchd) {
    return std::tie(searchd.admin_token, searchd.scroll_key, searchd.known_clients);
  };
  return of_process(one.searchd) == of_process(other.searchd) &&
         std::ranges::equal(one.tables, other.tables, {}, &TableSettings::authorization,
                            &TableSettings::authorization);
}

}  // namespace karmad
