#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/stats/outcome.hpp"
#include "agent/transport/body_rest.hpp"
#include "agent/transport/http/http_head.hpp"
#include "agent/transport/loop/memory_limit.hpp"
#include "agent/transport/loop/task.hpp"
#include "agent/transport/pool.hpp"

namespace karmad {

/// Longest head of a reply.
inline constexpr std::size_t kReplyHead = 64 << 10;

/// The fields of a parsed head, kept as places in its bytes: these may move to another buffer. Its
/// memory is recycled; it lives and dies on one thread.
class ReplyFields {
 public:
  /// `bytes`: what `head` was parsed from.
  ReplyFields(const Head& head, std::string_view bytes);

  /// The first field of that name (case-insensitive), or empty. `bytes`: where they are now.
  std::string_view find(std::string_view name, std::string_view bytes) const;
  /// Puts the head back together, with views into `bytes`.
  void restore(Head& head, std::string_view bytes) const;

  static void* operator new(std::size_t size) { return Frames::take(size); }
  static void operator delete(void* memory, std::size_t size) { Frames::give(memory, size); }

 private:
  struct Place {
    std::uint16_t begin;
    std::uint16_t size;
  };
  struct FieldPlace {
    Place name;
    Place value;
  };
  static_assert(kReplyHead - 1 <= UINT16_MAX);

  HeadFacts facts_;
  std::array<FieldPlace, kMaxFields> places_;  ///< only those of fields are written
};

/// Reply::left of a body without a known length.
inline constexpr std::uint64_t kOpenEnd = std::numeric_limits<std::uint64_t>::max();

/// An agent's reply as received. Views into it are valid until it is moved or destroyed.
struct Reply {
  std::string bytes;  ///< the head, and the body without framing
  std::size_t head_size = 0;
  /// Bytes of the body still to be read from the connection; kOpenEnd: until it ends.
  std::uint64_t left = 0;
  std::unique_ptr<ChunkedBody> chunks;  ///< reads the rest of an open end; null: it has no chunks
  /// Of status 101: the connection, which speaks another protocol now. The body is what has already
  /// come in it.
  ConnectionPtr upgraded;
  int status = 0;
  std::optional<double> load;               ///< of the server, if the head reports it
  std::optional<std::uint64_t> generation;  ///< of the data, likewise (X-Generation)
  std::size_t type_begin = 0;               ///< position of Content-Type's value in `bytes`
  std::size_t type_size = 0;
  std::unique_ptr<ReplyFields> fields;  ///< of the head: of errors, and where they are asked for
  MemoryReservation memory;             ///< of `bytes`

  /// Resets it to empty. (Assigning a new one would reload just stored data, which stalls.)
  void forget() {
    bytes.clear();
    fields.reset();
    memory.release();
    head_size = type_begin = type_size = 0;
    left = 0;
    chunks.reset();
    upgraded.reset();
    status = 0;
    load.reset();
    generation.reset();
  }
  std::string_view body() const { return std::string_view(bytes).substr(head_size); }
  std::string_view content_type() const {
    return std::string_view(bytes).substr(type_begin, type_size);
  }
  /// The first field of that name, or empty; empty also where fields are not kept.
  std::string_view field(std::string_view name) const {
    return fields ? fields->find(name, bytes) : std::string_view();
  }
  /// Puts the fields of the head into `head`, as they were parsed. False: they are not kept.
  bool restore(Head& head) const {
    if (fields) fields->restore(head, bytes);
    return fields != nullptr;
  }
};

/// How much of a reply is read and kept.
struct ReplyLimits {
  std::size_t most = 0;                          ///< bytes of the body; a longer one is an error
  std::string_view most_is = "max_packet_size";  ///< what says so
  /// If a successful reply has a greater length, only its beginning is read; the rest stays on the
  /// connection (`Reply::left`).
  std::size_t whole = std::numeric_limits<std::size_t>::max();
  /// So is a successful reply without a length of which more than `whole` has come, and one of
  /// server-sent events at once.
  bool open_end = false;
  /// So is a reply without a length of which nothing more has come for so long.
  std::optional<Micros> pause;
  bool fields = false;  ///< kept also of a reply that is no error
  /// The protocols that the request offers to change to; with 101 the agent takes one of them.
  std::string_view offered{};
  /// Accounts for the reply's memory. Denied memory ends the exchange as `cancelled`. May be null.
  MemoryHolder* memory = nullptr;
};

struct ExchangeResult {
  Outcome outcome = Outcome::answered;  ///< `answered`: complete except for Reply::left
  std::string why;
  bool any_bytes = false;        ///< at least one byte of a reply arrived
  bool keep_connection = false;  ///< reusable after Reply::left was read
  bool upgraded = false;         ///< the connection speaks another protocol now (101)
  bool unsent = false;           ///< bytes arrived before the request, which was not sent
  bool unasked = false;          ///< unrequested bytes before the request or behind the reply
};

/// Notes when a reply begins to arrive, and when its head is complete. From the first byte on the
/// limit is `then` instead of the shorter limit for the first byte.
struct FirstByte {
  std::optional<TimePoint> at;    ///< out: when it arrived
  std::optional<TimePoint> head;  ///< out: when the last byte of the head had arrived
  std::optional<TimePoint> then;
  StopReason then_why = StopReason::none;
};

/// What follows behind a request while it arrives from the client.
struct StreamedRest {
  BodyRest* body = nullptr;  ///< null: the request is complete
  Micros patience{};  ///< for each piece of it, and for the reply behind the last: then `stop` ends
                      ///< the exchange; it does not while the client is waited for
};

/// Sends a request and reads the reply within `limits`, on a connection whose first read is
/// outstanding. `request` and its body must live until the end, the data behind its head only until
/// the first wait. `stop` ends it; a rest that does not come requests `cancelled` of it. `to_head`:
/// the request is a HEAD. `reply` and `result` must be fresh. A reply that is complete before the
/// request ends the exchange.
Task<void> exchange(Loop& loop, Connection& connection, Outgoing& request, bool to_head,
                    ReplyLimits limits, Stop& stop, Reply& reply, ExchangeResult& result,
                    FirstByte* first_byte = nullptr, StreamedRest streamed = {});

}  // namespace karmad
