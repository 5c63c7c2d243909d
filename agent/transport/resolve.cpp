#include "agent/transport/resolve.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "agent/transport/loop/run_detached.hpp"

namespace karmad {
namespace {

using Tcp = asio::ip::tcp;

Endpoints from(const Tcp::resolver::results_type& results) {
  Endpoints endpoints;
  for (const auto& entry : results) endpoints.emplace_back(entry.endpoint());
  return endpoints;
}

std::string reason(const Address& address, const error_code& error) {
  return "cannot look up the name '" + address.host + "': " + error.message();
}

}  // namespace

std::optional<Endpoints> literal_endpoints(const Address& address) {
  if (address.is_unix())
    return Endpoints{Endpoint(asio::local::stream_protocol::endpoint(address.unix_path))};
  error_code error;
  const auto ip = asio::ip::make_address(address.host, error);
  if (error) return std::nullopt;
  return Endpoints{Endpoint(Tcp::endpoint(ip, address.port))};
}

std::expected<Endpoints, std::string> resolve_now(const Address& address) {
  if (auto literal = literal_endpoints(address)) return *literal;
  asio::io_context io;
  Tcp::resolver resolver(io);
  error_code error;
  const auto results = resolver.resolve(address.host, std::to_string(address.port), error);
  if (error) return std::unexpected(reason(address, error));
  return from(results);
}

Task<std::expected<Endpoints, std::string>> resolve(
    Loop& loop, const Address& address, Stop& stop,
    std::expected<Endpoints, std::string> (*blocking)(const Address&)) {
  using Result = std::expected<Endpoints, std::string>;
  if (auto literal = literal_endpoints(address)) co_return Result(*literal);
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  struct LookUpState {
    std::atomic<bool> abandoned{false};
    AsyncEvent done;
    Result result;
  };
  auto state = std::make_shared<LookUpState>();
  run_detached([door = loop.door(), address, blocking, mine = state]() mutable {
    if (mine->abandoned) return;
    door->post([found = blocking(address), own = std::move(mine)]() mutable {
      own->result = std::move(found);
      own->done.notify();
    });
  });
  {
    const asio::executor_work_guard<Executor> waiting(loop.io.get_executor());
    const Stop::Guard guard(stop, state.get(),
                            [](void* target) { static_cast<LookUpState*>(target)->done.notify(); });
    co_await state->done;
  }
  state->abandoned = stop.requested();
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  co_return std::move(state->result);
}

}  // namespace karmad
