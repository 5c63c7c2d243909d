#include <fmt/format.h>
#include <algorithm>

#include "agent/dialect/fronts/elastic/translate.hpp"
#include "agent/dialect/fronts/json/read_request.hpp"
#include "agent/dialect/kinds/dialects.hpp"
#include "agent/dialect/plan/two_rounds.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/replies/search_reply.hpp"
#include "agent/dialect/request/document_ids.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

/// The members before the hits of a passed-on answer: a warning or an error. The rest is not read,
/// and unreadable parts are no error.
struct Preface {
  bool warning = false;
  std::string_view error;  ///< inside of the JSON string
};

Preface preface_of(std::string_view body) {
  Preface preface;
  JsonCursor json(body);
  JsonMembers members(json);
  while (const auto key = members.next(R"("took":)", R"("timed_out":)", R"("hits":)")) {
    if (equals_literal(*key, "hits")) break;
    const auto value = take_value(json);
    if (!value) break;
    preface.warning |= equals_literal(*key, "warning");
    if (equals_literal(*key, "error") && preface.error.empty()) preface.error = reason_in(*value);
  }
  return preface;
}

/// Judges a reply to a search by what is inside.
void look_inside(const AgentReply& reply, bool merged, Judgement& judged) {
  const auto preface = preface_of(reply.body);
  if (!preface.error.empty()) {
    judged = judge_error(json_unescaped(preface.error), reply.request);
    return;
  }
  if (preface.warning) judged.outcome = Outcome::answered_with_warning;
  if (!merged) return;
  if (const auto head = read_reply(reply.body, ReadTail::no); !head)
    judged = judgement(Outcome::wrong_reply, "the answer is not a search result: " + head.error());
}

Judgement judge_search(const AgentReply& reply, bool merged) {
  auto judged = judge_reply(reply);  // the only one, returned in place
  if (judged.outcome == Outcome::answered) look_inside(reply, merged, judged);
  return judged;
}

Judgement judge_percolation(const AgentReply& reply, bool merged) {
  auto judged = judge_reply(reply);
  if (judged.outcome != Outcome::answered || !merged) return judged;
  if (const auto wrong = why_not_percolated(reply.body); !wrong.empty())
    return judgement(Outcome::wrong_reply, "the answer is not that of a percolation: " + wrong);
  return judged;
}

Judgement judge_change(const AgentReply& reply, bool) {
  return judge_update(reply);
}

Judgement judge_elastic(const AgentReply& reply, bool merged) {
  const auto path = reply.request == nullptr ? "/_search" : reply.request->path;
  const bool search = path.ends_with("/_search") || path.ends_with("/_count");
  return search ? judge_search(reply, merged) : judge_update(reply);
}

/// A request whose body says everything.
template <auto read>
OrError<Parsed> parse_body(const ClientRequest& request, unsigned max_depth) {
  return read(request.body, max_depth);
}

OrError<Parsed> parse_change(const ClientRequest& request, unsigned max_depth) {
  if (request.path.ends_with("/bulk")) return read_bulk(request.body, max_depth);
  return read_update(request.path, request.body, max_depth);
}

/// Always `planned`: hits name the mirror's table, which the plan replaces.
OrError<Parsed> parse_percolation(const ClientRequest& request, unsigned max_depth) {
  return read_percolation(request.path_table, request.body, max_depth);
}

OrError<Parsed> parse_stored_query(const ClientRequest& request, unsigned max_depth) {
  constexpr std::string_view kBefore = "/pq/";
  constexpr std::string_view kAfter = "/doc/";
  auto parsed = read_percolation(request.path_table, request.body, max_depth);
  if (!parsed) return parsed;
  auto path = request.path.substr(request.path.find(kBefore));
  path.remove_prefix(
      std::min(kBefore.size() + request.path_table_raw.size() + kAfter.size(), path.size()));
  parsed->read = false;
  parsed->planned = false;
  parsed->answer = PassedAnswer::with_table;
  parsed->what = StoredQuery{path};
  return parsed;
}

/// A mistake in the JSON of the client's body, with its place there. Of a bulk the line is told.
ClientError at_clients_place(ClientError error, const ClientRequest& request, unsigned max_depth) {
  const auto tells_place = [](const ClientError& each) { return each.reason.contains("offset"); };
  const bool of_json = tells_place(error) || error.reason.contains("JSON object");
  if (!of_json || request.path.ends_with("/_bulk")) return error;
  auto read = read_search(request.body, max_depth);
  return !read && tells_place(read.error()) ? std::move(read.error()) : error;
}

