#include "agent/dialect/plan/search/search_plan.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "agent/dialect/merge/nearest_bound.hpp"
#include "agent/dialect/plan/search/aggregations.hpp"
#include "agent/dialect/plan/search/scroll_plan.hpp"
#include "agent/dialect/plan/search/sort_plan.hpp"
#include "agent/dialect/plan/search/source_plan.hpp"
#include "agent/dialect/request/search_request.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

namespace {

/// The server stores counts in 32 bits.
constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

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

}  // namespace

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

namespace {

/// In lower case; names are compared without case.
constexpr std::string_view kReservedNames = "karmad_";

/// Whether `expressions` has a name that the shards' requests may use for a sort key.
bool takes_reserved_name(std::string_view expressions) {
  bool found = false;
  if (!is_object(expressions)) return false;
  visit_members(expressions, [&](std::string_view key, std::string_view) {
    const auto name = json_unescaped(key);
    found = found || wire::same_word(std::string_view(name).substr(0, kReservedNames.size()),
                                     kReservedNames);
    return true;
  });
  return found;
}

/// Refuses properties whose results belong to one shard and cannot be merged.
std::optional<ClientError> unmergeable(std::string_view body, const SearchRequest& request) {
  if (request.odd_key)
    return ClientError{400,
                       "the request has a property in another letter case, which some search "
                       "servers read and others do not; write properties in lower case"};
  if (const auto span = request[Property::scroll]; span.found() && !is_off(span.in(body)))
    return ClientError{400,
                       "\"scroll\" cannot be merged: the table has several shards; page with "
                       "\"options\": {\"scroll\": true}"};
  if (request[Property::search_after].found())
    return ClientError{400,
                       "\"search_after\" is not a property of a search; page with \"options\": "
                       "{\"scroll\": true}"};
  if (request[Property::aggregations].found())
    return ClientError{400, "\"aggregations\" is not a property of a search; write \"aggs\""};
  if (takes_reserved_name(request[Property::expressions].in(body)))
    return ClientError{400, "\"expressions\": names that begin with karmad_ are reserved"};
  return std::nullopt;
}

bool is_on(std::string_view body, const SearchRequest& request, Property property) {
  return request[property].found() && !is_off(request[property].in(body));
}

/// The edits of the client's body, which must outlive it, as the request must.
class Edits {
 public:
  Edits(std::string_view body, const SearchRequest& request) : body_(body), request_(request) {}

  /// Replaces the value of a property, or adds it.
  void set(Property property, std::string value);
  void set(Property property, std::uint64_t value) { set(property, std::to_string(value)); }
  void set_if_given(Property property, std::uint64_t value) {
    if (request_[property].found()) set(property, value);
  }
  /// Adds members, written without braces, to an object, or adds the object.
  void add_members(Property property, const std::string& members);
  void replace(ByteRange at, std::string value) {
    edits_.push_back({at.begin, at.end, std::move(value)});
  }
  void replace(ByteRange at, std::uint64_t value) { replace(at, std::to_string(value)); }

  /// The edits, with those of the table's name.
  TextEdits take();

 private:
  std::string_view body_;
  const SearchRequest& request_;
  TextEdits edits_;
};

void Edits::set(Property property, std::string value) {
  const auto span = request_[property];
  const auto end = request_.closing_brace;
  if (span.found())
    replace(span, std::move(value));
  else
    replace(ByteRange{end, end}, fmt::format(",\"{}\":{}", name(property), value));
}

void Edits::add_members(Property property, const std::string& members) {
  const auto span = request_[property];
  const auto text = span.in(body_);
  if (!is_object(text)) return set(property, fmt::format("{{{}}}", members));
  const auto first = text.find_first_not_of(" \t\r\n", 1);
  const bool empty = first == text.npos || text[first] == '}';
  replace(ByteRange{span.begin + 1, span.begin + 1}, empty ? members : members + ",");
}

TextEdits Edits::take() {
  for (const auto property : {Property::table, Property::index})
    if (const auto at = request_[property]; at.found())
      edits_.push_back({.begin = at.begin, .end = at.end, .names = TableNames::json});
  std::ranges::stable_sort(edits_, {}, &TextEdit::begin);
  return std::move(edits_);
}

/// Makes the plan from the parts of the request, in order: each needs the ones before.
class SearchDraft {
 public:
  SearchDraft(std::string_view body, const SearchRequest& request)
      : body_(body), request_(request) {}

