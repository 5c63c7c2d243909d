#include "agent/dialect/plan/two_rounds.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

#include "agent/dialect/plan/search/search_parts.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/json/json_tree.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

// Defaults of the search server.
constexpr std::uint64_t kDefaultLimit = 20;
constexpr std::uint64_t kDefaultMaxMatches = 1000;

using Patterns = std::vector<std::string>;

/// The selection of a client; empty `includes` selects everything.
struct Selection {
  bool none = false;
  Patterns includes;
  Patterns excludes;
};

/// Reads a text or a list of texts.
void read_patterns(const rapidjson::Value& list, std::string_view what, Patterns& patterns,
                   FirstRefusal& refusal) {
  patterns.clear();
  for (const auto& item : each_of(list)) {
    if (!item.IsString()) return refusal.refuse("{} must be an array of strings", what);
    patterns.emplace_back(text_of(item));
  }
}

void read_selection(const rapidjson::Value& source, Selection& selection, FirstRefusal& refusal) {
  selection.none = source.IsFalse();
  if (source.IsBool() || (source.IsString() && source.GetStringLength() == 0)) return;
  if (source.IsString() || source.IsArray())
    return read_patterns(source, "\"_source\"", selection.includes, refusal);
  if (!source.IsObject())
    return refusal.refuse("\"_source\" must be a string, an array or an object");
  for (const auto& member : source.GetObject()) {
    const auto key = text_of(member.name);
    if (key != "includes" && key != "excludes") continue;
    read_patterns(member.value, fmt::format(R"("_source"."{}")", key),
                  key == "includes" ? selection.includes : selection.excludes, refusal);
  }
}

bool any_matches(const Patterns& patterns, std::string_view member) {
  return std::ranges::any_of(patterns, [&](const auto& p) { return source_matches(p, member); });
}

void add_list(JsonLine& out, const Patterns& patterns) {
  out.add('[');
  for (const auto& pattern : patterns) {
    if (&pattern != &patterns.front()) out.add(',');
    out.add_quoted(pattern);
  }
  out.add(']');
}

void add_selection(JsonLine out, const Selection& selection) {
  if (selection.excludes.empty()) return add_list(out, selection.includes);
  out.add(R"({"includes":)");
  add_list(out, selection.includes);
  out.add(R"(,"excludes":)");
  add_list(out, selection.excludes);
  out.add('}');
}

/// The names under which shards may show the attribute of a sort key: those of a table's attributes
/// are in lower case, those of expressions as the client wrote them.
Patterns shown_names(const SortKey& key) {
  Patterns names{lower(key.attribute)};
  if (names[0] != key.attribute) names.push_back(key.attribute);
  return names;
}

/// Removes the exclusions that match `attribute` from the shards' request; append_hit() applies
/// them.
bool lift_exclusions(Selection& selection, std::string_view attribute, Patterns& hidden) {
  const auto before = hidden.size();
  std::erase_if(selection.excludes, [&](const auto& pattern) {
    const bool lifted = source_matches(pattern, attribute);
    if (lifted) hidden.push_back(pattern);
    return lifted;
  });
  return hidden.size() > before;
}

/// `text`: the bytes of the request's `_source`, empty when there is none.
SourcePlan plan_source(std::string_view text, const std::vector<SortKey>& keys,
                       FirstRefusal& refusal) {
  SourcePlan plan;
  if (text.empty()) {
    for (const auto& key : keys)
      if (!key.expression.empty()) plan.hidden.push_back(key.name);
    return plan;
  }
  rapidjson::Document source;
  parse_part(text, source);
  Selection selection;
  read_selection(source, selection, refusal);

  bool changed = false;
  for (const auto& key : keys) {
    if (key.by != SortKey::By::attribute) continue;
    if (!key.expression.empty()) plan.hidden.push_back(key.name);
    for (const auto& name : shown_names(key)) {
      const bool everything = selection.includes.empty() && !selection.none;
      if (!everything && !any_matches(selection.includes, name)) {
        if (key.expression.empty()) plan.hidden.push_back(name);
        selection.includes.push_back(name);
        selection.none = false;
        changed = true;
      }
      changed = lift_exclusions(selection, name, plan.hidden) || changed;
    }
  }
  if (changed) add_selection(JsonLine(plan.rewritten.emplace()), selection);
  return plan;
}

bool same_order(const std::vector<ScrollKey>& before, const std::vector<SortKey>& now) {
  return std::ranges::equal(before, now, [](const ScrollKey& a, const SortKey& b) {
    return a.attribute == scroll_attribute(b) && a.descending == b.descending;
  });
}

