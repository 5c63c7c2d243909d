// Fuzz targets (libFuzzer); tests/README.md says how they are run. The environment variable
// KARMAD_FUZZ names one of readers.cpp. Without it: a client's request and the answers of its
// mirrors, through everything that a dialect does with them: parse, plan, write, judge, merge.
//
// An input of the latter is a text (seeds.txt has some):
//
//   METHOD TARGET SHARDS STATUS
//   BODY<1e>ANSWER<1e>ANSWER…
//
// SHARDS is 1 to 3, STATUS that of all answers, <1e> the byte 0x1e. The answers go to the shards by
// turns, and on to those of a second round.

#include <fmt/format.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/kinds/dialect_kind.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "fuzz/readers.hpp"

namespace karmad {
namespace {

/// Bytes in a block of exactly their size, so that a sanitizer sees a look beyond the end.
class Exact {
 public:
  explicit Exact(std::string_view text)
      : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    if (!text.empty()) std::memcpy(bytes_.get(), text.data(), size_);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

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

void require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::cerr << "BROKEN: " << what << ":\n" << text << '\n';
  std::abort();
}

bool is_json(std::string_view text) {
  constexpr auto flags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
  const std::string ended(text);
  rapidjson::StringStream stream(ended.c_str());
  rapidjson::BaseReaderHandler<> nothing;
  rapidjson::Reader reader;
  const auto error = reader.Parse<flags>(stream, nothing).Code();
  // RFC 8259 allows the other two.
  return error == rapidjson::kParseErrorNone || error == rapidjson::kParseErrorNumberTooBig ||
         error == rapidjson::kParseErrorStringUnicodeSurrogateInvalid;
}

struct Served {
  const DialectKind* kind;
  const DialectEndpoint* endpoint;
  const Dialect* dialect;
};

std::optional<Served> served_at(std::string_view path) {
  static std::map<const DialectEndpoint*, std::unique_ptr<Dialect>> made;
  for (const auto* kind : dialects())
    for (const auto& endpoint : kind->endpoints) {
      if (!matches_pattern(endpoint.path, path)) continue;
      auto& dialect = made[&endpoint];
      if (!dialect)
        dialect = endpoint.make({.collation = Collation::libc_ci, .scroll_key = "a key"});
      return Served{kind, &endpoint, dialect.get()};
    }
  return std::nullopt;
}

/// One query with its mirrors. The same steps as balancer/search/, without a network.
class Run {
 public:
  Run(const Served& served, std::size_t shards, int status, std::vector<std::string_view> answers)
      : served_(served), shards_(shards), status_(status), answers_(std::move(answers)) {}

  /// Appends the client's answer, if there is one.
  void query(const ClientRequest& request, std::string& answer) {
    const auto& dialect = *served_.dialect;
    dialect.ticket_class(request);
    if (served_.endpoint->statements != Statements::none)
      if (const auto list = read_statements(request))
        for (const auto& one : (*list)->statements)
          if (!one.is_of_mirrors()) read_own(one);
    const auto parsed = dialect.parse(request);
    if (!parsed) return refuse(parsed.error(), answer);
    std::optional<Plan> plan;
    if (shards_ > 1 || parsed->planned) {
      ShardLayout layout(shards_, parsed->read ? ShardBy::none : ShardBy::id);
      if (!parsed->read) layout.make_id = [this] { return ++id_; };
      auto made = dialect.plan(request, *parsed, std::move(layout));
      if (!made) return refuse(made.error(), answer);
      plan = *std::move(made);
    }
    if (!plan) return pass_on(request, *parsed, answer);
    auto replies = round(request, *plan);
    if (plan->changes_data()) return change(*plan, replies, answer);
    for (std::size_t tries = 0; tries <= 2 * shards_; ++tries) {  // in two rounds
      if (std::ranges::all_of(replies, [](const ShardReply& r) { return r.body.empty(); }) &&
          plan->needs_reply)
        return;
      const auto bad = take(request, *plan, replies, answer);
      if (!bad) return;
      require(bad->shard < shards_, "a bad reply of no shard", bad->reason);
      require(!replies[bad->shard].body.empty(), "a bad reply that was not given", bad->reason);
      replies[bad->shard].body = {};
    }
    require(false, "a reply is bad twice", request.body);
  }

 private:
  /// A statement about karmad or the connection is read as what its first words promise.
  static void read_own(const StatementText& statement) {
    const auto read = read_statement(statement.text, statement.kind);
    if (!read) return;
    const bool session = std::holds_alternative<SessionStatement>(*read);
    require(session || std::holds_alternative<StatusStatement>(*read), "of another kind",
            statement.text);
    require(session == (statement.kind == StatementKind::session), "of another kind",
            statement.text);
  }

  /// A mirror's error may quote any end of what it was sent.
  static void quote(const Parsed& parsed, std::string_view sent) {
    if (parsed.answer != PassedAnswer::error_of_statement) return;
    for (std::size_t part = 0; part <= 8; ++part) {
      const auto end = sent.substr(sent.size() * part / 8);
      std::string body;
      write_error(500, fmt::format("P01: syntax error near '{}'", end), body);
      std::ignore = body_for_client(parsed, 500, body);
    }
  }

  void refuse(const ClientError& error, std::string& answer) {
    require(!error.reason.empty(), "a refusal without a reason", "");
    require(error.status >= 400 && error.status < 600, "a refusal with no status of one",
            error.reason);
    served_.dialect->refuse(error.status, error.reason, answer);
  }

  std::string_view next_answer() {
    return answers_.empty() ? std::string_view() : answers_[next_++ % answers_.size()];
  }

