#include "agent/transport/resolve.hpp"

#define CARES_NO_DEPRECATED  // Debian 12's c-ares 1.18 has only what 1.34 calls deprecated
#include <ares.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "agent/transport/loop/thread_pool.hpp"
#include "config/own_address.hpp"

namespace karmad {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kUdpSize = 1232;  // of answers: fits in a packet on every path (DNS flag day 2020)

std::optional<HostAddress> ip_of(const sockaddr* address) {
  namespace ip = boost::asio::ip;
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return ip::address_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  ip::address_v6::bytes_type bytes;
  std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  return ip::address_v6(bytes, v6.sin6_scope_id);
}

/// The result of one question; lives until its channel is destroyed.
struct AddressAnswer {
  std::string error;
  bool refused = false;  ///< it has an address that no server has
  std::vector<HostAddress> addresses;
};
struct SrvRecord {
  std::uint16_t priority, weight, port;
  std::string target;
};
struct SrvAnswer {
  std::string error;
  std::vector<SrvRecord> records;
};

void take_addresses(void* into, int status, int, ares_addrinfo* found) {
  auto& answer = *static_cast<AddressAnswer*>(into);
  if (status != ARES_SUCCESS) answer.error = ares_strerror(status);
  if (found == nullptr) return;
  for (const auto* node = found->nodes; node != nullptr; node = node->ai_next)
    if (const auto address = ip_of(node->ai_addr);
        address && answer.addresses.size() < kMostRecords &&
        std::ranges::find(answer.addresses, *address) == answer.addresses.end())
      answer.addresses.push_back(*address);
  ares_freeaddrinfo(found);
  for (const auto& address : answer.addresses)
    if (const auto kind = kind_without_server(address.to_string()); !kind.empty()) {
      answer.error =
          fmt::format("no server has the {} address {} of the answer", kind, address.to_string());
      answer.refused = true;
    }
  if (answer.refused) answer.addresses.clear();
  if (answer.addresses.empty() && answer.error.empty()) answer.error = "the answer has no address";
}

void take_records(void* into, int status, int, unsigned char* bytes, int size) {
  auto& answer = *static_cast<SrvAnswer*>(into);
  ares_srv_reply* records = nullptr;
  if (status == ARES_SUCCESS) status = ares_parse_srv_reply(bytes, size, &records);
  if (status != ARES_SUCCESS) answer.error = ares_strerror(status);
  for (const auto* each = records; each != nullptr; each = each->next) {
    const std::string_view target = each->host;
    // The target `.` means that there is no such service.
    if (target.empty() || target == ".") continue;
    if (each->port == 0) {
      answer.error = fmt::format("its target {} has port 0", target);
      answer.records.clear();
      break;
    }
    if (answer.records.size() < kMostRecords)
      answer.records.push_back({each->priority, each->weight, each->port, std::string(target)});
  }
  if (records != nullptr) ares_free_data(records);
  if (answer.records.empty() && answer.error.empty()) answer.error = "the answer has no target";
}

/// Questions to the name servers; they run at the same time, in wait().
class DnsChannel {
 public:
  explicit DnsChannel(const DnsSettings& settings) {
    ares_options options{};
    options.timeout = static_cast<int>(settings.timeout.count() / 1000);
    options.tries = static_cast<int>(settings.tries);
    options.flags = ARES_FLAG_EDNS;
    options.ednspsz = kUdpSize;
    std::array<char, 3> files_first{"fb"};
    options.lookups = files_first.data();
    const int status = ares_init_options(
        &channel_, &options,
        ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_LOOKUPS);
    if (status != ARES_SUCCESS) {
      error_ = ares_strerror(status);
      channel_ = nullptr;
      return;
    }
    std::string servers;
    for (const auto& server : settings.servers)
      servers.append(servers.empty() ? "" : ",").append(text(server));
    if (servers.empty()) return;
    if (const int set = ares_set_servers_ports_csv(channel_, servers.c_str()); set != ARES_SUCCESS)
      error_ = ares_strerror(set);
  }
  DnsChannel& operator=(DnsChannel&&) = delete;
  ~DnsChannel() {
    if (channel_ != nullptr) ares_destroy(channel_);
  }

  /// Not empty: no question can be asked.
  const std::string& error() const { return error_; }

  void ask(const std::string& host, AddressAnswer& answer) {
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, take_addresses, &answer);
  }
  void ask(const std::string& name, SrvAnswer& answer) {
    constexpr int kClassInternet = 1;
    constexpr int kTypeSrv = 33;
    ares_query(channel_, name.c_str(), kClassInternet, kTypeSrv, take_records, &answer);
  }

