#include "balancer/admission/client_auth.hpp"

#include <crypt.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {
namespace {

constexpr std::size_t kLongestPassword = 512;  // what crypt(3) reads

/// What follows the scheme in a field Authorization; empty: it has another one.
std::string_view after_scheme(std::string_view field, std::string_view scheme) {
  if (field.size() <= scheme.size() || field[scheme.size()] != ' ' ||
      !wire::same_word(field.substr(0, scheme.size()), scheme))
    return {};
  return wire::trimmed(field.substr(scheme.size()));
}

bool same_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Whether the value of a field Authorization has the admin token, and that counts where queries
/// are.
bool has_admin_token(const InstanceSettings& settings, std::string_view field) {
  return settings.admin_on_query_port.value && !settings.admin_token.empty() &&
         same_bytes(sent_token(field), settings.admin_token);
}

Answer limit(const AuthRequest& request, Micros wait) {
  request.worker.counters.add(Count::auth_limited);
  auto answer = refusal_at(request.topology, request.head.path, 429,
                           "too many wrong credentials came from this address");
  answer.retry_after = static_cast<unsigned>(
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count()));
  return answer;
}

/// 401. `why`: for the log; empty: the client has sent nothing, which is no attempt.
Answer refuse(const AuthRequest& request, std::string_view why) {
  if (why.empty())
    request.worker.counters.add(Count::auth_refused);
  else if (const auto wait =
               note_refused_client(request.worker, request.address, request.client, why))
    return limit(request, *wait);
  static constexpr std::array kBasic{
      Field{kAuthenticate, R"(Basic realm="karmad", charset="UTF-8")"}};
  static constexpr std::array kBearer{Field{kAuthenticate, R"(Bearer realm="karmad")"}};
  const bool basic = request.auth.kind == ClientAuth::Kind::basic;
  auto answer = refusal_at(request.topology, request.head.path, 401,
                           why.empty() ? basic ? "this needs a user and a password (Authorization: "
                                                 "Basic)"
                                               : "this needs a token (Authorization: Bearer)"
                           : basic     ? "the user or the password is wrong"
                                       : "the token is not known");
  answer.fields = basic ? kBasic : kBearer;
  return answer;
}

/// The time that the address must wait for its next attempt.
std::optional<Micros> wait_of(const AuthRequest& request) {
  if (!request.address) return std::nullopt;
  return request.worker.limits.auth_failures.wait(*request.address, Loop::now());
}

}  // namespace

std::optional<SentPassword> sent_password(std::string_view field) {
  auto pair = bytes_of_base64(after_scheme(field, "Basic"));
  if (!pair) return std::nullopt;
  const auto colon = pair->find(':');
  const bool valid = colon != pair->npos && colon > 0 && pair->size() - colon <= kLongestPassword &&
                     std::ranges::all_of(*pair, [](char c) {
                       return static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
                     });
  std::optional<SentPassword> sent;
  if (valid) sent = {pair->substr(0, colon), pair->substr(colon + 1)};
  OPENSSL_cleanse(pair->data(), pair->size());
  return sent;
}

std::optional<Micros> note_refused_client(Worker& worker, const std::optional<IpAddress>& address,
                                          std::string_view client, std::string_view why) {
  if (address)
    if (const auto wait = worker.limits.auth_failures.take(*address, Loop::now())) return wait;
  worker.counters.add(Count::auth_refused);
  if (const auto left_out = worker.auth_lines.may_write(Loop::now()))
    spdlog::warn(
        "{} was refused: {}{}", client.empty() ? "a client" : fmt::format("client {}", client), why,
        *left_out == 0 ? "" : fmt::format(" ({} more since the last such message)", *left_out));
  return std::nullopt;
}

bool is_of_mysql(const KnownClient& client) {
  return client.hash.starts_with('*');
}

bool proves_native(std::string_view hash, std::string_view salt, std::string_view proof) {
  // The client sends SHA1(password) XOR SHA1(salt, SHA1(SHA1(password))).
  using Digest = std::array<unsigned char, 20>;
  constexpr std::size_t kSize = Digest().size();
  const auto sha1 = [](std::string_view text, Digest& into) {
    return EVP_Digest(text.data(), text.size(), into.data(), nullptr, EVP_sha1(), nullptr) == 1;
  };
  Digest mask{};
  Digest once{};
  Digest twice{};
  hash.remove_prefix(std::min<std::size_t>(1, hash.size()));  // the `*`
  if (proof.size() != kSize || hash.size() != kSize || !sha1(std::string(salt).append(hash), mask))
    return false;
  for (std::size_t i = 0; i < kSize; ++i)
    once[i] = static_cast<unsigned char>(static_cast<unsigned char>(proof[i]) ^ mask[i]);
  return sha1({reinterpret_cast<const char*>(once.data()), kSize}, twice) &&
         CRYPTO_memcmp(twice.data(), hash.data(), kSize) == 0;
}