/// The page of a search that pages with tokens (`options.scroll`); nothing: it does not. Refuses
/// (400) a token that cannot be continued here.
OrError<std::optional<HitScroll>> plan_scroll(std::string_view body, const SearchRequest& request,
                                              const ScrollPlace& place) {
  const auto option = request.scroll_option.in(body);
  if (!request.scroll_option.found() || is_off(option)) return std::nullopt;
  const auto sort = request[Property::sort].in(body);
  const auto expressions = request[Property::expressions].in(body);
  if (!is_string(option)) {
    if (option == "true" || option == "1") return HitScroll{ScrollPages(place, sort), expressions};
    return refused("options.scroll must be true, or the token of the page before");
  }
  auto pages = ScrollPages::behind(json_unescaped(without_quotes(option)), place);
  if (!pages) return std::unexpected(std::move(pages.error()));
  if (sort.empty()) return HitScroll{*std::move(pages), expressions};
  const auto now = plan_sort(sort);
  const auto before = plan_sort(pages->sort());
  if (!now || !before || now->keys != before->keys)
    return refused(
        "\"sort\" is not that of the scroll token; leave it out, or start again with "
        "options.scroll = true");
  return HitScroll{*std::move(pages), expressions};
}

/// Makes shards sort by all keys, so that the order is total. Refuses (400) an order that a server
/// cannot continue.
void complete_scroll(const ScrollPages& pages, SortPlan& sort, FirstRefusal& refusal) {
  auto& keys = sort.keys;
  if (keys.size() > kMostServerKeys)
    return refusal.refuse("a scroll sorts by at most {} keys and the id", kMostServerKeys - 1);
  for (const auto& key : keys)
    if (!key.path.empty())
      return refusal.refuse(
          "a scroll cannot sort by {}, a value inside JSON; give it a name in \"expressions\" and "
          "sort by that name",
          key.name);
  if (!pages.keys().empty() && !same_order(pages.keys(), keys))
    return refusal.refuse(
        "the scroll token has another order; start again with options.scroll = true");
  sort.asked = keys.size();
}

/// The value of `options.scroll` for the shards.
std::string scroll_option(const ScrollPages& pages) {
  return pages.keys().empty() ? "false" : fmt::format("\"{}\"", server_token(pages.keys()));
}

/// The server stores counts in 32 bits.
constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int32_t>::max();

/// Which hits of all found ones a client wants.
struct Window {
  std::uint64_t offset = 0;
  std::uint64_t limit = kDefaultLimit;
  std::optional<std::uint64_t> max_matches;
};

/// Refuses (400) counts that are no counts, and two names of one count that differ.
Window window_of(std::string_view body, const SearchRequest& request, FirstRefusal& refusal) {
  const auto count_at = [&](ByteRange at, std::string_view what) -> std::optional<std::uint64_t> {
    if (!at.found()) return std::nullopt;
    const auto value = number_in<std::uint64_t>(at.in(body));
    if (!value || *value > kLargestCount)
      refusal.refuse("{} must be an integer from 0 to {}", what, kLargestCount);
    return value;
  };
  const auto count = [&](Property property) {
    return count_at(request[property], fmt::format("\"{}\"", name(property)));
  };
  const auto either = [&](Property one, Property other) {
    const auto a = count(one);
    const auto b = count(other);
    if (a && b && *a != *b)
      refusal.refuse(R"("{}" and "{}" mean the same and differ)", name(one), name(other));
    return a ? a : b;
  };
  Window window;
  window.limit = either(Property::limit, Property::size).value_or(kDefaultLimit);
  window.offset = either(Property::offset, Property::from).value_or(0);
  const auto max_matches = count(Property::max_matches);
  const auto option = count_at(request.max_matches_option, "options.max_matches");
  window.max_matches = option ? option : max_matches;  // the server reads `options` last
  return window;
}

/// In lower case; names are compared without case.
constexpr std::string_view kReservedNames = "karmad_";

/// Whether `expressions` has a name that the shards' requests may use for a sort key.
bool takes_reserved_name(std::string_view expressions) {
  PassedMembers members(expressions);
  while (const auto member = members.next())
    if (lower(json_unescaped(member->name)).starts_with(kReservedNames)) return true;
  return false;
}

