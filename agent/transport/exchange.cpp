#include "agent/transport/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/field_values.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/wire_protocol.hpp"
#include "config/text/number_in.hpp"

namespace karmad {

ReplyFields::ReplyFields(const Head& head, std::string_view bytes) : facts_(head) {
  assert(head.size <= kReplyHead);
  const auto place_of = [bytes](std::string_view part) {
    if (part.empty()) return Place{0, 0};
    return Place{static_cast<std::uint16_t>(part.data() - bytes.data()),
                 static_cast<std::uint16_t>(part.size())};
  };
  for (std::size_t i = 0; i < head.field_count; ++i)
    places_[i] = {place_of(head.fields[i].name), place_of(head.fields[i].value)};
}

std::string_view ReplyFields::find(std::string_view name, std::string_view bytes) const {
  if (!facts_.names.may_have(name)) return {};
  for (std::size_t i = 0; i < facts_.field_count; ++i) {
    const auto& [of_name, of_value] = places_[i];
    if (wire::same_word(bytes.substr(of_name.begin, of_name.size), name))
      return bytes.substr(of_value.begin, of_value.size);
  }
  return {};
}

void ReplyFields::restore(Head& head, std::string_view bytes) const {
  static_cast<HeadFacts&>(head) = facts_;
  for (std::size_t i = 0; i < facts_.field_count; ++i) {
    const auto& [name, value] = places_[i];
    head.fields[i] = {bytes.substr(name.begin, name.size), bytes.substr(value.begin, value.size)};
  }
}

namespace {

constexpr std::size_t kStep = 256 << 10;      // a body's memory grows as it arrives
constexpr std::size_t kBeginning = 64 << 10;  // bytes needed to judge a body whose rest is left
constexpr std::string_view kEventStream = "text/event-stream";
constexpr unsigned kInterim = 8;  // 1xx answers before the real one

/// What an agent speaks that does not speak HTTP/1; empty: unknown. `bytes`: the first that came.
std::string spoken_instead(std::string_view bytes) {
  const auto spoken = recognize_protocol(bytes);
  if (!spoken || spoken->kind == WireProtocol::Kind::http) return {};
  const auto wanted = spoken->kind == WireProtocol::Kind::tls     ? "plain HTTP"
                      : spoken->kind == WireProtocol::Kind::http2 ? "HTTP/1.1"
                                                                  : "HTTP";
  return fmt::format("speaks {}, not {}: check the port", spoken->text(), wanted);
}

/// The error of a reply with such a head.
std::string not_http(std::string_view bytes, const std::string& reason) {
  if (bytes.starts_with("HTTP/")) return "answered with something that is not HTTP: " + reason;
  if (auto spoken = spoken_instead(bytes); !spoken.empty()) return spoken;
  return fmt::format("answered with something that is not HTTP: {}; it begins with '{}'", reason,
                     printable(bytes));
}

std::string bytes_before_request(std::string_view bytes) {
  const auto spoken = spoken_instead(bytes);
  return spoken.empty() ? "sent bytes before any request" : spoken;
}

/// What is wrong with TLS, or `otherwise`.
std::string tls_failure(const Connection& connection, const std::string& otherwise) {
  const auto* const tls = connection.tls();
  return tls == nullptr || tls->failure().empty() ? otherwise : "TLS: " + tls->failure();
}

/// Reads one reply. A failed step stores the reason in `result`.
class ReplyReader {
 public:
  ReplyReader(Loop& loop, Connection& connection, bool to_head, ReplyLimits limits, Stop& stop,
              Reply& reply, ExchangeResult& result, FirstByte* first_byte)
      : loop_(loop),
        connection_(connection),
        to_head_(to_head),
        limits_(limits),
        stop_(stop),
        reply_(reply),
        result_(result),
        first_byte_(first_byte) {}

  /// Progress of reading a head.
  enum class Step : std::uint8_t { more, head, failed };

