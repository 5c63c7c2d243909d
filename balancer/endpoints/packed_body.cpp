#include "balancer/endpoints/packed_body.hpp"

#include <fmt/format.h>

#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/loop/buffers.hpp"
#include "balancer/core/refusal.hpp"
#include "balancer/endpoints/gunzip.hpp"

namespace karmad {
namespace {

/// A turn of the loop counts moved bytes; unpacking a byte takes this many times longer.
constexpr std::size_t kCostOfByte = 2;

/// The Content-Encoding of the request; several fields are one list (RFC 9110 section 5.3).
std::string encoding_of(const Query& query) {
  std::string encodings;
  for (const auto& field : query.head.all()) {
    if (!wire::same_word(field.name, kContentEncoding)) continue;
    encodings.append(encodings.empty() ? "" : ", ").append(field.value);
  }
  return encodings;
}

Answer refuse(Query& query, int status, std::string_view reason) {
  query.worker.counters.add(Count::bad_requests);
  return refusal(status, reason);
}

/// Reserves memory for the next step. False: memory was denied.
Task<bool> make_room(Query& query, std::string& plain, std::size_t most) {
  if (plain.size() < plain.capacity() && plain.capacity() > Buffers::kSmall) co_return true;
  auto& loop = query.worker.loop;
  const auto room = next_room(plain.capacity(), plain.size() + Gunzip::kStep, most + 1);
  const bool granted = co_await reserve(loop, query.plain_body, query.memory, room);
  if (!granted) co_return false;
  co_await grow(loop, plain, room);
  query.plain_body.charge(query.memory, plain.capacity());
  co_return true;
}

/// If the turn of the loop is over, waits for the next one. Returns an answer if the query has
/// ended.
Task<std::optional<Answer>> take_turn(Query& query) {
  auto& turn = query.worker.loop.turn;
  if (!turn.over()) co_return std::nullopt;
  query.waited = true;
  co_await turn.next();
  if (query.stopped) co_return Answer{};
  if (Loop::now() < query.deadline) co_return std::nullopt;
  co_return refuse(query, 504, "the query's deadline had passed before its body was unpacked");
}

}  // namespace

bool is_packed(const Query& query) {
  return !query.unpacked && !query.request.body.empty() &&
         !query.head.find(kContentEncoding).empty();
}

Task<std::optional<Answer>> unpack_body(Query& query) {
  const auto encoding = encoding_of(query);
  query.unpacked = true;
  if (wire::same_word(encoding, "identity")) co_return std::nullopt;
  if (!wire::same_word(encoding, "gzip") && !wire::same_word(encoding, "x-gzip"))
    co_return refuse(query, 415,
                     fmt::format("{} is '{}'; supported are gzip (or x-gzip) and bodies without "
                                 "this field",
                                 kContentEncoding, encoding));
  const auto most = query.topology->settings.max_packet_size.value;
  Gunzip gunzip(query.request.body, most);
  std::string plain;
  while (!gunzip.done()) {
    auto over = co_await take_turn(query);
    if (over) co_return over;
    const bool has_room = co_await make_room(query, plain, most);
    if (!has_room) co_return Answer{};  // the session writes the refusal
    const auto before = plain.size() + gunzip.bytes_read();
    if (const auto wrong = gunzip.step(plain))
      co_return refuse(query, wrong->status, wrong->reason);
    query.worker.loop.turn.spend(kCostOfByte * (plain.size() + gunzip.bytes_read() - before));
  }
  query.worker.counters.add(Count::bodies_unpacked);
  query.request.body = query.keep(std::move(plain));
  co_return std::nullopt;
}

bool accepts_gzip(std::string_view accept_encoding) {
  bool accepted = false;
  wire::for_each_element(accept_encoding, [&](std::string_view element) {
    const auto coding = wire::trimmed(element.substr(0, element.find(';')));
    if (!wire::same_word(coding, "gzip") && !wire::same_word(coding, "x-gzip")) return;
    const auto equals = element.find('=');
    accepted =
        equals == element.npos || element.find_first_not_of("0. \t", equals + 1) != element.npos;
  });
  return accepted;
}

}  // namespace karmad
