#include "balancer/discovery/following.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "agent/mirrors/attempt.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/tls.hpp"
#include "balancer/discovery/found.hpp"

namespace karmad {
namespace {

constexpr Micros kLongestStep = 5s;
constexpr Micros kLongestRequest = 15s;
constexpr Micros kHeadAlone = 100ms;  // without more, what follows a head is read line by line
constexpr std::size_t kReadAtOnce = 16 << 10;

constexpr std::size_t kLongestToken = 16 << 10;

/// The token, which is the first line of the file, or why there is none.
std::expected<std::string, std::string> read_token(const std::string& file) {
  std::string token;
  if (!std::getline(std::ifstream(file), token))
    return std::unexpected(fmt::format("{}: no token can be read", file));
  if (token.ends_with('\r')) token.pop_back();
  if (!is_sound_token(token))
    return std::unexpected(
        fmt::format("{}: its first line must be a token, without blanks, of at most {} bytes", file,
                    kLongestToken));
  return token;
}

/// Why a request has no answer of status 200.
std::string failure(const AttemptResult& result) {
  const auto status = result.reply.status;
  if (status != 0 && status != 200) {
    auto why = fmt::format("the answer has status {}", status);
    if (const auto body = result.reply.body(); !body.empty())
      why += fmt::format(": {}", body.substr(0, 200));
    return why;
  }
  if (result.outcome == Outcome::query_timeout) return "no answer in time";
  return result.connect || result.name_refused ? result.why : "cannot connect: " + result.why;
}

}  // namespace

bool is_sound_token(std::string_view token) {
  return !token.empty() && token.size() <= kLongestToken &&
         std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
}

SourceClient::SourceClient(const SourceRun& run, const SourceAccess& access, const Address& server,
                           Ending& ending)
    : loop_(run.loop),
      access_(access),
      ending_(ending),
      server_(std::make_shared<PlainServer>(server, run.dns)),
      pool_(loop_, server_, limits_, LookUp::at_load) {}

SourceClient::Step<SourceClient::Done> SourceClient::send(const SourceRequest& request,
                                                          ReplyLimits limits) {
  using Result = std::expected<Done, std::string>;
  if (connection_) std::exchange(connection_, {})->close();
  if (ending_.requested()) co_return Result(std::unexpected("closed"));
  if (access_.tls) {
    const TlsClientRules rules{.ca = access_.ca, .certificate = access_.certificate};
    auto made = TlsClient::read(rules);
    if (!made) co_return Result(std::unexpected(made.error().why));
    server_->tls(std::make_shared<TlsClient>(*std::move(made), rules, server_->address.host));
  }
  auto authorization = authorization_.value_or(std::string());
  if (!authorization_ && !access_.token.empty()) {
    const auto token = this->token();
    if (!token) co_return Result(std::unexpected(token.error()));
    authorization = "Bearer " + *token;
  }
  const std::array<Field, 3> fields{
      {{"Accept", "application/json"}, {"User-Agent", "karmad"}, {kAuthorization, authorization}}};
  const bool is_get = request.body.empty();
  const auto now = Loop::now();
  const AttemptRequest attempted{
      .began = now,
      .method = is_get ? "GET" : "POST",
      .target = request.target,
      .content_type = is_get ? "" : "application/json",
      .body = is_get ? std::nullopt : std::optional<std::string_view>(request.body),
      .extra = std::span(fields).first(authorization.empty() ? 2 : 3),
      .connect_timeout = kLongestStep,
      .query_timeout = kLongestStep,
      .deadline = now + kLongestRequest,
      .limits = limits};
  AttemptResult result;
  Ending::Wait wait(ending_);
  co_await attempt(loop_, pool_, attempted, wait.stop, result);
  connection_ = std::move(result.rest.on);
  left_ = result.reply.left;
  chunks_ = std::move(result.reply.chunks);
  if (result.outcome != Outcome::answered || result.reply.status != 200)
    co_return Result(std::unexpected(failure(result)));
  text_ = result.reply.body();
  searched_ = 0;
  co_return Result(Done{});
}

std::expected<std::string, std::string> SourceClient::token() const {
  return access_.token.empty() ? std::string() : read_token(access_.token);
}

SourceClient::Step<std::string> SourceClient::ask(const SourceRequest& request) {
  using Result = std::expected<std::string, std::string>;
  const auto sent =
      co_await send(request, {.most = kLongestSource, .most_is = "what a source may have"});
  if (!sent) co_return Result(std::unexpected(sent.error()));
  co_return Result(std::move(text_));
}

SourceClient::Step<SourceClient::Done> SourceClient::watch(const SourceRequest& request) {
  return send(request, {.most = kLongestSource,
                        .most_is = "what a source may have",
                        .whole = 0,
                        .open_end = true,
                        .pause = kHeadAlone});
}

/// Adds bytes of the answer to its text. False: they are malformed.
bool SourceClient::take(std::string_view bytes) {
  if (chunks_) {
    const auto used = chunks_->put(bytes, text_);
    if (used && chunks_->done()) left_ = 0;
    return used.has_value();
  }
  text_ += bytes;
  if (left_ != kOpenEnd) left_ -= std::min<std::uint64_t>(left_, bytes.size());
  return true;
}

SourceClient::Step<bool> SourceClient::read_some(Micros longest) {
  using Result = std::expected<bool, std::string>;
  std::array<char, kReadAtOnce> room{};
  auto got = connection_->read_now(room.data(), room.size());
  Ending::Wait wait(ending_);
  if (got.error == asio::error::would_block) {
    const auto guard = wait.stop.calling<&Connection::close>(*connection_);
    if (ending_.requested()) co_return Result(std::unexpected("closed"));
    wait.stop.arm(Loop::now() + longest, StopReason::query_timeout);
    connection_->start_read(room.data(), room.size());
    got = co_await connection_->read();
    wait.stop.disarm();
  }
  const bool is_well = !got.error && take({room.data(), got.size});
  if (!is_well || left_ == 0) {
    connection_->close();
    connection_.reset();
  }
  if (wait.stop.why() == StopReason::query_timeout) co_return Result(false);
  if (got.error == asio::error::eof) co_return Result(true);
  if (got.error) co_return Result(std::unexpected(got.error.message()));
  if (!is_well) co_return Result(std::unexpected("the answer is not HTTP"));
  if (text_.size() > kLongestSource)
    co_return Result(
        std::unexpected(fmt::format("a line is longer than {} bytes", kLongestSource)));
  co_return Result(true);
}

SourceClient::Step<std::optional<std::string>> SourceClient::next_line(Micros longest) {
  using Result = std::expected<std::optional<std::string>, std::string>;
  for (;;) {
    const auto end = text_.find('\n', searched_);
    if (end != std::string::npos) {
      auto line = text_.substr(0, end);
      text_.erase(0, end + 1);
      searched_ = 0;
      if (line.empty() || line == "\r") continue;
      co_return Result(std::optional(std::move(line)));
    }
    searched_ = text_.size();
    if (!connection_) co_return Result(std::unexpected("the answer has ended"));
    const auto read = co_await read_some(longest);
    if (!read) co_return Result(std::unexpected(read.error()));
    if (!*read && text_.empty()) co_return Result(std::optional<std::string>());
    if (!*read) co_return Result(std::unexpected("no answer in time"));
  }
}

Task<void> SourceClient::close() {
  if (connection_) std::exchange(connection_, {})->close();
  pool_.clear();
  // Closed connections return to the pool in later turns of the loop.
  while (!pool_.unused()) co_await next_turn(loop_);
}

Task<void> Following::pause(Micros time) {
  Ending::Wait wait(ending_);
  co_await sleep(run.loop, Loop::now() + time, wait.stop);
}

Task<void> FollowedSource::follow(std::shared_ptr<Following> of, Session session) {
  while (!of->stopped()) {
    const auto server = text(of->server());
    auto client = of->client();
    const auto why = co_await session(*of, client);
    co_await client.close();
    if (of->stopped()) break;
    of->report(std::unexpected(fmt::format("{}: {}", server, why)));
    co_await of->back_off();
  }
}

}  // namespace karmad
