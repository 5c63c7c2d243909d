#include "balancer/ingress/acceptor.hpp"

#include <linux/filter.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>

#include "agent/transport/descriptor.hpp"
#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_write.hpp"
#include "balancer/core/listening_socket.hpp"
#include "balancer/core/wrong_protocol.hpp"
#include "balancer/ingress/proxy_header.hpp"
#include "balancer/ingress/session.hpp"
#include "balancer/mysql/mysql_session.hpp"

namespace karmad {

bool set_access(const char* path, const SocketAccess& access) {
  constexpr auto unchanged = static_cast<unsigned>(-1);
  const bool owned =
      (!access.user && !access.group) ||
      ::chown(path, access.user.value_or(unchanged), access.group.value_or(unchanged)) == 0;
  return owned && ::chmod(path, access.mode.bits) == 0;
}

namespace {

constexpr unsigned kAcceptedAtOnce = 64;  // connections per turn of the loop

std::string failure(const char* what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

/// Sets owner and mode of a new unix socket; before listen(), because until then no client can
/// connect. On failure the socket is removed and errno says why.
bool set_access_or_remove(const Endpoint& endpoint, const SocketAccess& access) {
  const auto* path = reinterpret_cast<const sockaddr_un*>(endpoint.data())->sun_path;
  if (set_access(path, access)) return true;
  const auto why = errno;
  ::unlink(path);
  errno = why;
  return false;
}

/// One listening socket. `shared`: other sockets will listen on the same port. `both`: an IPv6
/// socket also gets connections of IPv4.
std::expected<Descriptor, std::string> listen_at(const Endpoint& endpoint, bool shared, bool both,
                                                 int backlog, const SocketAccess& access) {
  const int family = endpoint.protocol().family();
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return std::unexpected(failure("socket"));
  const int fd = socket.get();
  const int on = 1;
  const int only = both ? 0 : 1;
  if (family != AF_UNIX) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (shared) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (family != AF_UNIX) set_connection_options(fd);
  if (::bind(fd, endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 ||
      (family == AF_UNIX && !set_access_or_remove(endpoint, access)) || ::listen(fd, backlog) != 0)
    return std::unexpected(std::string(std::strerror(errno)));
  return socket;
}

/// A socket file without a listening process is removed; one that is in use stays.
void remove_stale(const Address& address, const Endpoint& endpoint) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 &&
      errno == ECONNREFUSED)
    ::unlink(address.unix_path.c_str());
}

bool is_every_address(const Address& address) {
  return !address.is_unix() && (address.host.empty() || address.host == "*");
}

/// Whether this machine has IPv6. Even where it is switched off for all interfaces, a socket for
/// both families gets connections of IPv4.
bool has_ipv6() {
  return bool{Descriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0))};
}

std::expected<Endpoint, std::string> endpoint_of(const Address& address) {
  if (is_every_address(address))
    return Endpoint(asio::ip::tcp::endpoint(has_ipv6() ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                                            address.port));
  auto found = resolve_now(address);
  if (!found) return std::unexpected(found.error());
  return found->front();
}

std::string peer_name(const Endpoint& peer) {
  const auto* any = peer.data();
  if (any->sa_family == AF_INET || any->sa_family == AF_INET6) {
    asio::ip::tcp::endpoint tcp;
    std::memcpy(tcp.data(), peer.data(), std::min(peer.size(), tcp.capacity()));
    if (tcp.address().is_v6() && tcp.address().to_v6().is_v4_mapped())
      return asio::ip::make_address_v4(asio::ip::v4_mapped, tcp.address().to_v6()).to_string();
    return tcp.address().to_string();
  }
  return {};
}

/// Lets the kernel drop SYN segments of new connections; clients repeat them and are refused once
/// the socket is closed. Closing it at once would reset connections whose handshake is in progress.
void refuse_handshakes(int listener, int family) {
  if (family == AF_UNIX) {
    ::shutdown(listener, SHUT_RD);  // connect() fails; waiting connections can be accepted
    return;
  }
  constexpr unsigned kFlags = 13;  // offset of the flags in the TCP header
  constexpr unsigned kSyn = 0x02;
  constexpr unsigned kAck = 0x10;
  std::array<sock_filter, 5> code{
      {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlags), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kSyn | kAck),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSyn, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
       BPF_STMT(BPF_RET | BPF_K, 0xffffffff)}};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/// Waits until the listening socket is readable: then there may be a connection to accept.
struct ReadableWait {
  asio::basic_socket_acceptor<Protocol, Executor>& acceptor;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    acceptor.async_wait(asio::socket_base::wait_read,
                        [caller](const error_code&) { caller.resume(); });
  }
  void await_resume() const noexcept {}
};

