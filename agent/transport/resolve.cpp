#include "agent/transport/resolve.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

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

Task<std::expected<Endpoints, std::string>> resolve(Loop& loop, const Address& address,
                                                    Stop& stop) {
  using Result = std::expected<Endpoints, std::string>;
  if (auto literal = literal_endpoints(address)) co_return Result(*literal);
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  // The look-up blocks the loop's helper and cannot be broken off. Who waits can: then the look-up
  // is left alone with what belongs to it. The loop does not end before it.
  struct LookingUp {
    explicit LookingUp(Loop& of) : under_way(of.io.get_executor()) {}
    asio::executor_work_guard<Executor> under_way;
    Signal done;
    Result result;
  };
  auto looking = std::make_shared<LookingUp>(loop);
  asio::post(loop.helper(), [&loop, address, mine = looking]() mutable {
    loop.post([found = resolve_now(address), own = std::move(mine)]() mutable {
      own->result = std::move(found);
      own->done.notify();
    });
  });
  {
    const Stop::Guard guard(stop, looking.get(),
                            [](void* whom) { static_cast<LookingUp*>(whom)->done.notify(); });
    co_await looking->done;
  }
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  co_return std::move(looking->result);
}

}  // namespace karmad
