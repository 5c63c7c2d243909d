#include "agent/dialect/manticore_json/search_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "agent/dialect/manticore_json/aggregations/aggregation_merge.hpp"
#include "agent/dialect/manticore_json/aggregations/plan_aggregations.hpp"
#include "agent/dialect/manticore_json/merge_hits.hpp"
#include "agent/dialect/manticore_json/parse_part.hpp"
#include "agent/dialect/manticore_json/reply.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"

namespace karmad {

namespace {

// Defaults of the search server.
constexpr std::uint64_t kDefaultLimit = 20;
constexpr std::uint64_t kDefaultMaxMatches = 1000;
/// The server stores counts in 32 bits.
constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

/// A list of replacements in the client's body.
class Edits {
 public:
  Edits(std::string_view body, const SearchRequest& request) : body_(body), request_(request) {}

  /// Replaces the value of a property, or adds it.
  void set(Property property, std::string value) {
    const auto span = request_[property];
    if (span.found())
      edits_.push_back({span, std::move(value), false});
    else
      edits_.push_back({{request_.closing_brace, request_.closing_brace},
                        fmt::format(",\"{}\":{}", name(property), value),
                        false});
  }
  void set(Property property, std::uint64_t value) { set(property, std::to_string(value)); }
  void replace(ByteRange at, std::uint64_t value) {
    edits_.push_back({at, std::to_string(value), false});
  }
  void set_if_given(Property property, std::uint64_t value) {
    if (request_[property].found()) set(property, value);
  }

  /// The edited body, split at the positions of the table's name.
  std::vector<std::string> apply() {
    for (const auto property : {Property::table, Property::index})
      if (request_[property].found()) edits_.push_back({request_[property], {}, true});
    std::ranges::stable_sort(edits_, {}, [](const Edit& edit) { return edit.at.begin; });
    std::vector<std::string> pieces(1);
    std::size_t copied = 0;
    for (const auto& edit : edits_) {
      pieces.back().append(body_, copied, edit.at.begin - copied).append(edit.text);
      copied = edit.at.end;
      if (edit.names_table) pieces.emplace_back();
    }
    pieces.back().append(body_, copied);
    return pieces;
  }