std::optional<IpAddress> address_of(const Endpoint& peer) {
  const auto* any = peer.data();
  if (any->sa_family == AF_INET)
    return IpAddress::v4(ntohl(reinterpret_cast<const sockaddr_in*>(any)->sin_addr.s_addr));
  if (any->sa_family == AF_INET6)
    return IpAddress::v6(reinterpret_cast<const sockaddr_in6*>(any)->sin6_addr.s6_addr);
  return std::nullopt;
}

/// The whole answer to a refused connection.
std::string refusal_bytes(std::string_view reason) {
  const auto refused = refusal(429, reason);
  const Field retry{kRetryAfter, "1"};
  std::string out;
  write_response_head(out, {.status = 429,
                            .content_type = refused.content_type,
                            .content_length = refused.body.size(),
                            .keep_alive = false,
                            .extra = {&retry, 1}});
  return out + refused.body;
}

}  // namespace

std::expected<std::vector<Listening>, std::string> open_listeners(Address& address,
                                                                  unsigned workers, int backlog,
                                                                  const SocketAccess& access) {
  const bool both = is_every_address(address);
  auto endpoint = endpoint_of(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  std::vector<Listening> all;
  const auto protocol = endpoint->protocol();
  if (address.is_unix()) {
    if (is_other_file(address.unix_path)) return std::unexpected(std::string(kOtherFile));
    remove_stale(address, *endpoint);
    auto socket = listen_at(*endpoint, false, both, backlog, access);
    if (!socket) return std::unexpected(std::move(socket).error());
    while (all.size() + 1 < workers) all.push_back({::dup(socket->get()), protocol});
    all.push_back({socket->release(), protocol});
    return all;
  }
  if (auto probe = listen_at(*endpoint, false, both, backlog, access); !probe)
    return std::unexpected(std::move(probe).error());
  while (all.size() < workers) {
    auto socket = listen_at(*endpoint, true, both, backlog, access);
    if (!socket) return std::unexpected(std::move(socket).error());
    all.push_back({socket->release(), protocol});
    if (address.port == 0) {
      address.port = local_address(all.back().descriptor).value_or(Address()).port;
      endpoint = endpoint_of(address);
    }
  }
  return all;
}

/// The answer to a refused connection in both protocols.
struct Acceptor::RefusalBytes {
  explicit RefusalBytes(std::string_view reason)
      : http(refusal_bytes(reason)), mysql(mysql::refusal_bytes(reason)) {}

  const std::string http;
  const std::string mysql;
};

Acceptor::Acceptor(Worker& worker, const Listening& listening)
    : worker_(worker),
      protocol_(listening.protocol),
      kind_(listening.kind),
      acceptor_(worker.loop.io.get_executor(), listening.protocol, listening.descriptor),
      pause_(worker.loop) {}

void Acceptor::refuse_new() {
  draining_ = true;
  if (handed_over_) {
    close();
  } else {
    refuse_handshakes(acceptor_.native_handle(), protocol_.family());
  }
  for (auto* waiting : std::vector(waiting_.begin(), waiting_.end()))
    waiting->request(StopReason::cancelled);
}

void Acceptor::stop() {
  while (accept_pending().value_or(0) == kAcceptedAtOnce) continue;
  close();
}

void Acceptor::close() {
  error_code ignored;
  acceptor_.close(ignored);
  pause_.request(StopReason::cancelled);
}

Task<void> Acceptor::run() {
  bool failed_before = false;
  while (acceptor_.is_open()) {
    ReadableWait readable{acceptor_};
    co_await readable;
    const auto accepted = accept_pending();
    if (!accepted && acceptor_.is_open()) {
      // Most likely no descriptor is free: open connections continue, new ones wait 100 ms.
      if (!failed_before) spdlog::warn("accept: {}", accepted.error().message());
      co_await sleep(worker_.loop, Loop::now() + 100ms, pause_);
    }
    failed_before = !accepted;
  }
}

/// Accepts up to kAcceptedAtOnce connections, so that other work gets its turn. Returns their
/// number, or the error that stopped it.
std::expected<unsigned, error_code> Acceptor::accept_pending() {
  unsigned accepted = 0;
  while (accepted < kAcceptedAtOnce && acceptor_.is_open()) {
    Endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    const int fd =
        ::accept4(acceptor_.native_handle(), peer.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    // EINVAL: the socket no longer listens.
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINVAL)) break;
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO)) continue;
    if (fd < 0) return std::unexpected(error_code(errno, boost::system::system_category()));
    ++accepted;
    peer.resize(size);
    Socket socket(worker_.loop.io.get_executor());
    error_code error;
    socket.assign(protocol_, fd, error);
    if (error) {
      ::close(fd);
      return std::unexpected(error);
    }
    on_connection({std::move(socket), peer, address_of(peer)});
  }
  return accepted;
}