  /// Handles bytes that arrived on the connection.
  Step arrived(const Stream::Read& got) {
    if (got.error) {
      read_failed(got.error);
      return Step::failed;
    }
    if (!result_.any_bytes) begins();
    reply_.bytes = std::move(connection_.arrived());
    return parse();
  }

  /// Reads the rest of the head.
  Task<Step> rest_of_head() {
    auto step = Step::more;
    while (step == Step::more) {
      const auto got = co_await more(reply_.bytes, Buffers::kSmall);
      if (got.error) {
        read_failed(got.error);
        co_return Step::failed;
      }
      step = parse();
    }
    co_return step;
  }

  /// After the head: whether the body is already complete, as in most replies.
  bool complete() {
    if (result_.upgraded) return true;
    if (framing_ == Framing::none) {
      ends_at(reply_.head_size);
      return true;
    }
    if (framing_ != Framing::length || reply_.bytes.size() - reply_.head_size < content_length_)
      return false;
    if (content_length_ > limits_.most) return false;
    ends_at(reply_.head_size + static_cast<std::size_t>(content_length_));
    return true;
  }

  /// Reads the rest of the body.
  Task<bool> rest() {
    switch (framing_) {
      case Framing::length:
        return with_length();
      case Framing::chunked:
        return in_chunks();
      default:
        return until_close();
    }
  }

  /// Reads the complete reply, however long; the protocol does not change within a request.
  void read_whole() {
    limits_.whole = limits_.most;
    limits_.open_end = false;
    limits_.offered = {};
  }

  /// Sets whether the connection may be reused: not if bytes follow the reply.
  void ended(bool whole) {
    if (whole && keep_alive_ && !extra_ && reply_.left == 0) {
      const auto behind = connection_.behind();
      extra_ = behind == Stream::Unasked::bytes;
      keep_alive_ = behind != Stream::Unasked::end;
    }
    result_.unasked = whole && extra_;
    result_.keep_connection = whole && keep_alive_ && !extra_;
    if (!whole) keep_beginning();
  }

 private:
  bool fail(Outcome outcome, std::string why) {
    result_.outcome = outcome;
    result_.why = std::move(why);
    return false;
  }

  bool read_failed(const error_code& error) {
    switch (stop_.why()) {
      case StopReason::none:
        break;
      case StopReason::query_timeout:
        return fail(Outcome::query_timeout, "query timed out");
      case StopReason::first_byte_timeout:
        return fail(Outcome::query_timeout, "no byte of an answer came in time");
      case StopReason::connect_timeout:
        return fail(Outcome::connect_timeout, "connect timed out");
      case StopReason::unreachable:
        return fail(Outcome::unreachable, kUnreachable);
      case StopReason::deadline:
        return fail(Outcome::cancelled, "the query's deadline had passed");
      case StopReason::cancelled:
        return fail(Outcome::cancelled, "cancelled");
    }
    if (error == asio::error::eof)
      return fail(Outcome::closed_early, result_.any_bytes
                                             ? "closed the connection in the middle of its answer"
                                             : "closed the connection without an answer");
    return fail(Outcome::broken, tls_failure(connection_, error.message()));
  }

  void begins() {
    result_.any_bytes = true;
    if (first_byte_ == nullptr) return;
    first_byte_->at = Loop::now();
    if (first_byte_->then) stop_.arm(*first_byte_->then, first_byte_->then_why);
  }

  /// Parses the head from the bytes so far.
  Step parse() {
    for (;;) {
      auto& head = loop_.response_head;
      const auto state =
          parse_response_head(reply_.bytes, {kReplyHead, kMaxFields}, to_head_, head);
      if (!state) {
        fail(Outcome::wrong_reply, not_http(reply_.bytes, state.error().reason));
        return Step::failed;
      }
      if (*state == HeadState::incomplete) return Step::more;
      if (head.status >= 200) {
        note(head);
        return Step::head;
      }
      if (head.status == 101) {
        if (!accepts_offer(head, limits_.offered)) {
          fail(Outcome::wrong_reply, "switched protocols (101) without being asked");
          return Step::failed;
        }
        note(head);
        keep_alive_ = false;
        result_.upgraded = true;
        return Step::head;
      }
      reply_.bytes.erase(0, head.size);
      if (++interim_ > kInterim) {
        fail(Outcome::wrong_reply, "sent too many interim answers");
        return Step::failed;
      }
    }
  }

