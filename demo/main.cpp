#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "demo/data/corpus.hpp"
#include "demo/data/text.hpp"
#include "demo/engine/change.hpp"
#include "demo/server.hpp"

namespace {

using namespace karmad::demo;

struct Arguments {
  std::string listen = "127.0.0.1:9321";
  std::string control;
  std::string shard = "0/1";
  std::vector<std::string> tables{"products"};
  std::string name;
  std::string role = "standalone";
  std::string set;
  std::string tags;
  std::size_t documents = 4000;
  std::size_t threads = 2;
  std::uint64_t seed = 1;
  std::uint64_t spread = 0;
  std::string hidden_column;
  std::string load;
  std::uint64_t load_shard = 0;
  bool load_frequencies = false;
  std::string empty;
  std::string queries;
  bool fixed = false;
  std::optional<int> clock;
};

// As in sysexits.h and in karmad.
constexpr int kUsage = 2;
constexpr int kSystem = 71;

std::optional<asio::ip::tcp::endpoint> read_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = number_of<std::uint16_t>(digits);
  if (!port) return std::nullopt;
  boost::system::error_code error;
  const auto address = asio::ip::make_address(std::string(host), error);
  if (error) return std::nullopt;
  return asio::ip::tcp::endpoint{address, *port};
}

std::optional<Part> read_part(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = number_of<std::size_t>(text.substr(0, slash));
  const auto of = number_of<std::size_t>(text.substr(slash + 1));
  if (!number || !of || *number >= *of) return std::nullopt;
  return Part{*number, *of, 0};
}

std::string switches_footer() {
  std::string out = "\nSwitches (GET or POST /control?name=value&…, or POST a JSON object):\n";
  auto append = [&](std::span<const SwitchHelp> switches) {
    for (const auto& help : switches)
      out +=
          fmt::format("  {:16} {}\n                   {}\n", help.name, help.meaning, help.value);
  };
  append(switch_help());
  out +=
      "\nIts description in GET /hello, changed in the same way; `for` and `reset` do not affect "
      "it:\n";
  append(membership_help());
  return out;
}

template <class Endpoint>
std::string endpoint_text(const Endpoint& endpoint) {
  const auto address = endpoint.address();
  return fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"), address.to_string(),
                     endpoint.port());
}

/// The membership from the arguments; empty after printing an error.
std::optional<Membership> read_membership(const Arguments& arguments) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  Membership out;
  out.process_id = fmt::format("{:x}", now);
  for (const auto& [name, value] :
       {std::pair{"role", &arguments.role}, std::pair{"set", &arguments.set},
        std::pair{"tags", &arguments.tags}}) {
    if (const auto problem = change(out, name, *value, now)) {
      fmt::print(stderr, "karmad-demo-agent: --{}: {}\n", name, *problem);
      return std::nullopt;
    }
  }
  return out;
}

/// Runs until a signal ends it.
int serve(const Arguments& arguments, Part part, std::optional<Index> loaded, Membership membership,
          const Server::Options& options) {
  const auto name = arguments.name.empty() ? arguments.listen : arguments.name;
  auto index = loaded ? *std::move(loaded) : Index{invent_corpus(arguments.documents), part};
  Engine engine{std::move(index), arguments.tables, arguments.hidden_column,
                arguments.fixed ? Engine::Updates::counted : Engine::Updates::applied};
  if (!arguments.empty.empty()) engine.add_empty_table(arguments.empty);
  if (!arguments.queries.empty()) engine.add_query_table(arguments.queries);
  Control control{fmt::format(R"("name":{},"shard":"{}","documents":{})", json_string(name),
                              arguments.shard, engine.index().documents().size()),
                  arguments.seed, std::move(membership)};
  SessionContext shared{engine, control, name};
  if (arguments.clock) shared.clock = std::chrono::seconds(*arguments.clock);
  asio::io_context io{static_cast<int>(arguments.threads)};
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](auto, auto) { io.stop(); });

  Server server{io, shared, options};
  // An agent that listens on all addresses does not know the address that clients use.
  if (!server.endpoint().address().is_unspecified())
    control.set_address(endpoint_text(server.endpoint()));
  if (const auto side = server.control_endpoint())
    fmt::print("control on {}\n", endpoint_text(*side));
  fmt::print("listening on {}\n", endpoint_text(server.endpoint()));
  std::fflush(stdout);

  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < arguments.threads; ++i) others.emplace_back([&] { io.run(); });
  io.run();
  others.clear();
  return 0;
}