  Judgement judged(const ClientRequest& request, std::string_view body, bool merged) {
    return served_.dialect->judge(
        {.status = status_, .content_type = "application/json", .body = body, .request = &request},
        merged);
  }

  void pass_on(const ClientRequest& request, const Parsed& parsed, std::string& answer) {
    quote(parsed, served_.dialect->write(request, parsed, kTables, buffer_).body);
    const auto body = next_answer();
    const auto judgement = judged(request, body, false);
    if (judgement.outcome != Outcome::answered && judgement.outcome != Outcome::client_mistake)
      return;
    answer += body_for_client(parsed, status_, body).value_or(std::string(body));
  }

  /// Asks each shard. Replies that the dialect does not take are empty.
  std::vector<ShardReply> round(const ClientRequest& request, const Plan& plan) {
    std::vector<ShardReply> replies(shards_);
    for (std::size_t shard = 0; shard < shards_; ++shard) {
      if (!plan.asks(shard)) continue;
      const auto sent = write_planned(plan, shard, kTables, buffer_);
      require(!sent.target.empty(), "a request without a target", request.body);
      replies[shard] = {next_answer(), "m:9308"};
      if (replies[shard].body.empty()) continue;
      const auto judgement = judged(request, replies[shard].body, true);
      if (judgement.outcome != Outcome::answered &&
          judgement.outcome != Outcome::answered_with_warning)
        replies[shard].body = {};
    }
    return replies;
  }

  void change(Plan& plan, std::span<const ShardReply> replies, std::string& answer) {
    std::vector<ChangeReply> ends;
    for (std::size_t shard = 0; shard < replies.size(); ++shard) {
      if (!plan.asks(shard)) continue;
      const auto body = replies[shard].body;
      ends.push_back({.shard = shard,
                      .done = !body.empty(),
                      .status = body.empty() ? 503 : status_,
                      .body = body,
                      .mirror = "m:9308",
                      .reason = "it is away"});
    }
    if (std::ranges::none_of(ends, &ChangeReply::done)) return;
    merge_changes_size(plan, ends);
    const auto status = merge_changes(plan, ends, answer);
    require(status >= 200 && status < 600, "a change without a status", answer);
    require(!answer.empty(), "a change without an answer", "");
  }

  std::optional<BadReply> take(const ClientRequest& request, Plan& plan,
                               std::vector<ShardReply>& replies, std::string& answer) {
    for (int rounds = 0;; ++rounds) {
      auto more = begin_next_round(plan, replies);
      if (!more) return refused_or_bad(more.error(), answer);
      if (!*more) break;
      require(rounds == 0, "a third round", request.body);
      replies = round(request, plan);
    }
    const auto size = answer.size();
    SelectMeta meta;
    auto bad = merge(plan, replies, {.took = Micros(5), .warning = {}, .meta = &meta}, answer);
    require(!bad || answer.size() == size, "a bad reply changed the answer", answer);
    const auto type = plan.content_type.empty() ? served_.kind->content_type : plan.content_type;
    if (!bad && type.find("json") != type.npos)
      require(is_json(std::string_view(answer).substr(size)), "merged to what is no JSON", answer);
    return bad ? refused_or_bad(*bad, answer) : bad;
  }

  std::optional<BadReply> refused_or_bad(const BadReply& bad, std::string& answer) {
    if (bad.status == 0) return bad;
    refuse({bad.status, bad.reason}, answer);
    return std::nullopt;
  }

  static inline const std::vector<std::string> kTables{"part"};
  const Served& served_;
  const std::size_t shards_;
  const int status_;
  const std::vector<std::string_view> answers_;
  std::size_t next_ = 0;
  std::uint64_t id_ = 0;
  std::string buffer_;
};

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
  std::vector<Exact> answers;
  while (!input.empty() && answers.size() < 6) answers.emplace_back(take_up_to(input, '\x1e'));
  std::vector<std::string_view> views;
  for (const auto& answer : answers) views.push_back(answer.view());

  ClientRequest request{.method = method,
                        .path = path.view(),
                        .query = query_string.view(),
                        .content_type = "application/json",
                        .body = body.view()};
  request.path_table_raw = pattern_segment(served->endpoint->path, request.path, kTableSegment);
  const auto tables = decoded_tables(request.path_table_raw).value_or("");
  if (!request.path_table_raw.empty()) request.path_table = tables;
  Run answering(*served, shards, static_cast<int>(status), std::move(views));
  std::string answer;
  if (served->endpoint->several.parts == nullptr) return answering.query(request, answer);
  const auto parts = served->endpoint->several.parts(request);
  if (!parts) return;
  std::vector<std::string> bodies;
  for (const auto& part : *parts) {
    auto one = request;
    one.path = part.path;
    one.path_table = part.tables;
    one.path_table_raw = {};
    one.body = part.body;
    answering.query(one, bodies.emplace_back());
  }
  std::vector<PartAnswer> all;
  for (const auto& each : bodies)
    all.push_back(
        {.status = each.empty() ? 502 : 200, .body = each.empty() ? "{}" : std::string_view(each)});
  served->endpoint->several.join(answer, all, Micros(5));
}

}  // namespace
}  // namespace karmad

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const char* const reader = std::getenv("KARMAD_FUZZ");
  if (reader == nullptr) {
    karmad::run(input);
  } else if (!karmad::fuzz_reader(reader, karmad::Exact(input).view())) {
    std::cerr << "BROKEN: no reader has the name " << reader << '\n';
    std::abort();
  }
  return 0;
}