  void note(const ResponseHead& head) {
    if (first_byte_ != nullptr) first_byte_->head = Loop::now();
    reply_.status = head.status;
    reply_.head_size = head.size;
    framing_ = head.framing;
    content_length_ = head.content_length;
    keep_alive_ = head.keep_alive;
    const auto type = head.find("Content-Type");
    is_events_ = wire::same_word(wire::trimmed(type.substr(0, type.find(';'))), kEventStream);
    if (!type.empty()) {
      reply_.type_begin = static_cast<std::size_t>(type.data() - reply_.bytes.data());
      reply_.type_size = type.size();
    }
    if (const auto load = head.find(kLoadMetrics); !load.empty()) reply_.load = reported_load(load);
    if (const auto told = head.find(kGeneration); !told.empty())
      reply_.generation = number_in<std::uint64_t>(told);
    if (limits_.fields || head.status >= 400)
      reply_.fields = std::make_unique<ReplyFields>(head, reply_.bytes);
  }

  /// Makes room for `needed` bytes. `whole`: final length; 0: unknown.
  Task<bool> make_room(std::size_t needed, std::size_t whole) {
    const auto now = reply_.bytes.capacity();
    const auto room = whole != 0 ? next_room_of(whole, now, needed)
                                 : next_room(now, needed, reply_.head_size + limits_.most);
    const bool granted = co_await reserve(loop_, reply_.memory, limits_.memory, room);
    if (!granted) co_return fail(Outcome::cancelled, "its answer was dropped (memory_limit)");
    co_await grow(loop_, reply_.bytes, room);
    reply_.memory.charge(limits_.memory, reply_.bytes.capacity());
    co_return true;
  }
  bool has_room(std::size_t needed) const { return needed <= reply_.bytes.capacity(); }

  /// Keeps only the beginning of a failed reply, enough for the error message.
  void keep_beginning() {
    if (reply_.bytes.capacity() <= kUncountedBuffer) return;
    const auto kept = std::min(reply_.bytes.size(), reply_.head_size + Buffers::kSmall);
    auto small = loop_.buffers.take(kept);
    small.assign(reply_.bytes, 0, kept);
    loop_.buffers.give(std::exchange(reply_.bytes, std::move(small)));
    reply_.memory.charge(limits_.memory, reply_.bytes.capacity());
  }

  /// `size`: nothing, if only the beginning is known.
  bool too_large(std::optional<std::uint64_t> size) {
    return fail(Outcome::wrong_reply, fmt::format("its answer{} is larger than {} ({})",
                                                  size ? fmt::format(" of {} bytes", *size) : "",
                                                  limits_.most_is, limits_.most));
  }

  void ends_at(std::size_t size) {
    extra_ = reply_.bytes.size() > size;
    reply_.bytes.resize(size);
  }

  /// Reads at most `room` more bytes to the end of `bytes`; empty at the end of the stream. Waits
  /// for the next turn if this turn has moved its share.
  Task<Stream::Read> more(std::string& bytes, std::size_t room) {
    if (loop_.turn.over()) co_await loop_.turn.next();
    const auto have = bytes.size();
    resize_for_reading(bytes, have + room);
    auto got = connection_.read_now(bytes.data() + have, room);
    if (got.error == asio::error::would_block) {
      connection_.start_read(bytes.data() + have, room);
      got = co_await connection_.read();
    }
    bytes.resize(have + got.size);
    co_return got;
  }