int usage(std::string_view problem) {
  fmt::print(stderr, "karmad-demo-agent: {}\n", problem);
  return kUsage;
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  CLI::App app{"A small search server with a generated catalogue, for trials and tests of karmad.",
               "karmad-demo-agent"};
  app.add_option("--listen", arguments.listen,
                 "address and port; port 0: a free port, which is printed")
      ->capture_default_str();
  app.add_option("--control", arguments.control,
                 "another address and port for /control, which no switch affects");
  app.add_option("--shard", arguments.shard, "number/of: its part of the catalogue")
      ->capture_default_str();
  app.add_option("--spread", arguments.spread,
                 "how the catalogue is distributed; the same for all agents of a cluster")
      ->capture_default_str();
  app.add_option("--table", arguments.tables, "a table's name; may be repeated")
      ->capture_default_str();
  app.add_option("--name", arguments.name, "shown in X-Demo-Agent (default: the address)");
  app.add_option("--role", arguments.role, "the role that it reports in GET /hello")
      ->capture_default_str();
  app.add_option("--set", arguments.set, "name of the mirror set that it reports");
  app.add_option("--tags", arguments.tags, "its tags, such as dc:ny,rack:2");
  app.add_option("--documents", arguments.documents, "size of the whole catalogue")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--load", arguments.load, "a file of documents, in place of the catalogue");
  app.add_option("--load-shard", arguments.load_shard, "only those of this shard; 0: all")
      ->capture_default_str();
  app.add_flag("--load-frequencies", arguments.load_frequencies,
               "ranks by the words of the whole file, not of the shard");
  app.add_option("--empty", arguments.empty, "a further table, without documents");
  app.add_option("--queries", arguments.queries, "a further table, with stored queries only");
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--hide-column", arguments.hidden_column,
                 "a column that DESC does not show, as if its schema were another");
  app.add_flag("--fixed", arguments.fixed,
               "updates are answered and counted, but do not change the catalogue");
  app.add_option("--clock", arguments.clock,
                 "sends the header Date, from a clock that is so many seconds ahead");
  app.add_option("--seed", arguments.seed, "seed of the random latencies and rates")
      ->capture_default_str();
  app.set_version_flag("--version", "karmad-demo-agent " KARMAD_VERSION);
  app.footer(switches_footer());
  try {
    app.parse(count, values);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }

  auto part = read_part(arguments.shard);
  if (part) part->spread = arguments.spread;
  if (!part) return usage("--shard must be NUMBER/OF, such as 0/2, not '" + arguments.shard + "'");
  const auto membership = read_membership(arguments);
  if (!membership) return kUsage;
  Server::Options options;
  const auto listen = read_address(arguments.listen);
  if (!listen)
    return usage("--listen must be ADDRESS:PORT, such as 127.0.0.1:9321, not '" + arguments.listen +
                 "'");
  options.listen = *listen;
  if (!arguments.control.empty()) {
    options.control = read_address(arguments.control);
    if (!options.control)
      return usage("--control must be ADDRESS:PORT, such as 127.0.0.1:9421, not '" +
                   arguments.control + "'");
  }
  std::optional<Index> loaded;
  if (!arguments.load.empty()) {
    loaded = load_documents(arguments.load, arguments.load_shard, arguments.load_frequencies);
    if (!loaded)
      return usage("--load must be a JSON list of documents, '" + arguments.load + "' is none");
  }
  try {
    return serve(arguments, *part, std::move(loaded), *membership, options);
  } catch (const boost::system::system_error& error) {
    fmt::print(stderr, "karmad-demo-agent: cannot listen on {} (--listen, --control): {}\n",
               arguments.listen, error.code().message());
    return kSystem;
  }
}
