#include "balancer/endpoints/packed_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/loop/buffers.hpp"
#include "balancer/core/refusal.hpp"

namespace karmad {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // for inflateInit2: only the header of RFC 1952

/// A turn of the loop counts moved bytes; unpacking a byte takes this many times longer.
constexpr std::size_t kCostOfUnpacking = 2;

/// The Content-Encoding of the request; several fields are one list (RFC 9110 section 5.3).
std::string encoding_of(const Query& query) {
  std::string encodings;
  for (const auto& field : query.request.fields.all()) {
    if (!wire::same_word(field.name, kContentEncoding)) continue;
    encodings.append(encodings.empty() ? "" : ", ").append(field.value);
  }
  return encodings;
}

/// Reserves memory for the next step. False: memory was denied.
Task<bool> make_room(Query& query, std::string& plain, std::size_t most) {
  if (plain.size() < plain.capacity() && plain.capacity() > Buffers::kSmall) co_return true;
  auto& loop = query.worker.loop;
  const auto room = next_room(plain.capacity(), plain.size() + Gunzip::kStep, most + 1);
  const bool granted =
      co_await reserve(loop, query.request.plain_body, query.resources.memory, room);
  if (!granted) co_return false;
  co_await grow(loop, plain, room);
  query.request.plain_body.charge(query.resources.memory, plain.capacity());
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
  if (Loop::now() < query.resources.deadline) co_return std::nullopt;
  co_return bad_request(query, 504, "the query's deadline had passed before its body was unpacked");
}

}  // namespace

Gunzip::Gunzip(std::string_view packed, std::size_t most) : packed_(packed), most_(most) {
  if (inflateInit2(&z_, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

Gunzip::~Gunzip() {
  inflateEnd(&z_);
}

std::optional<ClientError> Gunzip::step(std::string& plain) {
  if (z_.avail_in == 0) {
    const auto piece = packed_.substr(passed_bytes_, kStep);
    // zlib does not write there; its interface is older than `const`.
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    z_.avail_in = static_cast<uInt>(piece.size());
    passed_bytes_ += piece.size();
  }
  const auto before = plain.size();
  // One byte beyond the limit shows that there is more.
  const auto room = std::min({plain.capacity() - before, kStep, most_ + 1 - before});
  resize_for_reading(plain, before + room);
  z_.next_out = reinterpret_cast<Bytef*>(plain.data() + before);
  z_.avail_out = static_cast<uInt>(room);
  const int result = inflate(&z_, Z_NO_FLUSH);
  plain.resize(before + room - z_.avail_out);
  return check_step(result, plain.size());
}

std::optional<ClientError> Gunzip::check_step(int result, std::size_t plain_size) {
  const auto wrong = [&](std::string_view what) {
    return ClientError{400,
                       fmt::format("the body is not valid gzip: {} (Content-Encoding), byte {} "
                                   "of {}",
                                   what, bytes_read(), packed_.size())};
  };
  if (plain_size > most_)
    return ClientError{413, fmt::format("the request's body is larger than max_packet_size ({}) "
                                        "once it is unpacked",
                                        most_)};
  if (plain_size > kFreely + kMostRatio * bytes_read())
    return ClientError{400, fmt::format("the body grows to more than {} times its size when it is "
                                        "unpacked; send it without Content-Encoding",
                                        kMostRatio)};
  switch (result) {
    case Z_STREAM_END:
      done_ = bytes_read() == packed_.size();
      if (!done_ && inflateReset(&z_) != Z_OK) return wrong("it cannot be read");
      return std::nullopt;
    case Z_OK:
    case Z_BUF_ERROR:  // no room for output, or no input left
      if (z_.avail_in == 0 && passed_bytes_ == packed_.size() && z_.avail_out != 0)
        return wrong("it ends too early");
      return std::nullopt;
    case Z_MEM_ERROR:
      throw std::bad_alloc();
    default:
      return wrong(z_.msg != nullptr ? z_.msg : "it is damaged");
  }
}

bool is_packed(const Query& query) {
  return !query.request.unpacked && !query.request.body.empty() &&
         !query.request.fields.find(kContentEncoding).empty();
}

Task<std::optional<Answer>> unpack_body(Query& query) {
  const auto encoding = encoding_of(query);
  query.request.unpacked = true;
  if (wire::same_word(encoding, "identity")) co_return std::nullopt;
  if (!wire::same_word(encoding, "gzip") && !wire::same_word(encoding, "x-gzip"))
    co_return bad_request(
        query, 415,
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
      co_return bad_request(query, wrong->status, wrong->reason);
    query.worker.loop.turn.spend(kCostOfUnpacking * (plain.size() + gunzip.bytes_read() - before));
  }
  query.worker.counters.add(Count::bodies_unpacked);
  query.request.body = query.keep(std::move(plain));
  co_return std::nullopt;
}

}  // namespace karmad