/// Refuses properties whose results belong to one shard and cannot be merged.
void refuse_unmergeable(std::string_view body, const SearchRequest& request,
                        FirstRefusal& refusal) {
  if (request.odd_key)
    return refusal.refuse(
        "the request has a property in another letter case, which some search servers read and "
        "others do not; write properties in lower case");
  if (const auto span = request[Property::scroll]; span.found() && !is_off(span.in(body)))
    return refusal.refuse(
        "\"scroll\" cannot be merged: the table has several shards; page with \"options\": "
        "{{\"scroll\": true}}");
  if (request[Property::search_after].found())
    return refusal.refuse(
        "\"search_after\" is not a property of a search; page with \"options\": {{\"scroll\": "
        "true}}");
  if (request[Property::aggregations].found())
    return refusal.refuse(R"("aggregations" is not a property of a search; write "aggs")");
  if (takes_reserved_name(request[Property::expressions].in(body)))
    refusal.refuse("\"expressions\": names that begin with karmad_ are reserved");
}

bool is_on(std::string_view body, const SearchRequest& request, Property property) {
  return request[property].found() && !is_off(request[property].in(body));
}

/// The edits of the client's body, which must outlive it, as the request must.
class Edits {
 public:
  Edits(std::string_view body, const SearchRequest& request) : body_(body), request_(request) {}

  void add(TextEdit edit) { edits_.push_back(std::move(edit)); }
  void replace(ByteRange at, std::string value) { add({at.begin, at.end, std::move(value)}); }
  void replace(ByteRange at, std::uint64_t value) { replace(at, std::to_string(value)); }
  /// Replaces the value of a property, or adds it.
  void set(Property property, std::string value) {
    const auto end = request_.closing_brace;
    if (request_[property].found())
      replace(request_[property], std::move(value));
    else
      replace(ByteRange{end, end}, fmt::format(",\"{}\":{}", name(property), value));
  }
  void set(Property property, std::uint64_t value) { set(property, std::to_string(value)); }
  void set_if_given(Property property, std::uint64_t value) {
    if (request_[property].found()) set(property, value);
  }
  /// Adds members, written without braces, to an object, or adds the object.
  void add_members(Property property, const std::string& members) {
    const auto span = request_[property];
    const auto text = span.in(body_);
    if (!is_object(text)) return set(property, fmt::format("{{{}}}", members));
    const auto first = text.find_first_not_of(kJsonSpace, 1);
    const bool empty = first == text.npos || text[first] == '}';
    replace(ByteRange{span.begin + 1, span.begin + 1}, empty ? members : members + ",");
  }
  /// The edits, with those of the table's name.
  TextEdits take() {
    for (const auto property : {Property::table, Property::index})
      if (const auto at = request_[property]; at.found())
        add({.begin = at.begin, .end = at.end, .names = TableNames::json});
    std::ranges::stable_sort(edits_, {}, &TextEdit::begin);
    return std::move(edits_);
  }

 private:
  std::string_view body_;
  const SearchRequest& request_;
  TextEdits edits_;
};

/// Makes the plan from the parts of the request, in order: each needs the ones before.
class SearchDraft : public FirstRefusal {
 public:
  SearchDraft(std::string_view body, const SearchRequest& request)
      : body_(body), request_(request) {}

  void read(std::size_t shards, const DialectSettings& settings, std::string_view vector) {
    const ScrollPlace place{request_.table, shards, settings.scroll_key, "json"};
    refuse_unmergeable(body_, request_, *this);
    window_ = window_of(body_, request_, *this);
    vectors_ = plan_vectors(body_, request_, shards, vector, *this);
    keep(plan_scroll(body_, request_, place), scroll_);
    if (scroll_ && vectors_.order != VectorOrder::none)
      refuse("a search for vectors cannot scroll; page with offset and limit");
    const auto sort = scroll_ ? scroll_->pages.sort() : request_[Property::sort].in(body_);
    keep(plan_sort(sort, vectors_.order), sort_);
    take_named_expressions(request_[Property::expressions].in(body_), sort_.keys);
    if (scroll_) {
      complete_scroll(scroll_->pages, sort_, *this);
      refuse_too_many_scrolled(scroll_->pages, window_.offset + window_.limit, *this);
    }
    merge_.source = plan_source(request_[Property::source].in(body_), sort_.keys, *this);
    most_ = window_.max_matches.value_or(kDefaultMaxMatches);
    keep(
        plan_aggregations(request_[Property::aggs].in(body_),
                          {.offset = window_.offset, .limit = window_.limit, .max_matches = most_}),
        merge_.aggregations);
  }

