#include "fuzz/query_run.hpp"

#include <fmt/format.h>
#include <rapidjson/reader.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>

#include "agent/dialect/fronts/sql/sql_request.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/rows/result_set.hpp"

namespace karmad {
namespace {

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

class Run {
 public:
  Run(const Served& served, std::size_t shards, const Mirrors& mirrors)
      : served_(served), shards_(shards), mirrors_(mirrors) {}

  int query(const ClientRequest& request, std::string& answer) {
    const auto& dialect = *served_.dialect;
    dialect.ticket_class(request);
    if (served_.endpoint->statements != Statements::none)
      if (const auto list = sql::read_statements(request))
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
        return 0;
      int status = 200;
      const auto bad = take(request, *plan, replies, answer, status);
      if (!bad) return status;
      require(bad->shard < shards_, "a bad reply of no shard", bad->reason);
      require(!replies[bad->shard].body.empty(), "a bad reply that was not given", bad->reason);
      replies[bad->shard].body = {};
    }
    require(false, "a reply is bad twice", request.body);
    return 0;
  }

 private:
  /// A statement about karmad or the connection is read as what its first words promise.
  static void read_own(const sql::StatementText& statement) {
    const auto read = sql::read_statement(statement.text, statement.kind);
    if (!read) return;
    const bool session = std::holds_alternative<sql::SessionStatement>(*read);
    require(session || std::holds_alternative<sql::StatusStatement>(*read), "of another kind",
            statement.text);
    require(session == (statement.kind == sql::StatementKind::session), "of another kind",
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

  int refuse(const ClientError& error, std::string& answer) {
    require(!error.reason.empty(), "a refusal without a reason", "");
    require(error.status >= 400 && error.status < 600, "a refusal with no status of one",
            error.reason);
    served_.dialect->refuse(error.status, error.reason, answer);
    return error.status;
  }

  struct Reply {
    int status;
    std::string_view body;
  };
  Reply ask(std::size_t shard, const AgentRequest& sent) {
    const auto answer = mirrors_(shard, sent);
    return {answer.status, bodies_.emplace_back(answer.body).view()};
  }

  Judgement judged(const ClientRequest& request, const Reply& reply, bool merged) {
    return served_.dialect->judge({.status = reply.status,
                                   .content_type = "application/json",
                                   .body = reply.body,
                                   .request = &request},
                                  merged);
  }

  int pass_on(const ClientRequest& request, const Parsed& parsed, std::string& answer) {
    const auto sent = served_.dialect->write(request, parsed, kTables, buffer_);
    quote(parsed, sent.body);
    const auto reply = ask(0, sent);
    const auto outcome = judged(request, reply, false).outcome;
    if (outcome != Outcome::answered && outcome != Outcome::client_mistake) return 0;
    answer += body_for_client(parsed, reply.status, reply.body).value_or(std::string(reply.body));
    return reply.status;
  }

  /// Asks each shard. Replies that the dialect does not take are empty.
  std::vector<ShardReply> round(const ClientRequest& request, const Plan& plan) {
    std::vector<ShardReply> replies(shards_);
    for (std::size_t shard = 0; shard < shards_; ++shard) {
      if (!plan.asks(shard)) continue;
      const auto sent = write_planned(plan, shard, kTables, buffer_);
      require(!sent.target.empty(), "a request without a target", request.body);
      const auto reply = ask(shard, sent);
      status_ = reply.status;
      if (reply.body.empty()) continue;
      const auto outcome = judged(request, reply, true).outcome;
      if (outcome == Outcome::answered || outcome == Outcome::answered_with_warning)
        replies[shard] = {reply.body, "m:9308"};
    }
    return replies;
  }

  int change(Plan& plan, std::span<const ShardReply> replies, std::string& answer) {
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
    if (std::ranges::none_of(ends, &ChangeReply::done)) return 0;
    merge_changes_size(plan, ends);
    const auto status = merge_changes(plan, ends, answer);
    require(status >= 200 && status < 600, "a change without a status", answer);
    require(!answer.empty(), "a change without an answer", "");
    return status;
  }

  std::optional<BadReply> take(const ClientRequest& request, Plan& plan,
                               std::vector<ShardReply>& replies, std::string& answer, int& status) {
    for (int rounds = 0;; ++rounds) {
      auto more = begin_next_round(plan, replies);
      if (!more) return refused_or_bad(more.error(), answer, status);
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
    return bad ? refused_or_bad(*bad, answer, status) : bad;
  }

  std::optional<BadReply> refused_or_bad(const BadReply& bad, std::string& answer, int& status) {
    if (bad.status == 0) return bad;
    status = refuse({bad.status, bad.reason}, answer);
    return std::nullopt;
  }

  static inline const std::vector<std::string> kTables{"part"};
  const Served& served_;
  const std::size_t shards_;
  const Mirrors& mirrors_;
  std::deque<Exact> bodies_;  ///< of the mirrors
  int status_ = 200;          ///< of the last of them
  std::uint64_t id_ = 0;
  std::string buffer_;
};

}  // namespace

void require(bool holds, std::string_view what, std::string_view text) {
  if (holds) return;
  std::cerr << "BROKEN: " << what << ":\n" << text << '\n';
  std::abort();
}

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

int run_query(const Served& served, std::size_t shards, const Mirrors& mirrors,
              const ClientRequest& request, std::string& answer) {
  return Run(served, shards, mirrors).query(request, answer);
}

}  // namespace karmad
