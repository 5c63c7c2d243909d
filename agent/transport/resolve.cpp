#include "agent/transport/resolve.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "agent/transport/loop/run_detached.hpp"

namespace karmad {

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
