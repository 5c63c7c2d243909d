#include "balancer/core/rest_of_reply.hpp"

#include <algorithm>

#include "agent/dialect/dialect.hpp"

namespace karmad {
namespace {

constexpr std::size_t kPerPatience = 64 << 10;

}  // namespace

RestOfReply::RestOfReply(const Source& source, Seat seat, AttemptEnd& end)
    : source_(source),
      mirror_(source.set[source.number]),
      seat_(std::move(seat)),
      connection_(std::move(end.rest_on)),
      left_(end.reply.left),
      patience_(source.patience) {
  end_.outcome = end.outcome;
  end_.took = end.took;
  end_.connect = end.connect;
  end_.generation = end.generation;
  end_.keep_connection = end.keep_connection;
  end_.unasked = end.unasked;
  end_.sent = true;
  note_last(end.reply.body());
}

RestOfReply::~RestOfReply() {
  if (connection_) connection_->close();
  const auto now = Loop::now();
  record(mirror_, source_.set.failure_floor(), source_.loop.index, now, end_);
  const bool broken = end_.outcome == Outcome::broken || end_.outcome == Outcome::closed_early;
  if (source_.aware && broken)  // SD-020
    source_.set.met(source_.number,
                    {.what = UseError::What::network,
                     .generation = end_.generation,
                     .why = std::move(end_.why)},
                    now);
  if (source_.breaker != nullptr)
    source_.breaker->ended(source_.number, Operation::read, end_.outcome, now);
}

Task<bool> RestOfReply::next(std::string& piece, Stop& stop) {
  // Between an agent and a client that are both fast nothing would ever wait.
  if (source_.loop.turn.over()) co_await source_.loop.turn.next();
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPassedPiece));
  // One byte more shows with the last read whether anything stands behind.
  const auto room = most < left_ ? most : most + 1;
  resize_for_reading(piece, room);
  std::size_t have = 0;
  while (have < most) {
    auto got = connection_->read_now(piece.data() + have, room - have);
    if (got.error == asio::error::would_block) {
      if (have > 0) break;
      got = co_await wait(piece.data(), room, stop);
    }
    if (got.error) co_return read_failed(got.error, stop.why());
    have += got.size;
  }
  const bool extra = have > most;
  have = std::min(have, most);
  piece.resize(have);
  left_ -= have;
  since_ += have;
  if (since_ >= kPerPatience) {
    since_ = 0;
    patience_ = source_.patience;
  }
  note_last(piece);
  if (left_ == 0 && source_.ends_in != 0 && last_ != source_.ends_in)
    co_return fail(Outcome::wrong_reply, "its long answer does not end as JSON must");
  if (left_ > 0) co_return true;
  release(extra ? Stream::Unasked::bytes : connection_->behind());
  seat_.reset();
  co_return true;
}

/// Gives the connection back, behind whose reply this stood.
void RestOfReply::release(Stream::Unasked behind) {
  const auto connection = std::exchange(connection_, {});
  if (behind == Stream::Unasked::bytes) {
    end_.unasked = true;
    source_.pool.unasked();
  }
  if (end_.keep_connection && behind == Stream::Unasked::nothing) {
    source_.pool.give(connection);
  } else {
    connection->close();
  }
}

/// Waits until something comes, for as long as the mirror may still take for it.
Task<Stream::Read> RestOfReply::wait(char* into, std::size_t room, Stop& stop) {
  const Stop::Guard guard(stop, connection_.get(),
                          [](void* whom) { static_cast<Connection*>(whom)->close(); });
  if (stop.requested()) co_return Stream::Read{asio::error::operation_aborted, 0};
  const auto began = Loop::now();
  stop.at(began + patience_, Why::query_timeout);
  connection_->start_read(into, room);
  const auto got = co_await connection_->read();
  stop.disarm();
  const auto took = std::chrono::duration_cast<Micros>(Loop::now() - began);
  patience_ = std::max(Micros{0}, patience_ - took);
  co_return got;
}

void RestOfReply::note_last(std::string_view piece) {
  const auto at = piece.find_last_not_of(kJsonSpace);
  if (at != piece.npos) last_ = piece[at];
}

bool RestOfReply::fail(Outcome outcome, std::string why) {
  end_.outcome = outcome;
  end_.why = std::move(why);
  return false;
}

bool RestOfReply::read_failed(const error_code& error, Why why) {
  if (why == Why::query_timeout) {
    seat_->dropped();
    return fail(Outcome::query_timeout, "the rest of its long answer did not come in time");
  }
  if (why != Why::none) {
    end_.why = "cancelled";  // the client left; the mirror did nothing wrong
    return false;
  }
  if (error == asio::error::eof)
    return fail(Outcome::closed_early, "closed the connection within its long answer");
  return fail(Outcome::broken, error.message());
}

}  // namespace karmad
