#include "balancer/ingress/session.hpp"

#include <algorithm>

#include "agent/json/equals_literal.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

constexpr std::size_t kPiece = 32 << 10;  // compressed at once: less than a millisecond
/// A turn of the loop counts moved bytes; compressing a byte takes this many times longer.
constexpr std::size_t kCostOfCompressing = 8;

bool forbids_change(const Field& field) {
  return wire::same_word(field.name, "Cache-Control") &&
         lower(field.value).find("no-transform") != std::string::npos;
}

/// Whether the agent lets its answer be coded otherwise. A 304 need not name the type.
bool lets_change(const Head& head, int status) {
  const auto type = head.find("Content-Type");
  return (is_compressible(type) || (status == 304 && type.empty())) &&
         head.find(kContentEncoding).empty() && head.find("Content-Range").empty() &&
         std::ranges::none_of(head.all(), forbids_change);
}

bool is_head(const Query& query) {
  return equals_literal(query.request.method, "HEAD");
}

/// Whether the answer, or with HEAD and 304 that to GET, may be compressed.
bool is_suitable(const Query& query, const Answer& answer, Head& head, std::size_t shortest) {
  if (answer.status == 101 || answer.status == 204 || answer.source || answer.rows) return false;
  const bool is_short = !answer.rest && answer.content().size() < shortest;
  const bool has_body = answer.status != 304 && !is_head(query);
  if (is_short && (has_body || !answer.pass_fields)) return false;
  if (answer.pass_fields)
    return answer.reply->restore(head) && lets_change(head, answer.status) &&
           (!is_short || head.find("Content-Length").empty() || head.content_length >= shortest);
  const auto is_coding = [](const Field& field) { return field.name == kContentEncoding; };
  return is_compressible(answer.content_type) && std::ranges::none_of(answer.fields, is_coding);
}

/// Appends the compressed form of `bytes` to `out`, at most as much as a turn of the loop allows at
/// once.
Task<void> put(Worker& worker, Compressor& compressor, std::string_view bytes,
               Compressor::Then then, std::string& out) {
  auto& turn = worker.loop.turn;
  const auto all = bytes.size();
  const auto before = out.size();
  do {
    if (turn.over()) co_await turn.next();
    const auto piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    const auto began = Loop::now();
    compressor.put(piece, bytes.empty() ? then : Compressor::Then::more, out);
    worker.compression.took(Loop::now() - began);
    turn.spend(kCostOfCompressing * piece.size());
  } while (!bytes.empty());
  worker.counters.add(Count::compressed_bytes_in, all);
  worker.counters.add(Count::compressed_bytes_out, out.size() - before);
}

/// What comes behind the bytes of the answer that were read.
Compressor::Then what_follows(const Answer& answer) {
  if (!answer.rest || answer.rest->unread() == 0) return Compressor::Then::end;
  return answer.rest->unread() == kOpenEnd ? Compressor::Then::pause : Compressor::Then::more;
}

std::unique_ptr<Compressor> take_compressor(Worker& worker, Coding coding, unsigned level) {
  auto kept = std::move(worker.compressor);
  if (kept && kept->coding() == coding && kept->level() == static_cast<int>(level)) return kept;
  return std::make_unique<Compressor>(coding, static_cast<int>(level));
}

}  // namespace

Task<void> compress_answer(Query& query, Answer& answer, MemoryHolder* memory) {
  auto& worker = query.worker;
  const auto& settings = query.topology->settings;
  if (query.client.left) co_return;
  if (!is_suitable(query, answer, worker.loop.response_head, settings.compress_min_size.value))
    co_return;
  answer.varies = true;
  const auto coding = wanted_coding(query.request.fields, settings.compress.value);
  if (coding == Coding::identity) co_return;
  if (is_head(query) || answer.status == 304) {
    answer.coding = coding;
    co_return;
  }
  if (answer.rest && query.request.fields.minor_version == 0) co_return;  // it knows no chunks
  if (!worker.compression.allows(settings.compress_share.value, Loop::now(),
                                 worker.loop.delay().last_late())) {
    worker.counters.add(Count::answers_not_compressed);
    co_return;
  }
  auto compressor = take_compressor(worker, coding, settings.compress_level.value);
  auto packed = worker.loop.buffers.take();
  co_await put(worker, *compressor, answer.content(), what_follows(answer), packed);
  worker.counters.add(Count::answers_compressed);
  answer.body.swap(packed);
  worker.loop.buffers.give(std::move(packed));
  answer.memory.charge(memory, answer.body.capacity());
  answer.coding = coding;
  (answer.rest ? answer.compressor : worker.compressor) = std::move(compressor);
}

Task<void> compress_piece(Worker& worker, Answer& answer, std::string& piece) {
  auto packed = worker.loop.buffers.take();
  co_await put(worker, *answer.compressor, piece, what_follows(answer), packed);
  piece.swap(packed);
  worker.loop.buffers.give(std::move(packed));
}

}  // namespace karmad
