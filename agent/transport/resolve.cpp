#include "agent/transport/resolve.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace karmad {
namespace {

using Tcp = asio::ip::tcp;
using Resolver = asio::ip::basic_resolver<Tcp, Executor>;

template <class Results>
Endpoints from(const Results& results) {
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
  // The look-up runs in a thread of Asio's and cannot be broken off. Who waits can: then the
  // look-up is left alone with what belongs to it.
  struct LookingUp {
    explicit LookingUp(Loop& of) : resolver(of.io.get_executor()) {}
    Resolver resolver;
    Signal done;
    error_code error;
    Endpoints endpoints;
  };
  const auto looking = std::make_shared<LookingUp>(loop);
  looking->resolver.async_resolve(
      address.host, std::to_string(address.port),
      [looking](error_code error, const Resolver::results_type& results) {
        looking->error = error;
        looking->endpoints = from(results);
        looking->done.notify();
      });
  {
    const Stop::Guard guard(stop, looking.get(),
                            [](void* whom) { static_cast<LookingUp*>(whom)->done.notify(); });
    co_await looking->done;
  }
  if (stop.requested()) co_return Result(std::unexpected(std::string("stopped")));
  if (looking->error) co_return Result(std::unexpected(reason(address, looking->error)));
  co_return Result(std::move(looking->endpoints));
}

}  // namespace karmad
