// Fuzz targets (libFuzzer); tests/README.md says how they are run. The environment variable
// KARMAD_FUZZ names `differential` or one of readers.cpp. Without it: a client's request and the
// answers of its mirrors, through everything that a dialect does with them: parse, plan, write,
// judge, merge.
//
// An input of the latter is a text (seeds.txt has some):
//
//   METHOD TARGET SHARDS STATUS
//   BODY<1e>ANSWER<1e>ANSWER…
//
// SHARDS is 1 to 3, STATUS that of all answers, <1e> the byte 0x1e. The answers go to the shards by
// turns, and on to those of a second round.

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "fuzz/differential.hpp"
#include "fuzz/query_run.hpp"
#include "fuzz/readers.hpp"

namespace karmad {
namespace {

/// What ends at `mark`; removes it and the mark from `rest`. Without a mark: all.
std::string_view take_up_to(std::string_view& rest, char mark) {
  const auto end = std::min(rest.find(mark), rest.size());
  const auto taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

unsigned number(std::string_view text, unsigned from, unsigned to) {
  unsigned value = from;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::clamp(value, from, to);
}

void run(std::string_view input) {
  auto head = take_up_to(input, '\n');
  const auto method = take_up_to(head, ' ');
  auto query = take_up_to(head, ' ');
  const Exact path(take_up_to(query, '?'));
  const auto served = served_at(path.view());
  if (!served) return;
  const Exact query_string(query);
  const auto shards = number(take_up_to(head, ' '), 1, 3);
  const auto status = number(head, 100, 599);
  const Exact body(take_up_to(input, '\x1e'));
  std::vector<std::string_view> answers;
  while (!input.empty() && answers.size() < 6) answers.push_back(take_up_to(input, '\x1e'));

  ClientRequest request{.method = method,
                        .path = path.view(),
                        .query = query_string.view(),
                        .content_type = "application/json",
                        .body = body.view()};
  request.path_table_raw = pattern_segment(served->endpoint->path, request.path, kTableSegment);
  const auto tables = decoded_tables(request.path_table_raw).value_or("");
  if (!request.path_table_raw.empty()) request.path_table = tables;
  const Mirrors mirrors = [&, next = std::size_t{0}](std::size_t, const AgentRequest&) mutable {
    MirrorAnswer given{.status = static_cast<int>(status)};
    if (!answers.empty()) given.body = answers[next++ % answers.size()];
    return given;
  };
  std::string answer;
  if (served->endpoint->several.parts == nullptr) {
    run_query(*served, shards, mirrors, request, answer);
    return;
  }
  const auto parts = served->endpoint->several.parts(request);
  if (!parts) return;
  std::vector<std::string> bodies;
  for (const auto& part : *parts) {
    auto one = request;
    one.path = part.path;
    one.path_table = part.tables;
    one.path_table_raw = {};
    one.body = part.body;
    run_query(*served, shards, mirrors, one, bodies.emplace_back());
  }
  std::vector<PartAnswer> all;
  for (const auto& each : bodies)
    all.push_back(
        {.status = each.empty() ? 502 : 200, .body = each.empty() ? "{}" : std::string_view(each)});
  served->endpoint->several.join(answer, request, all, Micros(5));
}

}  // namespace
}  // namespace karmad

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const char* const reader = std::getenv("KARMAD_FUZZ");
  if (reader == nullptr) {
    karmad::run(input);
  } else if (std::string_view(reader) == "differential") {
    karmad::test::run_differential(input);
  } else if (!karmad::fuzz_reader(reader, karmad::Exact(input).view())) {
    std::cerr << "BROKEN: no reader has the name " << reader << '\n';
    std::abort();
  }
  return 0;
}
