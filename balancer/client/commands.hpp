#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings/settings.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): that of the library
class App;
}

namespace karmad {

/// Where a running karmad listens: `host:port`, `port`, `http://host:port` or the path of a socket.
struct ServerAddress {
  Address address;
  std::string token{};  ///< for Authorization: Bearer; empty: none
};

/// Without a port it is `default_port`. The error says what is wrong.
std::expected<ServerAddress, std::string> parse_server_address(
    std::string text, std::string_view default_port = "9308");

/// Prints why a command, such as `karmad ctl`, has failed; returns `code`, with which it ends.
int failed(std::string_view command, std::string_view why, int code);

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

/// `status 403: REASON`, with the `error` of the body; without one: `status 404; is it karmad?`.
std::string refusal_text(const HttpAnswer& answer);

/// Longest body that http_ask() accepts, in bytes.
inline constexpr std::size_t kLongestAnswer = 64 << 20;

/// The same with the token of this file, unless its name is empty.
std::expected<ServerAddress, std::string> server_with_token(const std::string& text,
                                                            const std::string& token_file,
                                                            std::string_view default_port = "9308");

/// A request of a command to a running karmad.
struct HttpRequest {
  std::string method = "GET";
  std::string target;
  std::string body{};  ///< JSON; empty: none
};

/// Sends a request on a new connection and waits for the whole answer, at most `longest`. The error
/// says what failed, with the address.
std::expected<HttpAnswer, std::string> http_ask(const ServerAddress& server,
                                                const HttpRequest& request,
                                                std::chrono::milliseconds longest);

/// Options of `karmad top`.
struct TopOptions {
  std::string address;  ///< see parse_server_address(); empty: 127.0.0.1:9308
  std::string table;    ///< empty: all
  std::string token_file{};
  double interval = 1;  ///< s between two refreshes
  bool once = false;
  bool json = false;
};

/// Shows the state of a running karmad until `q`, INT or TERM. Returns the exit code of the
/// program: 0, 1 if karmad cannot be reached or is not karmad, 2 for a wrong address.
int run_top(const TopOptions& options);

/// Prints the explanation of a request, or with `table` what a request would see now. Exit code as
/// run_top().
struct ExplainOptions {
  std::string address;
  std::string id;
  std::string table;
  std::string read_preference;
  std::string token_file{};
  bool json = false;
};
int run_explain(const ExplainOptions& options);

/// An answer of GET /explain as text for people: each shard, each choice with its mirrors and the
/// rule that removed each, and the attempt. The error says that it is not such an answer.
std::expected<std::string, std::string> explanation_text(std::string_view json);

/// Options of `karmad ctl`.
struct CtlOptions {
  std::string address;  ///< of a listener with `:admin`; empty: 127.0.0.1:9309
  std::string token_file;
  std::string verb;                    ///< of an admin call, or `show`
  std::vector<std::string> arguments;  ///< its required members, in the order of members_of()
  std::string mirror;                  ///< optional members; empty: not given
  std::string table;
  bool force = false;  ///< likewise; false: not given
  bool json = false;
};

/// Makes an admin call and prints the state before and after it. Exit codes: 0, 1 if it was refused
/// or not answered, 2 for wrong arguments.
int run_ctl(const CtlOptions& options);
/// The admin listener and the token that the options name.
std::expected<ServerAddress, std::string> admin_server(const CtlOptions& options);
/// Longest wait for the answer of an admin listener.
inline constexpr std::chrono::seconds kAdminWait{15};

/// Prints what differs between two configurations, and the expected shares of their mirrors. Exit
/// codes: 0 if nothing differs, 1 if something does, 78 if one of them has problems.
int run_diff(const std::string& before, const std::string& after);
/// The same between a running karmad and a configuration; 2 for a wrong address, and 71 without an
/// answer.
int run_diff_running(const CtlOptions& running, const std::string& after);

/// Options of `karmad simulate`.
struct SimulateOptions {
  std::vector<std::string> scenarios;   ///< names of the library, files, or `all`
  std::string trace;                    ///< access log to replay instead; empty: none
  std::vector<std::string> strategies;  ///< empty: all that the program has
  std::optional<double> rate;           ///< replaces the scenario's; likewise the next three
  std::optional<double> duration;
  std::optional<unsigned> mirrors;
  std::optional<unsigned> masters;
  std::vector<std::string> settings;  ///< `key = value` of searchd
  std::uint64_t seed = 1;
  std::string html;  ///< file for a report with charts; empty: none
  bool list = false;
  bool json = false;
  bool csv = false;
};

/// Simulates scenarios with the program's own balancing and prints the results. Exit codes: 0, 1 if
/// a file cannot be written, 2 for a wrong access log, wrong scenarios, strategies or settings.
int run_simulate(const SimulateOptions& options);

/// The commands of the program besides the server itself.
class CommandLine {
 public:
  /// Adds them to the program's command line; `app` must outlive this object.
  explicit CommandLine(CLI::App& app);
  CommandLine& operator=(CommandLine&&) = delete;

  /// After parsing: the exit code of the command; none: there is none.
  /// `config`: the value of --config.
  std::optional<int> run(const std::string& config) const;

 private:
  void add_top(CLI::App& app);
  void add_explain(CLI::App& app);
  void add_ctl(CLI::App& app);
  void add_diff(CLI::App& app);
  void add_simulate(CLI::App& app);
  void add_what_to_simulate();

  CLI::App* top_ = nullptr;
  CLI::App* explain_ = nullptr;
  CLI::App* ctl_ = nullptr;
  CLI::App* simulate_ = nullptr;
  TopOptions top_options_;
  ExplainOptions explain_options_;
  CtlOptions ctl_options_;
  std::vector<std::string> diff_;            ///< two files; empty: not given
  std::optional<std::string> diff_running_;  ///< address of a running karmad
  CtlOptions running_;
  SimulateOptions simulate_options_;
};

}  // namespace karmad