  /// Until all questions have their answers, at most until then.
  void wait(Clock::time_point end) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    for (;;) {
      const auto mask = static_cast<unsigned>(
          ares_getsock(channel_, sockets.data(), static_cast<int>(sockets.size())));
      if (mask == 0) return;
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return ares_cancel(channel_);  // the answers get an error
      std::array<pollfd, ARES_GETSOCK_MAXNUM> polled{};
      nfds_t count = 0;
      for (unsigned i = 0; i < sockets.size(); ++i) {
        const bool reads = ARES_GETSOCK_READABLE(mask, i) != 0;
        const bool writes = ARES_GETSOCK_WRITABLE(mask, i) != 0;
        if (!reads && !writes) continue;
        polled[count].fd = sockets[i];
        polled[count++].events = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
      }
      timeval longest{.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
      timeval room{};
      const auto* next = ares_timeout(channel_, &longest, &room);
      const auto pause = next->tv_sec * 1000 + next->tv_usec / 1000 + 1;
      const int ready = ::poll(polled.data(), count, static_cast<int>(pause));
      process({polled.data(), ready > 0 ? count : 0});
    }
  }

 private:
  void process(std::span<const pollfd> polled) {
    // Without sockets it only handles what has timed out.
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    for (const auto& each : polled) {
      if (each.revents == 0) continue;
      const bool writes = (each.revents & POLLOUT) != 0;
      const bool reads = (each.revents & ~POLLOUT) != 0;
      ares_process_fd(channel_, reads ? each.fd : ARES_SOCKET_BAD,
                      writes ? each.fd : ARES_SOCKET_BAD);
    }
  }

  ares_channel channel_ = nullptr;
  std::string error_;
};

}  // namespace

std::expected<std::vector<HostAddress>, std::string> look_up_addresses(
    const std::string& host, const DnsSettings& settings) {
  AddressAnswer answer;
  DnsChannel channel(settings);
  if (!channel.error().empty()) return std::unexpected(channel.error());
  channel.ask(host, answer);
  channel.wait(Clock::now() + kLongestLookUp);
  if (answer.addresses.empty()) return std::unexpected(answer.error);
  return std::move(answer.addresses);
}

std::expected<std::vector<SrvTarget>, std::string> look_up_srv(const std::string& name,
                                                               const DnsSettings& settings) {
  SrvAnswer records;
  std::map<std::string, AddressAnswer> hosts;
  const auto end = Clock::now() + kLongestLookUp;
  DnsChannel channel(settings);
  if (!channel.error().empty()) return std::unexpected(channel.error());
  channel.ask(name, records);
  channel.wait(end);
  if (records.records.empty()) return std::unexpected(records.error);
  for (const auto& record : records.records) hosts[record.target];
  for (auto& [host, answer] : hosts) channel.ask(host, answer);
  channel.wait(end);
  for (const auto& [host, answer] : hosts)
    if (answer.refused)
      return std::unexpected(fmt::format("its target {}: {}", host, answer.error));
  std::vector<SrvTarget> targets;
  for (const auto& [priority, weight, port, target] : records.records)
    targets.push_back({priority, weight, port, hosts[target].addresses});
  if (std::ranges::all_of(targets, [](const auto& each) { return each.addresses.empty(); }))
    return std::unexpected(fmt::format("no address of its targets: {}: {}", hosts.begin()->first,
                                       hosts.begin()->second.error));
  return targets;
}

using Tcp = asio::ip::tcp;

std::optional<Endpoints> literal_endpoints(const Address& address) {
  if (address.is_unix())
    return Endpoints{Endpoint(asio::local::stream_protocol::endpoint(address.unix_path))};
  error_code error;
  const auto ip = asio::ip::make_address(address.host, error);
  if (error) return std::nullopt;
  return Endpoints{Endpoint(Tcp::endpoint(ip, address.port))};
}

std::string look_up_failure(const std::string& host, const std::string& why) {
  return "cannot look up the name '" + host + "': " + why;
}

std::expected<Endpoints, std::string> resolve_now(const Address& address,
                                                  const DnsSettings& settings) {
  if (auto literal = literal_endpoints(address)) return *literal;
  const auto found = look_up_addresses(address.host, settings);
  if (!found) return std::unexpected(look_up_failure(address.host, found.error()));
  Endpoints endpoints;
  for (const auto& ip : *found) endpoints.emplace_back(Tcp::endpoint(ip, address.port));
  return endpoints;
}

Task<std::expected<Endpoints, std::string>> resolve(Loop& loop, const Address& address, Stop& stop,
                                                    std::shared_ptr<const DnsSettings> settings) {
  using Result = std::expected<Endpoints, std::string>;
  if (auto literal = literal_endpoints(address)) co_return Result(*literal);
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  struct LookUpState {
    std::atomic<bool> abandoned{false};
    AsyncEvent done;
    Result result;
  };
  auto state = std::make_shared<LookUpState>();
  run_detached([door = loop.door(), address, settings, mine = state]() mutable {
    if (mine->abandoned) return;
    door->post([found = resolve_now(address, *settings), own = std::move(mine)]() mutable {
      own->result = std::move(found);
      own->done.notify();
    });
  });
  {
    const asio::executor_work_guard<Executor> waiting(loop.io.get_executor());
    const auto guard = stop.calling<&AsyncEvent::notify>(state->done);
    co_await state->done;
  }
  state->abandoned = stop.requested();
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  co_return std::move(state->result);
}

}  // namespace karmad