  std::optional<ClientError> read(std::size_t shards, const DialectSettings& settings,
                                  std::string_view vector) {
    const auto keep = [this](auto read, auto& place) {
      if (!read) return why_ = std::move(read.error()), false;
      place = *std::move(read);
      return true;
    };
    const ScrollPlace place{request_.table, shards, settings.scroll_key, "json"};
    if ((why_ = unmergeable(body_, request_)) || !keep(window_of(body_, request_), window_) ||
        !keep(plan_vectors(body_, request_, shards, vector), vectors_) ||
        !keep(plan_scroll(body_, request_, place), scroll_))
      return why_;
    if (scroll_ && vectors_.order != VectorOrder::none)
      return ClientError{400, "a search for vectors cannot scroll; page with offset and limit"};
    const auto sort = scroll_ ? scroll_->pages.sort() : request_[Property::sort].in(body_);
    if (!keep(plan_sort(sort, vectors_.order), sort_)) return why_;
    take_named_expressions(request_[Property::expressions].in(body_), sort_.keys);
    if ((scroll_ &&
         ((why_ = complete_scroll(scroll_->pages, sort_)) ||
          (why_ = why_too_many_scrolled(scroll_->pages, window_.offset + window_.limit)))) ||
        !keep(plan_source(request_[Property::source].in(body_), sort_.keys), source_))
      return why_;
    most_ = window_.max_matches.value_or(kDefaultMaxMatches);
    keep(plan_aggregations(request_[Property::aggs].in(body_),
                           {.limit = window_.limit, .max_matches = most_}),
         aggregations_);
    return why_;
  }

  PlannedSearch plan(Collation collation) {
    // What the client has got on earlier pages of a scroll is no part of what it asks for.
    const auto got = scroll_ ? scroll_->pages.skip() : 0;
    const auto page_end =
        got + std::min({window_.offset + window_.limit, most_, vectors_.nearest.value_or(most_)});
    PlannedSearch planned;
    auto& merge = planned.merge;
    merge.offset = std::min(got + window_.offset, page_end);
    merge.limit = page_end - merge.offset;
    // The shards also return the hits before the page: after merging, these may be on it. An empty
    // page needs none.
    planned.edits = edited(merge.limit == 0    ? 0
                           : sorts_otherwise() ? *vectors_.nearest + more_found()
                                               : page_end);
    if (sorts_otherwise()) merge.nearest = *vectors_.nearest;
    merge.reads_tail = !aggregations_.empty() || is_on(body_, request_, Property::profile) ||
                       is_on(body_, request_, Property::plan);
    merge.keys = std::move(sort_.keys);
    merge.source = std::move(source_);
    merge.aggregations = std::move(aggregations_);
    merge.collation = collation;
    merge.most_found = vectors_.nearest;
    merge.scroll = std::move(scroll_);
    planned.document = std::move(vectors_.document);
    return planned;
  }

 private:
  /// Whether the nearest hits of a shard are not its first ones: then all of them are asked for.
  bool sorts_otherwise() const {
    return vectors_.nearest && *vectors_.nearest <= kMostNearest && sort_.implied == 0 &&
           (sort_.keys.front().by != SortKey::By::knn_dist || sort_.keys.front().descending);
  }
  std::uint64_t more_found() const { return vectors_.document ? 1 : 0; }

  /// The edits of the shards' request for `asked` hits.
  TextEdits edited(std::uint64_t asked) {
    Edits edits(body_, request_);
    if (asked != 0) {
      // Without `sort` the server's default order, best score first, is the wanted one.
      if ((request_[Property::sort].found() || scroll_) && sort_.is_told()) {
        edits.set(Property::sort, write_sort(sort_));
        if (sort_.scores) edits.set(Property::track_scores, "true");
        const auto expressions = expressions_of(sort_.keys);
        if (!expressions.empty()) edits.add_members(Property::expressions, expressions);
      }
      if (source_.rewritten) edits.set(Property::source, *source_.rewritten);
    }
    if (scroll_) edits.replace(request_.scroll_option, scroll_option(scroll_->pages));
    for (auto& edit : vectors_.edits) edits.replace(edit.at, std::move(edit.text));
    if (!aggregations_.empty()) {
      edits.set(Property::aggs, aggregations_.rewritten);
      // Without hits and with one aggregation the server counts groups instead of documents.
      // Requesting one hit, which is dropped, keeps hits.total a count of documents.
      asked = std::max<std::uint64_t>(asked, 1);
    }
    const auto kept = std::max<std::uint64_t>({most_, asked, aggregations_.most_buckets});
    if (request_.max_matches_option.found())
      edits.replace(request_.max_matches_option, kept);
    else if (kept > most_ || window_.max_matches)
      edits.set(Property::max_matches, kept);
    const bool sized = request_[Property::size].found() && !request_[Property::limit].found();
    edits.set(sized ? Property::size : Property::limit, asked);
    if (!sized) edits.set_if_given(Property::size, asked);
    edits.set_if_given(Property::offset, 0);
    edits.set_if_given(Property::from, 0);
    return edits.take();
  }

  std::string_view body_;
  const SearchRequest& request_;
  std::optional<ClientError> why_;
  Window window_;
  VectorPlan vectors_;
  std::optional<HitScroll> scroll_;
  SortPlan sort_;
  SourcePlan source_;
  std::uint64_t most_ = kDefaultMaxMatches;
  AggregationPlan aggregations_;
};

}  // namespace

std::expected<PlannedSearch, ClientError> plan_search(std::string_view body,
                                                      const SearchRequest& request,
                                                      std::size_t shards,
                                                      const DialectSettings& settings,
                                                      std::string_view vector) {
  SearchDraft draft(body, request);
  if (auto why = draft.read(shards, settings, vector)) return std::unexpected(*std::move(why));
  return draft.plan(settings.collation);
}

}  // namespace karmad
