#include "tests/balancer/toy_dialect/toy.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <stdexcept>

#include "agent/dialect/plan/plan.hpp"

namespace karmad::test {
namespace {

std::string_view table_in(std::string_view body) {
  return body.substr(0, body.find(' '));
}

/// The defect of a request that asks for it: `two throws in parse`.
void throw_in(std::string_view step, std::string_view text) {
  if (text.ends_with(fmt::format("throws in {}", step))) throw std::out_of_range("a defect");
}

std::optional<unsigned> count_in(std::string_view body) {
  constexpr std::string_view before = R"({"count":)";
  unsigned count = 0;
  if (!body.starts_with(before)) return std::nullopt;
  const auto [end, error] =
      std::from_chars(body.data() + before.size(), body.data() + body.size(), count);
  return error == std::errc{} ? std::optional(count) : std::nullopt;
}

/// The counts of the shards are added.
std::optional<BadReply> add_counts(std::span<const ShardReply> replies, const MergeNotes&,
                                   std::string& out) {
  unsigned sum = 0;
  unsigned shards = 0;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    throw_in("merge", replies[i].body);
    if (replies[i].body.empty()) continue;
    const auto count = count_in(replies[i].body);
    if (!count) return BadReply{i, "no count"};
    sum += *count;
    ++shards;
  }
  fmt::format_to(std::back_inserter(out), R"({{"count":{},"of":{}}})", sum, shards);
  return std::nullopt;
}

void write_toy_error(int status, std::string_view reason, std::string& out) {
  fmt::format_to(std::back_inserter(out), R"({{"toy":{},"because":"{}"}})", status, reason);
}

/// What the requests have in common.
class Toy : public Dialect {
 public:
  explicit Toy(bool reads) : Dialect(write_toy_error), reads_(reads) {}

  std::expected<Parsed, ClientError> parse(const ClientRequest& request) const override {
    throw_in("parse", request.body);
    const auto table = table_in(request.body);
    if (table.empty()) return std::unexpected(ClientError{400, "there is no table"});
    return Parsed{.table = std::string(table), .table_place = {0, table.size()}, .read = reads_};
  }

  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override {
    buffer.clear();
    append_renamed(buffer, request.body, parsed, [&] { buffer.append(tables.front()); });
    return {request.method, request.path, request.content_type, buffer};
  }

  Judgement judge(const AgentReply& reply, bool) const override {
    throw_in("judge", reply.request->body);
    if (reply.status == 200) return {Outcome::answered, {}};
    return {Outcome::agent_error, fmt::format("status {}", reply.status)};
  }

 private:
  bool reads_;
};

class Count final : public Toy {
 public:
  Count() : Toy(true) {}

  std::expected<Plan, ClientError> plan(const ClientRequest& request, const Parsed& parsed,
                                        ShardLayout) const override {
    throw_in("plan", request.body);
    return Plan{.request = request,
                .edits = name_edits(parsed, TableNames::sql_first),
                .step = OwnMerge{"counts added", add_counts}};
  }
};

class Ask final : public Toy {
 public:
  Ask() : Toy(true) {}

  TicketClass ticket_class(const ClientRequest& request) const override {
    return request.body.starts_with("SELECT") ? TicketClass::search : TicketClass::exempt;
  }
};

constexpr std::array kEndpoints{
    DialectEndpoint{"/toy/count", "POST", TicketClass::search,
                    [](const DialectSettings&) -> std::unique_ptr<Dialect> {
                      return std::make_unique<Count>();
                    }},
    DialectEndpoint{"/toy/add", "POST, PUT", TicketClass::update,
                    [](const DialectSettings&) -> std::unique_ptr<Dialect> {
                      return std::make_unique<Toy>(false);
                    }},
    DialectEndpoint{
        "/toy/ask", "POST", TicketClass::search,
        [](const DialectSettings&) -> std::unique_ptr<Dialect> { return std::make_unique<Ask>(); },
        Statements::as_json},
};

}  // namespace

constexpr DialectKind kToy{.name = "toy",
                           .capabilities = {.updates_anywhere = true},
                           .endpoints = kEndpoints,
                           .content_type = "application/toy"};

}  // namespace karmad::test