std::string_view sent_token(std::string_view field) {
  return after_scheme(field, "Bearer");
}

std::optional<std::string_view> authorization_for(const AgentCredentials& credentials,
                                                  const Query& query) {
  const auto& settings = query.topology->settings;
  if (!credentials.differs && !settings.admin_on_query_port.value) return std::nullopt;
  const auto sent = query.request.fields.find(kAuthorization);
  const bool is_admin = has_admin_token(settings, sent);
  if (!credentials.differs && !is_admin) return std::nullopt;
  return credentials.for_client(is_admin ? std::string_view() : sent);
}

bool matches_hash(const std::string& hash, const std::string& password) {
  const auto data = std::make_unique<crypt_data>();
  const char* const made = ::crypt_r(password.c_str(), hash.c_str(), data.get());
  const bool same = made != nullptr && same_bytes(made, hash);
  OPENSSL_cleanse(data.get(), sizeof *data);
  return same;
}

bool is_known_token(std::span<const KnownClient> clients, std::string_view token) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(token.data(), token.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    return false;
  const std::string_view hash(reinterpret_cast<const char*>(digest.data()), size);
  bool known = false;
  for (const auto& client : clients) known = same_bytes(client.hash, hash) || known;
  return known;
}

Task<std::optional<Answer>> refuse_client(const AuthRequest& request) {
  auto& worker = request.worker;
  const auto& settings = request.topology.settings;
  if (request.head.repeats(kAuthorization)) {
    worker.counters.add(Count::auth_refused);
    co_return refusal_at(request.topology, request.head.path, 400,
                         "more than one field Authorization");
  }
  const auto field = request.head.find(kAuthorization);
  const auto token = sent_token(field);
  // Admin calls have their own token, also where queries are.
  if (has_admin_token(settings, field)) co_return std::nullopt;
  const auto clients = settings.known_by(request.auth);
  if (request.auth.kind == ClientAuth::Kind::bearer) {
    if (token.empty()) co_return refuse(request, {});
    if (is_known_token(clients, token)) co_return std::nullopt;
    co_return refuse(request, "its token is not known");
  }
  auto sent = sent_password(field);
  if (!sent) co_return refuse(request, {});
  const auto known = std::ranges::find_if(clients, [&](const KnownClient& client) {
    return !is_of_mysql(client) && client.user == sent->user;
  });
  const bool is_known = known != clients.end();
  // The password of an unknown user takes as long: the time does not tell who is known.
  const auto any = std::ranges::find_if_not(clients, is_of_mysql);
  if (any == clients.end()) co_return refuse(request, "all users are for MySQL only");
  const std::string hash = is_known ? known->hash : any->hash;
  const auto key = VerifiedPasswords::key_of(sent->user, hash, sent->password);
  if (is_known && worker.verified.contains(key)) co_return std::nullopt;
  if (const auto wait = wait_of(request)) co_return limit(request, *wait);
  bool matches = false;
  bool looked = false;
  auto verify = [&] {
    // While it waited for a thread, other guesses of this address may have failed.
    looked = !wait_of(request);
    if (looked) matches = matches_hash(hash, sent->password);
    OPENSSL_cleanse(sent->password.data(), sent->password.size());
  };
  auto end = ThreadPool::End::done;
  if (auto* const helpers = worker.process.helpers) {
    Stop stop(worker.loop);
    stop.arm(Loop::now() + settings.request_timeout.value, StopReason::deadline);
    constexpr std::size_t kCost = 64 << 10;  // as much as long work on so many bytes
    end = co_await helpers->run(worker.loop, stop, work_on(kCost, request.client), verify);
    stop.disarm();
  } else {
    verify();
  }
  if (end != ThreadPool::End::done) co_return answer_with(too_much_long_work());
  if (!looked) co_return limit(request, wait_of(request).value_or(Micros(1s)));
  worker.counters.add(Count::auth_verified);
  if (!matches || !is_known)
    co_return refuse(
        request, is_known ? fmt::format("the password of user {} is wrong", in_quotes(sent->user))
                          : "its user is not known");
  worker.verified.add(key, settings.auth_remembered.value);
  co_return std::nullopt;
}

}  // namespace karmad