/// The operator is let in when all connections for queries are in use.
void Acceptor::on_admin_connection(NewConnection connection) {
  const auto most = worker_.topology_now()->settings.max_admin_connections.value;
  if (worker_.connections.admin_open.load(std::memory_order_relaxed) < most)
    return start_session(std::move(connection));
  worker_.counters.add(Count::connections_refused);
  static const RefusalBytes kTooManyAdmin(
      "too many connections to the admin listeners (max_admin_connections)");
  refuse(connection, kTooManyAdmin);
}

/// Sends the reason in the protocol of the listener, without waiting.
void Acceptor::refuse(NewConnection& connection, const RefusalBytes& bytes) const {
  auto& socket = connection.socket;
  error_code ignored;
  socket.non_blocking(true, ignored);
  // Unread bytes would turn the close into a reset, and the client might lose the answer.
  std::array<char, 4096> unread;
  socket.read_some(asio::buffer(unread), ignored);
  socket.write_some(asio::buffer(kind_.mysql ? bytes.mysql : bytes.http), ignored);
  socket.shutdown(Socket::shutdown_send, ignored);
}

void Acceptor::on_connection(NewConnection connection) {
  worker_.counters.add(Count::connections);
  if (kind_.admin) return on_admin_connection(std::move(connection));
  const auto& clients = worker_.connections;
  // Connections that wait because of the rate count as open.
  if (clients.open.load(std::memory_order_relaxed) + worker_.limits.rates.connections.asleep() >=
      clients.most) {
    worker_.counters.add(Count::connections_refused);
    static const RefusalBytes kTooMany("too many connections (max_connections)");
    return refuse(connection, kTooMany);
  }
  const auto topology = worker_.topology();
  if (topology->limits_connections) {
    admit_by_rate(std::move(connection), topology->settings);
  } else {
    start_session(std::move(connection));
  }
}

/// Starts the session at once or later, or refuses the connection.
void Acceptor::admit_by_rate(NewConnection connection, const InstanceSettings& settings) {
  auto& limiter = worker_.limits.rates.connections;
  if (connection.address &&
      contains(settings.ingress_connection_bypass.value, *connection.address)) {
    limiter.exempt();
    return start_session(std::move(connection));
  }
  const auto now = Loop::now();
  if (settings.admission.value == AdmissionMode::monitor) {
    limiter.would_borrow(now);
    return start_session(std::move(connection));
  }
  auto reservation = limiter.borrow(1, now);
  if (!reservation) {
    worker_.counters.add(Count::connections_over_rate);
    static const RefusalBytes kOverRate("too many new connections (ingress_connection_rate)");
    return refuse(connection, kOverRate);
  }
  if (reservation->wait() == Micros(0)) return start_session(std::move(connection));
  const auto until = now + reservation->wait();
  spawn(wait_for_token(std::move(connection), *std::move(reservation), until));
}

/// Waits until the borrowed token is earned, or until the peer leaves: then the token is returned.
/// When the worker drains, the session starts at once.
Task<void> Acceptor::wait_for_token(NewConnection connection, RateLimiter::Reservation reservation,
                                    TimePoint until) {
  const auto socket = connection.socket.native_handle();
  Stop stop(worker_.loop);
  const auto place = waiting_.insert(waiting_.end(), &stop);
  worker_.disconnect_watcher.watch(socket, stop);
  co_await sleep(worker_.loop, until, stop);
  worker_.disconnect_watcher.forget(socket);
  waiting_.erase(place);
  if (!stop.requested() || draining_) {
    reservation.over();
    start_session(std::move(connection));
  } else {
    worker_.limits.rates.left_queue.fetch_add(1, std::memory_order_relaxed);
  }
}

/// A connection that begins with a header of the PROXY protocol. Once it has come, a session takes
/// the socket; else the connection ends. Bytes behind the header stay in the socket.
class Acceptor::HeaderReader final : public ClientConnection {
 public:
  HeaderReader(Acceptor& of, Socket socket, ClientAddress peer)
      : ClientConnection(
            of.worker_, std::move(socket), std::move(peer),
            of.kind_.admin ? of.worker_.connections.admin_open : of.worker_.connections.open),
        acceptor_(of) {}

  void start() { run(this); }
  void abandon() override {
    ending_ = true;
    close();
  }