  Task<bool> with_length() {
    if (content_length_ > limits_.most) co_return too_large(content_length_);
    const auto whole = reply_.head_size + static_cast<std::size_t>(content_length_);
    const auto wanted = passes() ? std::min(whole, reply_.head_size + kBeginning) : whole;
    // Room for one byte more shows in the last read whether bytes follow the reply.
    const auto room = wanted < whole ? wanted : whole + 1;
    while (reply_.bytes.size() < wanted) {
      const auto step = std::min(room - reply_.bytes.size(), Stream::kMostAtOnce);
      const auto needed = reply_.bytes.size() + step;
      if (!has_room(needed))
        if (!co_await make_room(needed, room)) co_return false;
      const auto got = co_await more(reply_.bytes, step);
      if (got.error) co_return read_failed(got.error);
    }
    if (reply_.bytes.size() < whole) {
      reply_.left = whole - reply_.bytes.size();
    } else {
      ends_at(whole);
    }
    co_return true;
  }

  /// Whether the rest of the reply may stay on the connection.
  bool passes() const {
    return content_length_ > limits_.whole && reply_.status >= 200 && reply_.status < 300;
  }

  /// Whether what follows of a reply without a length stays on the connection, when all that has
  /// arrived was read.
  bool leaves_open() const {
    return limits_.open_end && reply_.status >= 200 && reply_.status < 300 &&
           (is_events_ || pause_.is_over || reply_.bytes.size() - reply_.head_size > limits_.whole);
  }

  bool leave_open(std::unique_ptr<ChunkedBody> chunks) {
    if (chunks) chunks->remove_limit();
    reply_.chunks = std::move(chunks);
    reply_.left = kOpenEnd;
    return true;
  }

  /// Reads more of a body without a length; ends early when its pause becomes too long.
  Task<Stream::Read> more_of_open(std::string& bytes, std::size_t room) {
    if (limits_.open_end && limits_.pause) loop_.arm(pause_, Loop::now() + *limits_.pause);
    const auto got = co_await more(bytes, room);
    pause_.disarm();
    co_return got;
  }

  Task<bool> in_chunks() {
    auto decoder = std::make_unique<ChunkedBody>(limits_.most);
    auto& body = *decoder;
    Buffer piece(loop_.buffers, reply_.bytes.size() - reply_.head_size);
    piece->assign(reply_.bytes, reply_.head_size);
    reply_.bytes.resize(reply_.head_size);
    for (;;) {
      const auto needed = reply_.bytes.size() + piece->size();
      if (!has_room(needed))
        if (!co_await make_room(needed, 0)) co_return false;
      const auto used = body.put(*piece, reply_.bytes);
      if (!used && used.error().status == 413) co_return too_large({});
      if (!used) co_return fail(Outcome::wrong_reply, used.error().reason);
      piece->erase(0, *used);
      if (body.done()) break;
      if (leaves_open()) co_return leave_open(std::move(decoder));
      const auto got = co_await more_of_open(*piece, piece->capacity() - piece->size());
      if (got.error && leaves_open() && !stop_.requested())
        co_return leave_open(std::move(decoder));
      if (got.error) co_return read_failed(got.error);
    }
    extra_ = !piece->empty();
    co_return true;
  }

  Task<bool> until_close() {
    keep_alive_ = false;
    for (;;) {
      if (reply_.bytes.size() - reply_.head_size > limits_.most)
        co_return too_large(reply_.bytes.size() - reply_.head_size);
      const auto step = std::clamp(reply_.bytes.size() / 4, kStep / 4, Stream::kMostAtOnce);
      const auto needed = reply_.bytes.size() + step;
      if (!has_room(needed))
        if (!co_await make_room(needed, 0)) co_return false;
      if (leaves_open()) co_return leave_open({});
      const auto got = co_await more_of_open(reply_.bytes, step);
      if (got.error == asio::error::eof) co_return true;
      if (got.error && leaves_open() && !stop_.requested()) co_return leave_open({});
      if (got.error) co_return read_failed(got.error);
    }
  }

  /// Ends a read that waits too long.
  struct Pause final : Deadline {
    explicit Pause(Connection& of) : connection(of) {}
    void expired() override {
      is_over = true;
      connection.cancel();
    }
    Connection& connection;
    bool is_over = false;
  };

