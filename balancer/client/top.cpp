#include "balancer/client/commands.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "balancer/client/top_view.hpp"

namespace karmad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{2000};
constexpr std::uint64_t kEventsBefore = 10;
constexpr double kShortest = 0.5;  ///< seconds for which rates say something

volatile std::sig_atomic_t interrupted = 0;

void on_signal(int /*number*/) {
  interrupted = 1;
}

bool is_utf8_locale() {
  for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) {
      const std::string_view locale(value);
      return locale.contains("UTF-8") || locale.contains("utf8") || locale.contains("utf-8");
    }
  return false;
}

/// Takes the whole terminal, and gives it back as it was.
class Screen {
 public:
  Screen() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      auto raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    fmt::print("\x1b[?1049h\x1b[?25l");  // the other screen, without a cursor
  }
  Screen& operator=(Screen&&) = delete;
  ~Screen() {
    fmt::print("\x1b[?25h\x1b[?1049l");
    std::fflush(stdout);
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  static TopStyle style() {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return {.columns = known ? size.ws_col : 80U,
            .rows = known ? size.ws_row : 24U,
            .colours = std::getenv("NO_COLOR") == nullptr,
            .utf8 = is_utf8_locale()};
  }
  static void draw(const std::vector<std::string>& lines) {
    std::string all = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i)
      all += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
    fmt::print("{}\x1b[J", all);
    std::fflush(stdout);
  }
  /// False: the user ends it.
  static bool wait(std::chrono::milliseconds longest) {
    pollfd keys{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&keys, 1, static_cast<int>(longest.count())) <= 0) return interrupted == 0;
    char key = 0;
    const auto got = ::read(STDIN_FILENO, &key, 1);
    if (got == 0) return ::poll(nullptr, 0, static_cast<int>(longest.count())), interrupted == 0;
    return key != 'q' && interrupted == 0;
  }

 private:
  termios before_{};
  bool changed_ = false;
};

std::expected<std::string, std::string> body_of(const ServerAddress& server,
                                                const std::string& target) {
  auto answer = http_ask(server, {.target = target}, kLongestWait);
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->status != 200)
    return std::unexpected(fmt::format("{} answers GET {} with {}", text(server.address), target,
                                       refusal_text(*answer)));
  return std::move(answer->body);
}

std::expected<TopView, std::string> fetch(const ServerAddress& server, const TopOptions& options,
                                          std::uint64_t newest) {
  const auto agents = body_of(server, "/agents");
  if (!agents) return std::unexpected(agents.error());
  const auto status = body_of(server, "/status");
  if (!status) return std::unexpected(status.error());
  const auto seen = newest > kEventsBefore ? newest - kEventsBefore : 0;
  const auto events = body_of(server, fmt::format("/events?since={}", seen));
  if (!events) return std::unexpected(events.error());
  return read_top(*agents, *status, *events, options.table);
}

std::string local_time() {
  return fmt::format("{:%H:%M:%S}", fmt::localtime(std::time(nullptr)));
}

void print_view(const TopView& view, const TopOptions& options) {
  if (options.json) {
    fmt::print("{}\n", top_json(view));
  } else {
    for (const auto& line : top_lines(view, {.utf8 = is_utf8_locale()})) fmt::print("{}\n", line);
  }
}

/// Prints a document after the other, for scripts. Goes on when karmad does not answer.
int print_documents(const ServerAddress& server, const TopOptions& options, TopView before) {
  auto at = Clock::now();
  while (std::fflush(stdout) == 0) {
    ::poll(nullptr, 0, static_cast<int>(options.interval * 1000));
    auto view = fetch(server, options, before.events.empty() ? 0 : before.events.back().id);
    if (!view) {
      failed("karmad top", view.error(), 1);
      continue;
    }
    const auto now = Clock::now();
    since(*view, before, std::chrono::duration<double>(now - at).count());
    print_view(*view, options);
    before = *std::move(view);
    at = now;
  }
  return 0;
}

int show_screen(const ServerAddress& server, const TopOptions& options, TopView view) {
  const Screen screen;
  auto at = Clock::now();
  std::string lost;
  do {
    auto style = Screen::style();
    if (!lost.empty()) --style.rows;
    auto lines = top_lines(view, style);
    if (!lost.empty()) lines.insert(lines.begin(), lost.substr(0, style.columns));
    Screen::draw(lines);
    if (!Screen::wait(std::chrono::milliseconds(static_cast<int>(options.interval * 1000)))) break;
    const std::chrono::duration<double> shortest(std::min(kShortest, options.interval));
    if (Clock::now() - at < shortest) continue;  // a key was pressed
    auto next = fetch(server, options, view.events.empty() ? 0 : view.events.back().id);
    if (!next) {
      if (lost.empty()) lost = fmt::format("no answer from karmad since {}", local_time());
      continue;
    }
    lost.clear();
    const auto now = Clock::now();
    since(*next, view, std::chrono::duration<double>(now - at).count());
    view = *std::move(next);
    at = now;
  } while (interrupted == 0);
  return 0;
}

}  // namespace

int run_top(const TopOptions& options) {
  const auto server = server_with_token(options.address, options.token_file);
  if (!server) return failed("karmad top", server.error(), 2);
  auto first = fetch(*server, options, 0);
  if (!first) {
    failed("karmad top", first.error(), 1);
    if (first.error().starts_with("no answer"))
      std::cerr << "karmad top host:port shows the karmad that listens there for HTTP\n";
    return 1;
  }
  const bool screen = !options.once && !options.json && ::isatty(STDOUT_FILENO) == 1;
  if (screen) return show_screen(*server, options, *std::move(first));
  print_view(*first, options);
  return options.json && !options.once ? print_documents(*server, options, *std::move(first)) : 0;
}

}  // namespace karmad
