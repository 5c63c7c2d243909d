#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "demo/data/dice.hpp"
#include "demo/engine/engine.hpp"

namespace karmad::demo {

using Millis = std::chrono::duration<double, std::milli>;

/// How the agent treats a request, or its listening socket.
enum class Mode : std::uint8_t {
  ok,
  chunked,       ///< a correct answer in chunks
  refuse,        ///< no listening socket, all connections closed
  blackhole,     ///< reads and never answers
  reset,         ///< a TCP reset instead of an answer
  close_before,  ///< closes instead of answering
  close_within,  ///< closes in the middle of the body
  close_after,   ///< answers, then closes without announcing it
  not_http,      ///< bytes that are not HTTP
  not_json,      ///< 200 with a page of HTML
  wrong_json,    ///< 200 with JSON of another shape
  truncated,     ///< half the JSON, with the right length for half
  short_body,    ///< announces more bytes than it sends, then is silent
  long_body,     ///< announces fewer bytes than it sends
  huge,          ///< an endless string inside the JSON, 256 MiB
  garbage,       ///< a random one of the invalid ones above for each request
};
std::string_view name_of(Mode mode);

struct Latency {
  enum class Kind : std::uint8_t { none, fixed, exponential, uniform };
  Kind kind = Kind::none;
  double first = 0;   ///< ms: the fixed value, the mean, or the minimum
  double second = 0;  ///< ms: the maximum
};

/// The settings that can be changed while the agent runs; a value.
struct Switches {
  Mode mode = Mode::ok;
  double mode_rate = 1;  ///< share of the requests that `mode` affects
  Latency latency;
  Millis stall_length{};  ///< length of the pause without answers every `stall_every`
  Millis stall_every{};
  double error_rate = 0;  ///< share of the requests answered with a 500
  double overload = 0;    ///< share of the requests refused
  int overload_status = 503;
  int retry_after = 1;     ///< seconds, in a refusal; negative: not sent
  bool pings = true;       ///< also affect pings (GET /, /healthz, /hello)
  double for_seconds = 0;  ///< time after which the switches are reset; 0: never
};

/// A switch, for --help and docs/demo.md.
struct SwitchHelp {
  std::string_view name;
  std::string_view value;
  std::string_view meaning;
};
std::span<const SwitchHelp> switch_help();

/// Changes one switch, `reset` all of them. Returns what is wrong with the name or the value.
std::optional<std::string> change(Switches& switches, std::string_view name,
                                  std::string_view value);

/// The switches as a JSON object.
std::string write_switches(const Switches& switches);

/// The effects on one request.
struct Effects {
  Mode mode = Mode::ok;
  bool error = false;
  bool overloaded = false;
  Millis wait{};
};

/// Decides the effects on a request; `since` is the time since the switches were set.
Effects decide(const Switches& switches, Purpose purpose, Millis since, Dice& dice);

}  // namespace karmad::demo