  PlannedSearch plan(Collation collation) {
    // What the client has got on earlier pages of a scroll is no part of what it asks for.
    const auto got = scroll_ ? scroll_->pages.skip() : 0;
    const auto page_end =
        got + std::min({window_.offset + window_.limit, most_, vectors_.nearest.value_or(most_)});
    merge_.offset = std::min(got + window_.offset, page_end);
    merge_.limit = page_end - merge_.offset;
    // The shards also return the hits before the page: after merging, these may be on it. An empty
    // page needs none, but they count up to its offset.
    if (merge_.limit == 0)
      planned_.edits = edited(0, merge_.offset);
    else
      planned_.edits = edited(sorts_otherwise() ? *vectors_.nearest + more_found() : page_end);
    if (sorts_otherwise()) merge_.nearest = *vectors_.nearest;
    merge_.reads_tail = !merge_.aggregations.empty() || is_on(body_, request_, Property::profile) ||
                        is_on(body_, request_, Property::plan);
    merge_.keys = std::move(sort_.keys);
    merge_.first_shown = sort_.implied;
    planned_.client_keys = sort_.given;
    merge_.collation = collation;
    merge_.most_found = vectors_.nearest;
    if (!scroll_ && !request_.cutoff_option && !request_[Property::cutoff].found())
      merge_.stops_at = page_end;
    planned_.document = std::move(vectors_.document);
    return std::move(planned_);
  }

 private:
  /// Whether the nearest hits of a shard are not its first ones: then all of them are asked for.
  bool sorts_otherwise() const {
    return vectors_.nearest && *vectors_.nearest <= kMostNearest && sort_.implied == 0 &&
           (sort_.keys.front().by != SortKey::By::knn_dist || sort_.keys.front().descending);
  }
  std::uint64_t more_found() const { return vectors_.document ? 1 : 0; }

  /// The edits of the shards' request for `asked` hits behind `offset`.
  TextEdits edited(std::uint64_t asked, std::uint64_t offset = 0) {
    Edits edits(body_, request_);
    if (asked != 0) {
      // Without `sort` the server's default order, best score first, is the wanted one.
      if ((request_[Property::sort].found() || scroll_) && sort_.is_told()) {
        edits.set(Property::sort, write_sort(sort_));
        if (sort_.scores) edits.set(Property::track_scores, "true");
        const auto expressions = expressions_of(sort_.keys);
        if (!expressions.empty()) edits.add_members(Property::expressions, expressions);
      }
      if (merge_.source.rewritten) edits.set(Property::source, *merge_.source.rewritten);
    }
    if (scroll_) edits.replace(request_.scroll_option, scroll_option(scroll_->pages));
    for (auto& edit : vectors_.edits) edits.add(std::move(edit));
    if (!merge_.aggregations.empty()) {
      edits.set(Property::aggs, merge_.aggregations.rewritten);
      // Without hits and with one aggregation the server counts groups instead of documents.
      // Requesting one hit, which is dropped, keeps hits.total a count of documents.
      asked = std::max<std::uint64_t>(asked, 1);
      offset = 0;
    }
    const auto kept = std::max<std::uint64_t>({most_, asked, merge_.aggregations.most_buckets});
    if (request_.max_matches_option.found())
      edits.replace(request_.max_matches_option, kept);
    else if (kept > most_ || window_.max_matches)
      edits.set(Property::max_matches, kept);
    const bool sized = request_[Property::size].found() && !request_[Property::limit].found();
    edits.set(sized ? Property::size : Property::limit, asked);
    if (!sized) edits.set_if_given(Property::size, asked);
    edits.set_if_given(Property::offset, offset);
    edits.set_if_given(Property::from, offset);
    return edits.take();
  }

  std::string_view body_;
  const SearchRequest& request_;
  Window window_;
  VectorPlan vectors_;
  SortPlan sort_;
  std::uint64_t most_ = kDefaultMaxMatches;
  PlannedSearch planned_;
  SearchMerge& merge_ = planned_.merge;
  std::optional<HitScroll>& scroll_ = merge_.scroll;
};

}  // namespace

OrError<PlannedSearch> plan_search(std::string_view body, const SearchRequest& request,
                                   std::size_t shards, const DialectSettings& settings,
                                   std::string_view vector) {
  SearchDraft draft(body, request);
  draft.read(shards, settings, vector);
  if (draft.why) return std::unexpected(*std::move(draft.why));
  return draft.plan(settings.collation);
}

}  // namespace karmad