OrError<Parsed> parse_elastic(const ClientRequest& request, unsigned max_depth) {
  auto translated = translate_elastic(request);
  if (!translated)
    return std::unexpected(at_clients_place(std::move(translated.error()), request, max_depth));
  auto own = std::make_shared<const TranslatedRequest>(*std::move(translated));
  const bool search = own->path == "/search";
  const bool bulk = own->path == "/bulk";
  auto parsed = search ? read_search(own->body, max_depth)
                : bulk ? read_bulk(own->body, max_depth)
                       : read_update(own->path, own->body, max_depth);
  if (!parsed)
    return std::unexpected(
        at_clients_place(at_clients_line(std::move(parsed.error()), *own), request, max_depth));
  if (search) parsed->answer = PassedAnswer::elastic_error;
  parsed->planned = search || bulk;  // the form of the answer differs
  parsed->translated = std::move(own);
  return parsed;
}

/// The request as the engine gets it, without the mirror's names.
ClientRequest engine_request(const ClientRequest& request, const Parsed& parsed) {
  if (parsed.translated == nullptr) {
    auto own = request;
    if (parsed.read) own.method = "POST";  // servers refuse a search by GET
    return own;
  }
  const auto& path = parsed.translated->path;
  const auto& body = parsed.translated->body;
  return {.method = "POST",
          .path = path,
          .query = {},
          .content_type = path == "/bulk" ? "application/x-ndjson" : "application/json",
          .body = body};
}

/// An update that can also change texts goes to the client's path, with `{"doc":…}`. Shards without
/// the document could make it, so the shard of the document must be known.
void append_changed_values(std::string& out, const TranslatedRequest& translated) {
  out.append("{").append(translated.body, translated.changed_values);
}

/// Plans a request for the shards of its table.
struct JsonPlanner {
  const ClientRequest& client;
  const Parsed& parsed;
  const ShardLayout& layout;
  const DialectSettings& settings;
  const ClientRequest own = engine_request(client, parsed);

  OrError<Plan> operator()(const SearchRequest& read) const {
    Plan plan{.request = own};
    const auto* const elastic = parsed.translated.get();
    const bool one_shard = elastic != nullptr && layout.shards == 1;
    const bool shows_keys = elastic != nullptr && read[Property::sort].found();
    const bool passable =
        one_shard && !has_kind_unknown_to_servers(read[Property::aggs].in(own.body));
    // Its answer needs no merge but for the values of sort keys, which a scroll goes without.
    const bool passed = passable && (!shows_keys || read.scroll_option.found());
    auto search = passed ? refused({}) : plan_search(own.body, read, layout.shards, settings);
    if (search) {
      if (shows_keys) search->merge.shown_keys = search->client_keys;
      take_search(plan, *std::move(search), SearchRequest(read), layout, settings);
    } else if (passable) {
      plan.edits = name_edits(parsed, TableNames::json);
      plan.step = OneShardObject{};
    } else {
      return std::unexpected(std::move(search.error()));
    }
    if (elastic != nullptr) {
      const auto& tables = layout.tables;
      plan.elastic = {.only_count = elastic->only_count,
                      .hides_source = elastic->hides_source,
                      .index = tables.size() == 1 ? std::string(tables.front()) : parsed.table,
                      .tables = {tables.begin(), tables.end()},
                      .filter_path = elastic->filter_path};
    }
    return plan;
  }

  /// The client's request goes to all shards; their completions become one list by rank.
  OrError<Plan> operator()(const Completion&) const {
    return Plan{.request = own,
                .edits = name_edits(parsed, TableNames::json),
                .step = RowsMerge{.rows = RowsMerge::Rows::by_rank}};
  }

  OrError<Plan> operator()(const Percolation&) const {
    return Plan{.request = own, .step = PercolateMerge{parsed.table}};
  }

  OrError<Plan> operator()(const StoredQuery& query) const {
    auto id = DocumentId::of_number(query.id);
    if (!query.id.empty() && !id)
      return refused("the id in the path must be a number: '{}'", query.id);
    auto why = check_shard_known(parsed.table, layout);
    if (!why) why = check_document_id(id, layout, query.id);
    if (why) return refused("the request {}", *why);
    Plan plan{.request = own, .may_be_partial = false, .step = UpdateCounts{parsed.table}};
    if (needs_made_id(id, layout)) {
      const auto made = layout.make_id();
      id = DocumentId::of(made);
      auto path = std::string(own.path.substr(0, own.path.size() - query.id.size()));
      path.append(path.ends_with('/') ? "" : "/").append(fmt::to_string(made));
      plan.request.path = plan.keep(std::move(path));
      const auto table = own.path_table_raw.data() - own.path.data();
      plan.request.path_table_raw =
          plan.request.path.substr(static_cast<std::size_t>(table), own.path_table_raw.size());
    }
    plan.ask_only(id ? id->shard(layout.shards) : 0, layout.shards);
    return plan;
  }