  Loop& loop_;
  Connection& connection_;
  bool to_head_;
  ReplyLimits limits_;
  Stop& stop_;
  Reply& reply_;
  ExchangeResult& result_;
  FirstByte* first_byte_;
  Framing framing_ = Framing::none;
  std::uint64_t content_length_ = 0;
  bool keep_alive_ = false;
  unsigned interim_ = 0;
  bool extra_ = false;
  bool is_events_ = false;
  Pause pause_{connection_};
};

/// Sends the request while the reply is already being read. Each side may wait for the other to
/// read, so neither direction may block the other.
struct Sending {
  error_code error{};
  bool under_way = false;
  bool needless = false;  ///< the reply has ended
  AsyncEvent ended{};
};

/// Sends the rest of a request as it arrives.
Task<error_code> pass_on(Loop& loop, Connection& connection, StreamedRest rest, Stop& stop,
                         const Sending& sending) {
  Buffer piece(loop.buffers);
  for (;;) {
    stop.disarm();
    const bool came = co_await rest.body->next(*piece);
    if (!came) {
      if (!sending.needless) stop.request(StopReason::cancelled);
      co_return asio::error::operation_aborted;
    }
    if (stop.requested()) co_return asio::error::operation_aborted;
    stop.arm(Loop::now() + rest.patience, StopReason::query_timeout);
    if (piece->empty()) co_return error_code();
    const auto error = co_await connection.write({*piece, {}});
    if (error) co_return error;
  }
}

Task<void> send_rest(Loop& loop, Connection& connection, Outgoing request, StreamedRest rest,
                     Stop& stop, Sending& sending) {
  if (!request.head.empty() || !request.body.empty())
    sending.error = co_await connection.write(request);
  if (rest.body != nullptr && !sending.error)
    sending.error = co_await pass_on(loop, connection, rest, stop, sending);
  sending.under_way = false;
  sending.ended.notify();
}

}  // namespace

Task<void> exchange(Loop& loop, Connection& connection, Outgoing& request, bool to_head,
                    ReplyLimits limits, Stop& stop, Reply& reply, ExchangeResult& result,
                    FirstByte* first_byte, StreamedRest streamed) {
  const auto guard = stop.calling<&Connection::close>(connection);
  const LoopTurn::InFlightGuard under_way(loop.turn);
  // A failed write does not end the exchange: the agent may have answered before it read
  // everything.
  Sending sending;
  sending.error = co_await connection.send(request);
  if (const auto came = connection.unasked(); came != Stream::Unasked::nothing) {
    result.unsent = true;
    result.unasked = came == Stream::Unasked::bytes;
    result.outcome = result.unasked ? Outcome::wrong_reply : Outcome::closed_early;
    result.why = result.unasked
                     ? bytes_before_request(connection.arrived())
                     : tls_failure(connection, "closed the connection before any request");
    co_return;
  }
  std::string rest;
  const bool blocked = sending.error && sending.error == asio::error::would_block;
  if (blocked || (streamed.body != nullptr && !sending.error)) {
    rest = request.head;
    request.head = rest;
    sending.error = {};
    sending.under_way = true;
    spawn(send_rest(loop, connection, request, streamed, stop, sending));
  }
  ReplyReader reader(loop, connection, to_head, limits, stop, reply, result, first_byte);
  const auto got = co_await connection.read();
  if (sending.under_way) reader.read_whole();
  auto step = reader.arrived(got);
  if (step == ReplyReader::Step::more) step = co_await reader.rest_of_head();
  bool whole = step == ReplyReader::Step::head;
  if (whole && !reader.complete()) whole = co_await reader.rest();
  reader.ended(whole);
  connection.replied(reply.bytes.size());
  if (sending.under_way) {
    sending.needless = true;
    connection.close();
    if (streamed.body != nullptr) streamed.body->cancel();
    if (sending.under_way) co_await sending.ended;
  }
  if (sending.error) result.keep_connection = false;
}

}  // namespace karmad
