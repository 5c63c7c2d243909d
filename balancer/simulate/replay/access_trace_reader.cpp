#include "balancer/simulate/replay/access_trace_reader.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "balancer/simulate/replay/access_line_collector.hpp"

namespace karmad {
namespace {

/// Bytes that are read at once. A line is copied only if it crosses the end of a block.
constexpr std::size_t kAccessBlock = 1 << 20;

/// Splits a stream into lines, in bounded memory: of a line that is too long nothing is kept.
class AccessLineReader {
 public:
  explicit AccessLineReader(std::istream& in) : in_(in), block_(kAccessBlock, 0) {}

  /// The next line without its end; empty: there is none. The view lives until the next call.
  std::optional<std::string_view> next();
  std::uint64_t long_lines() const { return long_lines_; }

 private:
  bool read_block();
  void keep(std::string_view part);

  std::istream& in_;
  std::string block_;
  std::string_view rest_;  ///< of the block
  std::string kept_;       ///< beginning of a line, from blocks before
  bool too_long_ = false;  ///< nothing of the line is kept
  std::uint64_t long_lines_ = 0;
};

bool AccessLineReader::read_block() {
  in_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
  rest_ = std::string_view(block_).substr(0, static_cast<std::size_t>(in_.gcount()));
  return !rest_.empty();
}

void AccessLineReader::keep(std::string_view part) {
  too_long_ = too_long_ || kept_.size() + part.size() > kLongestAccessLine;
  if (too_long_) {
    kept_.clear();
  } else {
    kept_ += part;
  }
}

std::optional<std::string_view> AccessLineReader::next() {
  kept_.clear();
  while (true) {
    const bool at_end = rest_.empty() && !read_block();
    const auto end = rest_.find('\n');
    const auto part = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (end == std::string_view::npos && !at_end) {
      keep(part);
      continue;
    }
    if (at_end && kept_.empty() && !too_long_) return std::nullopt;
    if (!kept_.empty() || too_long_) keep(part);
    if (std::exchange(too_long_, false) || part.size() > kLongestAccessLine) {
      ++long_lines_;
      return std::string_view();
    }
    return kept_.empty() ? part : std::string_view(kept_);
  }
}

std::string nothing_usable(const AccessTraceCounts& counts) {
  if (counts.lines == 0) return "the access log is empty";
  return fmt::format(
      "the access log has nothing to replay: of {} lines, {} are not JSON of an access log, {} are "
      "too long, {} are requests that change data, and {} have no table or no complete attempt; "
      "access_log_format must be json",
      counts.lines, counts.other_lines, counts.long_lines, counts.updates, counts.without_attempts);
}

}  // namespace

std::expected<AccessTrace, std::string> read_access_trace(std::istream& in) {
  AccessLineCollector collector;
  AccessLineReader reader(in);
  std::uint64_t lines = 0;
  for (bool more = true; more;) {
    const auto line = reader.next();
    if (!line) break;
    ++lines;
    more = line->empty() || collector.add(*line);
  }
  auto trace = collector.finish();
  trace.counts.lines = lines;
  trace.counts.long_lines = reader.long_lines();
  if (in.bad()) return std::unexpected("the access log cannot be read to its end");
  if (trace.arrivals.empty()) return std::unexpected(nothing_usable(trace.counts));
  return trace;
}

}  // namespace karmad
