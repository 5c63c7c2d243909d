#include "balancer/mysql/mysql_session.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "agent/json/json_text.hpp"
#include "balancer/admission/client_auth.hpp"
#include "balancer/admission/request_gate.hpp"
#include "balancer/core/wrong_protocol.hpp"
#include "balancer/trace/plain_text.hpp"

namespace karmad::mysql {
namespace {

constexpr std::size_t kLinger = 16 << 20;     // most bytes that are read of a refused command
constexpr std::uint8_t kHandshakeAnswer = 1;  // number of the client's first packet
/// Bytes of a packet of a client that has not logged in; the attributes of one take 64 KB at most.
constexpr std::size_t kMostBeforeLogin = 256 << 10;
/// Bytes by which no answer to the greeting is taken for another protocol.
constexpr std::size_t kShowsProtocol = 6;

/// The error for packets in this state; nothing: they are no mistake.
std::optional<Error> refused_packet(Framing::State state, bool is_command, std::size_t most) {
  if (state == Framing::State::out_of_order)
    return Error{1156, "08S01", "a packet has a wrong number"};
  if (state != Framing::State::too_large) return std::nullopt;
  if (is_command) return Error{1153, "08S01", "the packet is larger than max_packet_size"};
  return Error{1153, "08S01",
               fmt::format("the packet is larger than {} bytes, before a login", most)};
}

}  // namespace

std::string refusal_bytes(std::string_view reason) {
  std::string out;
  Writer packets(out);
  write_error(packets, {1040, "08004", std::string(reason)});
  return out;
}

Session::Session(Worker& worker, Socket socket, ClientAddress client, const ListenerKind& listener)
    : ClientConnection(worker, std::move(socket), std::move(client), worker.connections.open),
      read_only_(listener.read_only),
      listener_(listener),
      id_(static_cast<std::uint32_t>(worker.next_query() + 1)) {}

void Session::start() {
  run(this);
}

void Session::abandon() {
  ending_ = true;
  if (running_ != nullptr) running_->watch.reset();
  close();
  if (running_ == nullptr) return;
  running_->query.client.is_cut_off = !std::exchange(running_->query.client.left, true);
  running_->query.stop();
}

KillOutcome Session::kill(const Kill& kill) {
  if (kill.connection != id_) return KillOutcome::unknown;
  if (kill.owner && *kill.owner != ClientOwner{user_, client_}) return KillOutcome::denied;
  const boost::intrusive_ptr<Session> self(this);
  if (!kill.statement_only) ending_ = killed_ = true;
  if (phase_ == Phase::writing && killed_) {
    break_off();
  } else if (running_ != nullptr) {
    // From here on as if the client had left, but that it gets an error.
    running_->killed = true;
    running_->query.client.left = true;
    running_->query.stop();
  } else if (killed_ && phase_ != Phase::answering) {
    cancel();
  }
  return KillOutcome::done;
}

void Session::list(ProcessList& list) {
  if (!list.has_room_for({user_, client_})) return;
  const bool idle = phase_ == Phase::idle || phase_ == Phase::reading;
  const auto now = Loop::now();
  const auto since = running_ != nullptr ? running_->query.record.began : idle ? idle_since_ : now;
  list.add({.connection = id_,
            .user = user_,
            .host = host_and_port(),
            .database = schema_facts(facts()).schema,
            .command = capabilities_ == 0 ? "Connect"
                       : idle             ? "Sleep"
                                          : "Query",
            .lasts = std::chrono::duration_cast<Micros>(now - since),
            .state = phase_ == Phase::writing ? "Sending to client"
                     : running_ != nullptr    ? "executing"
                                              : "",
            .statement =
                std::string(running_ == nullptr
                                ? std::string_view()
                                : shortened_utf8(running_->text, ProcessList::kLongestStatement))});
}

/// Of its client.
std::string Session::host_and_port() {
  if (is_told_) return fmt::format("{}:{}", client_, port_);
  error_code error;
  const auto peer = socket().remote_endpoint(error);
  if (error || client_.empty()) return "localhost";
  asio::ip::tcp::endpoint tcp;
  std::memcpy(tcp.data(), peer.data(), std::min(peer.size(), tcp.capacity()));
  return fmt::format("{}:{}", client_, tcp.port());
}

/// Ends the connection so that the client does not take a part of an answer for the whole.
void Session::break_off() {
  if (running_ != nullptr) running_->watch.reset();
  reset();
}

/// A byte of urgent data, which clients read over. The peer of a closed connection refuses it, and
/// `watch` learns that. A unix socket tells the two ends apart itself.
void Session::ask_whether_there() {
  if (running_ == nullptr || client_.empty()) return;
  ::send(socket().native_handle(), "", 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Session::Memory::on_denied(MemoryDenial why) {
  count_denial(session.worker_.counters, why);
  session.end_soon_for_memory();
}

void Session::end_for_memory() {
  if (!memory_.denied()) return;
  if (phase_ == Phase::writing) return break_off();
  if (phase_ != Phase::answering) return cancel();
  if (running_ != nullptr) running_->query.stop();
}

void Session::phase_timed_out() {
  if (phase_ == Phase::writing) {
    break_off();
  } else {
    cancel();  // the reader says why the connection ends
  }
}

/// The time without a command after which the connection ends.
Micros Session::longest_idle() const {
  const auto longest = settings().client_timeout.value;
  const auto wanted = state_.variables.number("wait_timeout");
  const auto most = static_cast<std::uint64_t>(longest / std::chrono::seconds(1));
  return wanted && *wanted <= most ? Micros(std::chrono::seconds(*wanted)) : longest;
}

/// Runs the session to its end.
Background Session::run(boost::intrusive_ptr<Session> self) {
  co_await self->serve();
  self->close();
}

Task<void> Session::serve() {
  if (!co_await shake_hands()) co_return;
  worker_.counters.add(Count::mysql_connections);
  while (open() && !killed_ && (!ending_ || !in_.empty())) {
    take_settings();
    const bool received = co_await receive(0);
    if (!received) break;
    take_settings();  // a reload may have come while the connection was idle
    const bool continues = co_await answer_command();
    memory_.release_command();
    drop_payload();
    if (in_.empty()) worker_.loop.buffers.give(std::exchange(in_, {}));
    if (!continues) co_return;
    if (worker_.retiring()) ending_ = true;
  }
  if (open() && !final_error_sent_) co_await send_final_error(1);
  const bool within_command = framing_.packets != 0 && framing_.size > in_.size();
  if (open() && within_command && !timed_out_) co_await linger();
}

/// Tells a client that waits for nothing why the connection ends; the number of the packet is that
/// of the answer to its next one.
Task<void> Session::send_final_error(std::uint8_t sequence) {
  if (timed_out_ && phase_ == Phase::reading) {
    co_await send_error(1159, "08S01", "the rest of a command did not come within network_timeout",
                        sequence);
  } else if (timed_out_) {
    co_await send_error(4031, "HY000",
                        "the connection was idle for longer than client_timeout or wait_timeout",
                        sequence);
  } else if (memory_.denied()) {
    sequence_ = sequence;
    co_await refuse_for_memory();
  } else if (killed_) {
    co_await send_error(1927, "70100", "Connection was killed", sequence);
  } else if (ending_) {
    co_await send_error(1053, "08S01", "Server shutdown in progress", sequence);
  }
}

/// Reads what the client still sends of a refused command: closing at once would reset the
/// connection, and the client would lose the error.
Task<void> Session::linger() {
  if (!end_sending()) co_return;
  auto left = std::min(framing_.size - in_.size(), kLinger);
  worker_.loop.buffers.give(std::exchange(in_, {}));
  memory_.release_command();
  start_phase(Phase::lingering, settings().network_timeout.value);
  Buffer ignored(worker_.loop.buffers);
  resize_for_reading(*ignored, kPerTimeout);
  while (left > 0) {
    if (worker_.loop.turn.over()) co_await worker_.loop.turn.next();
    if (timed_out_ || !open()) break;
    start_read(ignored->data(), std::min(left, ignored->size()));
    const auto got = co_await read();
    if (got.error) break;
    left -= got.size;
  }
}

/// The payload that has arrived, without the headers of its packets; until drop_payload().
std::string_view Session::payload() {
  const auto joined = join_packets(in_, framing_);
  framing_.size -= (framing_.packets - 1) * kPacketHeader;
  framing_.packets = 1;
  return joined;
}

/// Leaves what the client has sent behind it.
void Session::drop_payload() {
  in_.erase(0, std::min(in_.size(), framing_.size));
  framing_ = {};
}

/// Reads until a whole payload has arrived. False: the connection ends.
Task<bool> Session::receive(std::uint8_t sequence) {
  const bool is_command = sequence == 0;
  const auto longest = settings().max_packet_size.value;
  const auto most = is_command ? longest : std::min<std::size_t>(longest, kMostBeforeLogin);
  for (auto due = in_.size() + kPerTimeout;;) {
    if (sequence == kHandshakeAnswer && in_.size() >= kShowsProtocol)
      if (auto spoken = recognize_protocol(in_))
        co_return co_await refuse_protocol(*std::move(spoken));
    framing_ = frame_packets(in_, sequence, most);
    sequence_ = framing_.sequence;
    if (framing_.state == Framing::State::complete) break;
    if (auto wrong = refused_packet(framing_.state, is_command, most)) {
      const bool sent = co_await send_error(wrong->code, wrong->state, wrong->text, sequence_);
      final_error_sent_ = sent;
      co_return false;
    }
    if (in_.empty()) {
      idle_since_ = Loop::now();
      start_phase(Phase::idle, is_command ? longest_idle() : settings().network_timeout.value);
    } else if (phase_ != Phase::reading || in_.size() >= due) {
      due = in_.size() + kPerTimeout;
      start_phase(Phase::reading, settings().network_timeout.value);
    }
    const bool got = co_await read_more(framing_.size);
    if (got) continue;
    if (!is_command && ending_ && open() && !timed_out_)
      co_await send_final_error(static_cast<std::uint8_t>(sequence + 1));
    co_return false;
  }
  phase_ = Phase::answering;
  co_return true;
}

/// Appends the next bytes to `in_`, which will have `whole`. False: none will come.
Task<bool> Session::read_more(std::size_t whole) {
  if (ending_ && in_.empty()) co_return false;  // a proof that drain() no longer waits for
  Stream::Read got;
  if (whole - in_.size() <= Buffers::kSmall) {
    start_read();
    got = co_await read();
    const bool goes_on = !timed_out_ && !killed_ && open();
    if (got.error == asio::error::operation_aborted && goes_on && has_bytes()) {
      start_read();  // drain() came together with a command
      got = co_await read();
    }
    if (!got.error && in_.empty()) {
      in_.swap(arrived());
    } else if (!got.error) {
      in_.append(arrived());
    }
    worker_.loop.buffers.give(std::move(arrived()));
    arrived().clear();
  } else {
    const auto have = in_.size();
    const auto room = std::min({whole - have, std::max(have, kPerTimeout), kMostAtOnce});
    const auto capacity = next_room_of(whole, in_.capacity(), have + room);
    if (capacity > in_.capacity()) {
      const bool granted = co_await reserve(worker_.loop, memory_.command, &memory_, capacity);
      if (!granted) {
        const auto sent = co_await refuse_for_memory();
        final_error_sent_ = sent == CommandOutcome::failed;
        co_return false;
      }
      co_await grow(worker_.loop, in_, capacity);
      memory_.command.charge(&memory_, in_.capacity());
    }
    if (worker_.loop.turn.over()) co_await worker_.loop.turn.next();
    if (timed_out_ || !open()) co_return false;
    resize_for_reading(in_, have + room);
    start_read(in_.data() + have, room);
    got = co_await read();
    in_.resize(have + got.size);
  }
  co_return !got.error && !timed_out_;
}

/// Sends `out` and empties it.
Task<bool> Session::send_all(std::string& out) {
  worker_.counters.add(Count::bytes_out, out.size());
  Outgoing left{{}, out};
  const auto error = write_now(left);
  bool sent = !error && open();
  if (error == asio::error::would_block) sent = co_await send_slowly(left, &memory_);
  phase_ = Phase::answering;
  out.clear();
  co_return sent;
}

Task<bool> Session::send_error(std::uint16_t code, std::string_view state, std::string text,
                               std::uint8_t sequence) {
  Buffer out(worker_.loop.buffers);
  Writer packets(*out, sequence);
  const Error error{code, state, std::move(text)};
  log_cut(error);
  write_error(packets, error);
  const bool sent = co_await send_all(*out);
  co_return sent;
}

/// Writes an error that is too long for clients to the log.
void Session::log_cut(const Error& error) {
  constexpr std::size_t kMostLogged = 64 << 10;
  if (error.text.size() <= kLongestErrorText) return;
  const auto left_out = worker_.error_lines.may_write(Loop::now());
  if (!left_out) return;
  spdlog::warn("{} got the beginning of this text with error {}: {}{}",
               client_.empty() ? "a client" : fmt::format("client {}", client_), error.code,
               without_controls(clean_utf8(shortened_utf8(error.text, kMostLogged))),
               *left_out == 0 ? "" : fmt::format(" ({} more not logged)", *left_out));
}

/// Ends a connection that begins with another protocol. False, as receive().
Task<bool> Session::refuse_protocol(WireProtocol spoken) {
  report_wrong_protocol(worker_, client_, socket(), spoken, ListenerProtocol::mysql);
  const bool sent = co_await send_error(
      1043, "08S01", wrong_protocol_refusal(spoken, ListenerProtocol::mysql), kHandshakeAnswer + 1);
  final_error_sent_ = sent;
  co_return false;
}

std::string Session::new_salt() {
  std::string salt(kSaltSize, ' ');
  if (needs_auth()) {  // one that can be foreseen lets a proof be used twice
    std::array<unsigned char, kSaltSize> bytes{};
    if (RAND_bytes(bytes.data(), kSaltSize) != 1) throw std::runtime_error("no random bytes");
    std::ranges::transform(bytes, salt.begin(), [](unsigned char byte) {
      return static_cast<char>('!' + byte % ('~' - '!'));
    });
    return salt;
  }
  for (auto& byte : salt) byte = static_cast<char>('!' + worker_.loop.random.below('~' - '!'));
  return salt;
}

Task<bool> Session::shake_hands() {
  Buffer out(worker_.loop.buffers);
  Writer packets(*out);
  write_greeting(packets, id_, new_salt(), settings_->client_tls != nullptr);
  bool sent = co_await send_all(*out);
  if (!sent) co_return false;
  bool received = co_await receive(kHandshakeAnswer);
  if (received && settings_->client_tls && asks_for_tls(payload())) {
    auto encryption = settings_->client_tls->accept(socket().native_handle());
    drop_payload();
    encryption->put_back(std::exchange(in_, {}));
    encrypt(std::move(encryption));
    start_phase(Phase::idle, settings().network_timeout.value);
    received = !co_await shake_hands_of_tls();
    if (received) received = co_await receive(kHandshakeAnswer + 1);
  }
  if (!received) {
    report_tls_failure();
    co_return false;
  }
  auto said = read_handshake(payload(), tls() != nullptr);
  drop_payload();
  if (!said) {
    const auto& error = said.error();
    co_await send_error(error.code, error.state, error.text, sequence_);
    co_return false;
  }
  capabilities_ = said->capabilities;
  sent = co_await authenticate(std::move(said->login));
  co_return sent;
}

/// Asks for authentication with that plugin. False: no answer came, and the connection ends.
Task<bool> Session::ask_for_proof(std::string_view plugin, std::string_view salt) {
  Buffer out(worker_.loop.buffers);
  Writer packets(*out, sequence_);
  write_auth_switch(packets, plugin, salt);
  bool done = co_await send_all(*out);
  if (done) done = co_await receive(static_cast<std::uint8_t>(sequence_ + 1));
  co_return done;
}

/// Asks for the proof of a password (`auth`), and checks it. False: the connection has ended.
Task<bool> Session::verify_password() {
  const auto denied = fmt::format("Access denied for user '{}'@'{}'", user_, client_);
  const auto has_guessed_too_much = [&] {
    const bool is_limited =
        address_ && worker_.limits.auth_failures.wait(*address_, Loop::now()).has_value();
    if (is_limited) worker_.counters.add(Count::auth_limited);
    return is_limited;
  };
  constexpr auto kTooMany = "too many wrong credentials came from this address";
  if (has_guessed_too_much()) {
    co_await send_error(1129, "HY000", kTooMany, sequence_);
    co_return false;
  }
  const auto salt = new_salt();
  const bool received = co_await ask_for_proof(kNativePassword, salt);
  if (!received) co_return false;
  const auto* const auth = settings().auth_of(listener_);
  const auto clients =
      auth != nullptr ? settings().known_by(*auth) : std::span<const KnownClient>();
  const auto known = std::ranges::find_if(clients, [&](const KnownClient& client) {
    return is_of_mysql(client) && client.user == user_;
  });
  if (has_guessed_too_much()) {  // over other connections meanwhile
    co_await send_error(1129, "HY000", kTooMany, sequence_);
    co_return false;
  }
  const bool is_right = known != clients.end() && proves_native(known->hash, salt, payload());
  drop_payload();
  if (is_right) co_return true;
  if (note_refused_client(worker_, address_, client_,
                          known == clients.end()
                              ? "it is no user of MySQL in the file of auth"
                              : fmt::format("the password of user {} is wrong", in_quotes(user_))))
    worker_.counters.add(Count::auth_limited);
  co_await send_error(1045, "28000", denied, sequence_);
  co_return false;
}

/// Without `auth` any user with any password is welcome; each client ends its own way of
/// authentication. A client of caching_sha2_password that has sent nothing waits for a salt.
Task<bool> Session::authenticate(Login login) {
  user_ = login.user.substr(0, SessionState::kLongestName);
  state_.database = login.database.substr(0, SessionState::kLongestName);
  const bool is_sha2 = login.plugin == kCachingSha2Password;
  const bool is_native = login.plugin.empty() || login.plugin == kNativePassword;
  const bool verifies = needs_auth();
  if (verifies) {
    const bool verified = co_await verify_password();
    if (!verified) co_return false;
  } else if (is_sha2 ? login.proof == Login::Proof::none : !is_native) {
    const auto salt = new_salt();
    const auto plugin = is_sha2 ? kCachingSha2Password : kNativePassword;
    const bool received = co_await ask_for_proof(plugin, salt);
    if (!received) co_return false;
    login.proof = proof_in(payload());
    drop_payload();
  }
  Buffer out(worker_.loop.buffers);
  Writer packets(*out, sequence_);
  if (!verifies && is_sha2 && login.proof == Login::Proof::password) write_fast_auth(packets);
  write_ok(packets);
  const bool sent = co_await send_all(*out);
  co_return sent;
}

}  // namespace karmad::mysql