 private:
  static Background run(boost::intrusive_ptr<HeaderReader> self);
  Task<std::optional<ProxyHeader>> read_header();
  std::expected<std::optional<ProxyHeader>, std::string> look_further();
  /// For the end of read_header().
  std::nullopt_t refuse(std::string_view why) {
    report_proxy_header(worker_, client_, socket(), why);
    return std::nullopt;
  }

  void phase_timed_out() override { cancel(); }
  void break_off() override { reset(); }
  void ask_whether_there() override {}
  void end_for_memory() override {}

  Acceptor& acceptor_;
  std::string bytes_;  ///< of the header
};

Background Acceptor::HeaderReader::run(boost::intrusive_ptr<HeaderReader> self) {
  const auto header = co_await self->read_header();
  if (!header || !self->open()) {
    self->close();
    co_return;
  }
  auto client = header->client ? ClientAddress::of(*header->client, header->port)
                               : ClientAddress{.text = self->client_, .number = self->address_};
  Socket socket(std::move(self->socket()));
  self->close();  // of the rest
  const auto session = self->acceptor_.start_session(std::move(socket), std::move(client));
  if (self->ending_) session->drain();
}

/// Takes what has arrived of the header, and nothing behind it.
std::expected<std::optional<ProxyHeader>, std::string> Acceptor::HeaderReader::look_further() {
  constexpr std::size_t kPeeked = 256;  // most headers are shorter
  const auto longest = settings().max_header_size.value;
  for (;;) {
    const auto have = bytes_.size();
    bytes_.resize(have + kPeeked);
    const auto seen =
        ::recv(socket().native_handle(), bytes_.data() + have, kPeeked, MSG_PEEK | MSG_DONTWAIT);
    const auto came = seen > 0 ? static_cast<std::size_t>(seen) : 0;
    bytes_.resize(have + came);
    auto header = read_proxy_header(bytes_, longest);
    if (!header) return header;
    const auto size = *header ? (*header)->size : bytes_.size();
    if (size > have)
      ::recv(socket().native_handle(), bytes_.data() + have, size - have, MSG_DONTWAIT);
    if (*header || came < kPeeked) return header;
  }
}

/// None: the connection must end; the reason was reported.
Task<std::optional<ProxyHeader>> Acceptor::HeaderReader::read_header() {
  const auto& trusted = settings().trusted_proxies.value;
  if (!trusted.empty() && !is_trusted(trusted, address_))
    co_return refuse("its address is not in trusted_proxies");
  start_phase(Phase::idle, settings().network_timeout.value);
  std::size_t room = kShortestProxyHeader;
  for (;;) {
    const auto have = bytes_.size();
    bytes_.resize(have + room);
    start_read(bytes_.data() + have, room);
    const auto got = co_await read();
    bytes_.resize(have + got.size);
    const bool drained = got.error == asio::error::operation_aborted && ending_ && open();
    if (drained && !timed_out_ && has_bytes()) continue;
    phase_ = Phase::reading;
    if (timed_out_) co_return refuse("no whole PROXY header came within network_timeout");
    if (got.error) {  // a check of a balancer connects and leaves
      if (!bytes_.empty() && !ending_) refuse("the connection ended within the PROXY header");
      co_return std::nullopt;
    }
    auto header = look_further();
    if (!header)
      co_return refuse(fmt::format(
          "no valid PROXY header: {}; switch it on there (send-proxy, proxy_protocol), or "
          "listen without ,proxy",
          header.error()));
    if (*header) co_return **header;
    room = 1;
  }
}

void Acceptor::start_session(NewConnection connection) {
  auto& [socket, peer, address] = connection;
  ClientAddress client{.text = peer_name(peer), .number = address};
  if (!kind_.proxy) {
    start_session(std::move(socket), std::move(client));
    return;
  }
  boost::intrusive_ptr<HeaderReader>(new HeaderReader(*this, std::move(socket), std::move(client)))
      ->start();
}

boost::intrusive_ptr<ClientConnection> Acceptor::start_session(Socket socket,
                                                               ClientAddress client) {
  if (kind_.mysql) {
    boost::intrusive_ptr<mysql::Session> mysql(
        new mysql::Session(worker_, std::move(socket), std::move(client), kind_));
    mysql->start();
    return mysql;
  }
  boost::intrusive_ptr<Session> session(
      new Session(worker_, std::move(socket), std::move(client), kind_));
  if (kind_.tls) {
    const auto& certificates = worker_.topology_now()->client_tls;
    if (!certificates) return session;  // taken away at a reload: it cannot be served
    session->encrypt(certificates->accept(session->socket().native_handle()));
  }
  session->start();
  return session;
}

}  // namespace karmad