  /// One update goes to the shard of its document by `shard_by = id`, else to all.
  OrError<Plan> operator()(const UpdateRequest& read) const {
    auto update = read.update;
    if (auto why = place_update(update, read.mistake, own.body, parsed.table, layout))
      return refused("the request {}", *why);
    Plan plan{.request = own,
              .edits = edits_of(update),
              .may_be_partial = false,
              .step = UpdateCounts{parsed.table}};
    if (update.shard != BulkLine::kEveryShard) plan.ask_only(update.shard, layout.shards);
    const auto* const elastic = parsed.translated.get();
    if (elastic != nullptr && elastic->changed_values != 0 &&
        (layout.shards == 1 || layout.by == ShardBy::id)) {
      std::string body;
      append_changed_values(body, *elastic);
      plan.request = client;
      plan.request.body = plan.keep(std::move(body));
      plan.edits = TextEdits();
    }
    return plan;
  }

  /// Each line of a bulk goes to the shard of its document, a line about no single document to all.
  OrError<Plan> operator()(const BulkRequest& read) const {
    auto split = split_bulk(read, own.body, parsed.table, layout);
    const auto* const elastic = parsed.translated.get();
    if (!split)
      return std::unexpected(elastic == nullptr
                                 ? std::move(split.error())
                                 : at_clients_line(std::move(split.error()), *elastic));
    Plan plan{.request = own};
    plan.take_lines(*std::move(split), layout.shards);
    if (elastic == nullptr)
      plan.step = BulkItems{parsed.table};
    else
      plan.step = ElasticBulkItems{parsed.table, elastic->actions, elastic->filter_path};
    return plan;
  }

  OrError<Plan> operator()(const auto&) const { return refused("the request is no JSON"); }

  /// The table's name in its places, and the id where karmad has made one.
  TextEdits edits_of(const BulkLine& update) const {
    auto edits = name_edits(parsed, TableNames::json_first);
    if (update.made_id == 0) return edits;
    const auto [begin, end] = update.id;
    edits.push_back(
        {.begin = begin, .end = end, .text = made_id_text(update.made_id, begin != end)});
    std::ranges::stable_sort(edits, {}, &TextEdit::begin);
    return edits;
  }
};

/// Requests in JSON, each kind with its own way to be read and its own answers.
class ManticoreJson final : public Dialect {
 public:
  using Reader = OrError<Parsed> (*)(const ClientRequest& request, unsigned max_depth);
  using Classifier = Judgement (*)(const AgentReply& reply, bool merged);

  ManticoreJson(const DialectSettings& settings, Reader reader, Classifier classifier,
                ErrorWriter writer = write_error)
      : Dialect(writer), settings_(settings), read_(reader), classify_(classifier) {}

  OrError<Parsed> parse(const ClientRequest& request) const override {
    return read_(request, settings_.max_json_depth);
  }

  OrError<Plan> plan(const ClientRequest& request, const Parsed& parsed,
                     ShardLayout layout) const override {
    return std::visit(JsonPlanner{request, parsed, layout, settings_}, parsed.what);
  }

  /// An update changes one table: if the mirror names several, the first is used.
  AgentRequest write(const ClientRequest& request, const Parsed& parsed,
                     std::span<const std::string> tables, std::string& buffer) const override {
    const auto first = tables.first(std::min<std::size_t>(tables.size(), 1));
    const bool renamed = parsed.table_place.found() && !tables.empty() &&
                         (parsed.other_place.found() || tables.front() != parsed.table ||
                          (parsed.read && tables.size() > 1));
    const auto write_body = [&](const ClientRequest& own) {
      if (!renamed) return;
      if (const auto* const bulk = std::get_if<BulkRequest>(&parsed.what))
        return append_renamed_bulk(buffer, own.body, bulk->split, tables.front());
      append_renamed(buffer, own.body, parsed,
                     [&] { append_json_names(buffer, parsed.read ? tables : first); });
    };
    if (parsed.translated == nullptr) {
      auto written = write_request(
          request, buffer, [&] { write_body(request); }, first);
      if (parsed.read) written.method = "POST";  // servers refuse a search by GET
      return written;
    }
    if (parsed.translated->changed_values != 0)
      return write_request(
          request, buffer, [&] { append_changed_values(buffer, *parsed.translated); }, first);
    const auto own = engine_request(request, parsed);
    return write_request(own, buffer, [&] { write_body(own); });
  }

  Judgement judge(const AgentReply& reply, bool merged) const override {
    return classify_(reply, merged);
  }

 private:
  const DialectSettings settings_;
  const Reader read_;
  const Classifier classify_;
};

}  // namespace

std::unique_ptr<Dialect> make_manticore_json(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings, parse_body<read_search>, judge_search);
}

std::unique_ptr<Dialect> make_manticore_update(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings, parse_change, judge_change);
}

std::unique_ptr<Dialect> make_manticore_autocomplete(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings, parse_body<read_completion>, judge_sets);
}

std::unique_ptr<Dialect> make_percolate_search(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings, parse_percolation, judge_percolation);
}

std::unique_ptr<Dialect> make_stored_query(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings, parse_stored_query, judge_change);
}

std::unique_ptr<Dialect> make_manticore_elastic(const DialectSettings& settings) {
  return std::make_unique<ManticoreJson>(settings, parse_elastic, judge_elastic,
                                         write_elastic_error);
}

}  // namespace karmad