 private:
  struct Edit {
    ByteRange at;
    std::string text;
    bool names_table = false;
  };
  std::string_view body_;
  const SearchRequest& request_;
  std::vector<Edit> edits_;
};

struct Window {
  std::uint64_t offset = 0;
  std::uint64_t limit = kDefaultLimit;
  std::optional<std::uint64_t> max_matches;
};

std::expected<std::optional<std::uint64_t>, ClientError> count_in(std::string_view body,
                                                                  ByteRange span,
                                                                  std::string_view what) {
  if (!span.found()) return std::nullopt;
  const auto text = span.in(body);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > kLargestCount)
    return refused(fmt::format("{} must be an integer from 0 to {}", what, kLargestCount));
  return value;
}

std::expected<std::optional<std::uint64_t>, ClientError> count_of(std::string_view body,
                                                                  const SearchRequest& request,
                                                                  Property property) {
  return count_in(body, request[property], fmt::format("\"{}\"", name(property)));
}

/// A count with two possible names.
std::expected<std::optional<std::uint64_t>, ClientError> count_of(std::string_view body,
                                                                  const SearchRequest& request,
                                                                  Property one, Property other) {
  const auto a = count_of(body, request, one);
  if (!a) return a;
  const auto b = count_of(body, request, other);
  if (!b) return b;
  if (*a && *b && **a != **b)
    return refused(
        fmt::format("\"{}\" and \"{}\" mean the same and differ", name(one), name(other)));
  return *a ? *a : *b;
}

std::expected<Window, ClientError> window_of(std::string_view body, const SearchRequest& request) {
  Window window;
  const auto limit = count_of(body, request, Property::limit, Property::size);
  if (!limit) return std::unexpected(limit.error());
  const auto offset = count_of(body, request, Property::offset, Property::from);
  if (!offset) return std::unexpected(offset.error());
  const auto max_matches = count_of(body, request, Property::max_matches);
  if (!max_matches) return std::unexpected(max_matches.error());
  const auto option = count_in(body, request.max_matches_option, "options.max_matches");
  if (!option) return std::unexpected(option.error());
  window.limit = limit->value_or(kDefaultLimit);
  window.offset = offset->value_or(0);
  window.max_matches = *option ? *option : *max_matches;  // the server reads `options` last
  return window;
}

bool is_off(std::string_view value) {
  return value == "false" || value == "null" || value == "0" || value == "\"\"";
}

/// Refuses properties whose results belong to one shard and cannot be merged.
std::optional<ClientError> unmergeable(std::string_view body, const SearchRequest& request) {
  constexpr Property on_one_shard_only[] = {Property::scroll, Property::profile, Property::plan,
                                            Property::knn,    Property::hybrid,  Property::join};
  for (const auto property : on_one_shard_only)
    if (const auto span = request[property]; span.found() && !is_off(span.in(body)))
      return ClientError{400, fmt::format("\"{}\" cannot be merged: the table has several shards",
                                          name(property))};
  if (request.scroll_option.found() && !is_off(request.scroll_option.in(body)))
    return ClientError{400, "options.scroll cannot be merged: the table has several shards"};
  if (request[Property::aggregations].found())
    return ClientError{400, "\"aggregations\" is not a property of a search; write \"aggs\""};
  return std::nullopt;
}

/// Sums over all shards besides hits and aggregations.
struct Totals {
  std::uint64_t total = 0;
  bool lower_bound = false;
  bool timed_out = false;
};

void add_warning(JsonLine& out, std::string_view notes, std::span<const ReplyHead> heads) {
  bool open = false;
  const auto add = [&](std::string_view text) {
    out.add(open ? ";\\n" : R"(,"warning":{"reason":")");
    open = true;
    out.add_escaped(text);
  };
  if (!notes.empty()) add(notes);
  for (std::size_t s = 0; s < heads.size(); ++s)
    if (!heads[s].warning.empty())
      add(fmt::format("shard {}: {}", s + 1, json_unescaped(heads[s].warning)));
  if (open) out.add("\"}");
}

/// The merged answer up to the hits.
void add_beginning(JsonLine out, const MergeNotes& notes, const Totals& totals,
                   std::span<const ReplyHead> heads) {
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(notes.took).count();
  out.add(R"({"took":)");
  out.add_number(took);
  out.add(R"(,"timed_out":)");
  out.add(totals.timed_out ? "true" : "false");
  add_warning(out, notes.warning, heads);
  out.add(R"(,"hits":{"total":)");
  out.add_number(totals.total);
  out.add(R"(,"total_relation":")");
  out.add(totals.lower_bound ? "gte" : "eq");
  out.add(R"(","hits":[)");
}

}  // namespace

std::expected<std::unique_ptr<FanOut>, ClientError> SearchPlan::make(std::string_view body,
                                                                     const SearchRequest& request,
                                                                     Collation collation) {
  if (auto refusal = unmergeable(body, request)) return std::unexpected(std::move(*refusal));
  const auto window = window_of(body, request);
  if (!window) return std::unexpected(window.error());
  auto sort = plan_sort(request[Property::sort].in(body));
  if (!sort) return std::unexpected(sort.error());
  auto source = plan_source(request[Property::source].in(body), sort->keys);
  if (!source) return std::unexpected(source.error());
  const auto most = window->max_matches.value_or(kDefaultMaxMatches);
  auto aggregations = plan_aggregations(request[Property::aggs].in(body),
                                        {.limit = window->limit, .max_matches = most});
  if (!aggregations) return std::unexpected(aggregations.error());

  const auto page_end = std::min(window->offset + window->limit, most);
  auto plan = std::make_unique<SearchPlan>();
  plan->collation_ = collation;
  plan->offset_ = std::min(window->offset, page_end);
  plan->limit_ = page_end - plan->offset_;

  // The shards also return the hits before the page: after merging, these may be on it. An empty
  // page needs none.
  auto asked = plan->limit_ == 0 ? 0 : page_end;
  Edits edits(body, request);
  if (asked != 0) {
    // Without `sort` the server's default order, best score first, is the wanted one.
    if (request[Property::sort].found()) {
      edits.set(Property::sort, write_sort(*sort));
      if (sort->scores) edits.set(Property::track_scores, "true");
    }
    if (source->rewritten) edits.set(Property::source, *source->rewritten);
  }
  if (!aggregations->empty()) {
    edits.set(Property::aggs, aggregations->rewritten);
    // Without hits and with one aggregation the server counts groups instead of documents.
    // Requesting one hit, which is dropped, keeps hits.total a count of documents.
    asked = std::max<std::uint64_t>(asked, 1);
  }
  const auto kept = std::max<std::uint64_t>({most, asked, aggregations->most_buckets});
  if (request.max_matches_option.found())
    edits.replace(request.max_matches_option, kept);
  else if (kept > most || window->max_matches)
    edits.set(Property::max_matches, kept);
  const bool sized = request[Property::size].found() && !request[Property::limit].found();
  edits.set(sized ? Property::size : Property::limit, asked);
  if (!sized) edits.set_if_given(Property::size, asked);
  edits.set_if_given(Property::offset, 0);
  edits.set_if_given(Property::from, 0);
  plan->around_table_ = edits.apply();

  plan->keys_ = std::move(sort->keys);
  plan->source_ = std::move(*source);
  plan->aggregations_ = std::move(*aggregations);
  return plan;
}

void SearchPlan::write(std::size_t, std::span<const std::string> tables, std::string& body) const {
  for (const auto& piece : around_table_) {
    if (&piece != &around_table_.front()) append_tables(body, tables);
    body += piece;
  }
}

/// Buckets are sorted and allocate memory each; every sort key is searched in every hit.
unsigned SearchPlan::merge_weight() const {
  constexpr unsigned kOfBuckets = 4;
  constexpr std::size_t kKeysForOne = 4;
  return 1 + static_cast<unsigned>(keys_.size() / kKeysForOne) +
         (aggregations_.empty() ? 0 : kOfBuckets);
}

std::optional<FanOut::BadReply> SearchPlan::merge(std::span<const ShardReply> replies,
                                                  const MergeNotes& notes, std::string& out) const {
  const auto tail = aggregations_.empty() ? ReadTail::no : ReadTail::yes;
  std::vector<ReplyHead> heads(replies.size());
  std::vector<JsonCursor> hits(replies.size());
  Totals totals{.timed_out = notes.timed_out};
  for (std::size_t s = 0; s < replies.size(); ++s) {
    if (replies[s].body.empty()) continue;
    auto head = read_reply(replies[s].body, tail);
    if (!head) return BadReply{s, std::move(head.error())};
    totals.total += head->total;
    totals.lower_bound |= head->total_is_lower_bound;
    totals.timed_out |= head->timed_out;
    hits[s] = head->hits;
    heads[s] = *head;
  }
  const auto merged = merge_hits(hits, {keys_, collation_}, offset_, limit_);
  if (!merged) return merged.error();
  totals.total -= std::min(totals.total, merged->duplicates);

  const auto before = out.size();
  add_beginning(JsonLine(out), notes, totals, heads);
  for (const auto& hit : merged->page) {
    if (&hit != &merged->page.front()) out += ',';
    append_hit(out, hit, source_);
  }
  out += "]}";
  if (!aggregations_.empty()) {
    if (auto bad = merge_aggregations(aggregations_, heads, collation_, out)) {
      out.resize(before);
      return bad;
    }
  }
  out += '}';
  return std::nullopt;
}

void append_tables(std::string& to, std::span<const std::string> tables) {
  JsonLine out(to);
  out.add('"');
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i != 0) out.add(',');
    out.add_escaped(tables[i]);
  }
  out.add('"');
}

}  // namespace karmad
