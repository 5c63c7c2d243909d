#include <algorithm>

#include "agent/dialect/fronts/sql/sql_builders.hpp"
#include "agent/dialect/replies/judge.hpp"
#include "agent/dialect/rows/sort_value.hpp"
#include "config/text/number_in.hpp"
#include "config/text/source_text.hpp"

namespace karmad::sql {
namespace {

/// Expressions about the server, not about documents, are short.
constexpr std::size_t kLongestWithoutFrom = 4096;
/// Bounds memory: a token is larger than its text.
constexpr std::size_t kMostSqlTokens = 20'000;
/// Room for those of most statements.
constexpr std::size_t kFewTokens = 16;
/// Bounds how often a token is read in search of the end of a bracket. Not in WHERE.
constexpr int kDeepestBrackets = 256;

std::optional<std::size_t> row_count(std::string_view text) {
  const auto count = number_in<std::size_t>(text);
  return count && *count <= kLargestRowCount ? count : std::nullopt;
}

/// `n`, `offset, n` or `n OFFSET offset`; nothing: it is none of these.
std::optional<RowWindow> read_window(Span tokens) {
  if (tokens.size() != 1 && tokens.size() != 3) return std::nullopt;
  const auto first = row_count(tokens.front().text);
  const auto second = row_count(tokens.back().text);
  if (!first || !second) return std::nullopt;
  if (tokens.size() == 1) return RowWindow{.limit = *first};
  if (tokens[1].is_sign(',')) return RowWindow{*first, *second};
  if (tokens[1].is_word("offset")) return RowWindow{*second, *first};
  return std::nullopt;
}

ClientError wrong_window(std::size_t at) {
  return wrong_at(
      at,
      "LIMIT takes one or two integers from 0 to {}: LIMIT 20, LIMIT 40,20 or LIMIT 20 OFFSET 40",
      kLargestRowCount);
}

bool is_reserved(const Token& token) {
  return (token.kind == Token::Kind::word && token.begins_with("karmad_")) ||
         (token.kind == Token::Kind::name && token.begins_with("`karmad_"));
}

}  // namespace

ClientError SelectBuilder::inner_select_at(std::size_t at) {
  return wrong_at(at,
                  "a SELECT within a SELECT is supported only as SELECT * FROM (SELECT …) ORDER BY "
                  "…; send the inner and the outer query one after the other");
}

MaybeError SelectBuilder::look_at(const Token& token, bool after_tables) {
  if (token.is_word("select")) return inner_select_at(token.at);
  const bool joins = token.is_word("join");
  if (joins && after_tables)
    return wrong_at(token.at, "JOIN is not supported; query each table and join the rows yourself");
  if (joins)
    note_unplannable(
        unmergeable_at(token.at, "JOIN", "query each table and join the rows yourself"));
  names_other_ = names_other_ || joins || token.is_word("from");
  has_options_ = has_options_ || token.is_word("option");
  if (token.kind == Token::Kind::quoted && token.text.find_first_of(";()") != token.text.npos)
    sign_in_text_ = std::min(sign_in_text_, token.at);
  const auto& [last, name, before] = before_;
  const bool is_option =
      after_tables && last.is_sign('=') && (before.is_word("option") || before.is_sign(','));
  if (is_option && name.is_word("scroll")) out_.scroll = token.text;
  MaybeError refusal;
  if (is_option && name.is_word("retry_count", "agent_query_timeout", "retry_delay"))
    refusal = read_option(token);
  before_ = {token, last, name};
  return refusal;
}

/// Reads `name = number`; other forms are left to the agent.
MaybeError SelectBuilder::read_option(const Token& number) {
  const auto value = number_in<std::uint64_t>(number.text);
  if (!value) return std::nullopt;
  const auto name = lower(before_[1].text);
  const auto why = set_query_option(out_.options, name, value);
  return why ? MaybeError(bad_request("{} {}", name, *why)) : std::nullopt;
}

/// The search server gives a SELECT with an option that it does not know and the word `fuzzy` to a
/// helper, which splits it at each `;` and replaces parts of it by patterns that know no quotes: a
/// text could become a statement about another table.
MaybeError SelectBuilder::refuse_ambiguous_fuzzy() const {
  const auto wrong = std::min({sign_in_text_, statement_.find('%'), statement_.find("/*")});
  if (!has_options_ || wrong == statement_.npos || !contains_folded(statement_, "fuzzy"))
    return std::nullopt;
  return bad_request(
      "a SELECT with OPTION and the word fuzzy has no % and no comments, and none of ; ( ) in its "
      "texts (see offset {})",
      wrong);
}

std::size_t SelectBuilder::keep(const Token& token, int depth) {
  auto& tokens = out_.tokens;
  if (tokens.empty()) tokens.reserve(kFewTokens);
  if (!is_plannable()) return tokens.size();  // the clauses are of no use
  if (is_reserved(token)) note_unplannable(token.at, "names that begin with karmad_ are reserved");
  if (depth > kDeepestBrackets)
    note_unplannable(wrong_at(token.at, "brackets nest deeper than {}", kDeepestBrackets));
  if (tokens.size() < kMostSqlTokens)
    tokens.push_back(token);
  else
    note_unplannable(wrong_at(token.at, "more than {} words outside of WHERE", kMostSqlTokens));
  return tokens.size();
}

/// A name with a comma or `*` would be a list of its own.
MaybeError SelectBuilder::add_table(const Token& token) {
  const auto name = token.inner();
  if (name.empty()) return bad_request("FROM names no table");
  if (name.find_first_of(",*") != name.npos)
    return bad_request("a name of a table at offset {} contains ',' or '*'", token.at);
  if (out_.table.empty()) out_.table_place.begin = token.at;
  out_.table.append(out_.table.empty() ? "" : ",").append(name);
  out_.table_place.end = token.end();
  return std::nullopt;
}

void SelectBuilder::note_unplannable(ClientError why) {
  if (!out_.unplannable) out_.unplannable = std::move(why);
}

void SelectBuilder::note_late(std::size_t at, ClientError why) {
  if (!late_ || at < late_->first) late_.emplace(at, std::move(why));
}

void SelectBuilder::set_clause(Clause clause, const Token& keyword, Range tokens) {
  if (tokens.empty()) note_late(keyword.at, wrong_at(keyword.at, "a clause is empty"));
  clauses_[static_cast<std::size_t>(clause)] = tokens;
  if (clause != Clause::limit || tokens.empty()) return;
  const auto window = read_window(span(tokens));
  if (window) out_.window = *window;
  if (!window) note_late(keyword.at, wrong_window(keyword.at));
}

bool SelectBuilder::set_per_group(const Token& count) {
  const auto number = row_count(count.text);
  out_.per_group = number.value_or(0);
  if (out_.per_group == 0) note_unplannable(count.at, "expected GROUP BY or GROUP n BY");
  return out_.per_group != 0;
}

void SelectBuilder::set_where(const Token& keyword) {
  has_where_ = true;
  if (out_.where.empty())
    note_late(keyword.at, wrong_at(statement_.size(), "WHERE has no condition"));
}

void SelectBuilder::add_condition(const Token& token, int depth) {
  if (!is_plannable()) return;
  if (is_reserved(token)) note_unplannable(token.at, "names that begin with karmad_ are reserved");
  if (out_.where.empty()) out_.where = token.text;
  const auto begin = static_cast<std::size_t>(out_.where.data() - statement_.data());
  out_.where = statement_.substr(begin, token.end() - begin);
  out_.match = out_.match || (token.is_sign('(') && before_condition_.is_word("match"));
  read_knn(token, depth);
  before_condition_ = token;
  check_vector(token, depth);
}

/// Reads `KNN(attribute, k, (0.1,…))`, whose third argument may be a document's id.
void SelectBuilder::read_knn(const Token& token, int depth) {
  const auto& before = before_condition_;
  if (token.is_sign('(') && before.is_word("knn")) {
    out_.knn = true;
    knn_depth_ = depth;
    knn_argument_ = 0;
    knn_ = {};
  }
  if (depth < knn_depth_) end_knn(token);
  if (knn_depth_ == 0) return;
  if (depth == knn_depth_ + 1 && token.is_sign('(')) knn_vector_ = token.at + 1;
  if (depth != knn_depth_) return;
  if (token.is_sign(',')) {
    ++knn_argument_;
  } else if (before.is_sign('(') && knn_argument_ == 0 && token.names_table()) {
    knn_.attribute = token.text;
  } else if (before.is_sign(',') && token.kind == Token::Kind::word) {
    if (knn_argument_ == 1) knn_.k = token.text;
    if (knn_argument_ != 1 && knn_argument_ != 2) return;
    knn_.id = token.text;
    knn_.at = token.at;
  }
}

/// An only argument behind the attribute, `KNN(attribute, 7)`, is the document's id.
void SelectBuilder::end_knn(const Token& token) {
  knn_depth_ = 0;
  knn_vector_.reset();
  knn_.end = token.text;
  const auto k = knn_.k;
  if (knn_argument_ == 1) knn_.k = {};
  out_.nearest = row_count(knn_.k).value_or(0);
  if (!knn_.id.empty() && (knn_.k.empty() || knn_.id.data() != k.data())) out_.knn_document = knn_;
}

/// Checks the numbers of a vector at its end.
void SelectBuilder::check_vector(const Token& token, int depth) {
  if (!knn_vector_ || depth != knn_depth_) return;
  const auto begin = *std::exchange(knn_vector_, std::nullopt);
  if (has_exceeding_float(statement_.substr(begin, token.at - begin)))
    note_unplannable(begin, "the vector has a number beyond the range of a float of 32 bits");
}

void SelectBuilder::begin_facet(const Token& keyword, Range items) {
  too_many_facets_ = facets_.size() > kMostFacets;
  if (!too_many_facets_) facets_.push_back({.at = keyword.at, .items = items});
}

void SelectBuilder::set_facet_part(FacetPart part, const Token& keyword, Range tokens) {
  auto& facet = facets_.back();
  if (too_many_facets_ || (late_ && late_->first <= facet.at)) return;
  const auto at = static_cast<std::size_t>(part);
  if (facet.given[at])
    return note_late(facet.at, wrong_at(keyword.at, "a clause of FACET is given twice"));
  facet.given[at] = true;
  facet.parts[at] = tokens;
  if (tokens.empty())
    return note_late(facet.at, wrong_at(keyword.at, "a clause of FACET is empty"));
}

void SelectBuilder::end_facet() {
  if (too_many_facets_) return;
  const auto& facet = facets_.back();
  const bool has_parts = std::ranges::find(facet.given, true) != facet.given.end();
  if (facet.items.empty())
    note_late(facet.at,
              wrong_at(facet.at, has_parts ? "FACET names nothing" : "a clause is empty"));
  const auto limit = span(facet.parts[static_cast<std::size_t>(FacetPart::limit)]);
  if (!limit.empty() && !read_window(limit)) note_late(facet.at, wrong_window(limit.front().at));
}

void SelectBuilder::fill() {
  const auto clause = [this](Clause of) { return span(clauses_[static_cast<std::size_t>(of)]); };
  out_.items = clause(Clause::items);
  out_.group = clause(Clause::group);
  out_.within = clause(Clause::within);
  out_.having = clause(Clause::having);
  out_.order = clause(Clause::order);
  out_.option_list = clause(Clause::options);
  for (const auto& facet : facets_) {
    const auto part = [&](FacetPart of) { return span(facet.parts[static_cast<std::size_t>(of)]); };
    auto& filled = out_.facets.emplace_back();
    filled.items = span(facet.items);
    filled.by = part(FacetPart::by);
    filled.distinct = part(FacetPart::distinct);
    filled.order = part(FacetPart::order);
    filled.window = read_window(part(FacetPart::limit)).value_or(RowWindow{});
  }
}

OrError<Select> SelectBuilder::finish(bool has_from, int open_brackets, std::size_t end) {
  if (has_from && out_.table.empty()) return refused("FROM names no table");
  if (!has_from && statement_.size() > kLongestWithoutFrom)
    return refused("a SELECT without FROM has at most {} bytes; this one has {}",
                   kLongestWithoutFrom, statement_.size());
  if (!has_from && (names_other_ || open_brackets != 0)) return refused("the SELECT has no FROM");
  if (!has_from) note_unplannable(statement_.size(), "expected FROM and a table");
  if (auto refusal = refuse_ambiguous_fuzzy()) return std::unexpected(*std::move(refusal));
  if (open_brackets > 0) note_unplannable(end, "a bracket is not closed");
  if (late_) note_unplannable(std::move(late_->second));
  fill();
  if (!out_.within.empty() && out_.group.empty())
    note_unplannable(out_.within.front().at, "WITHIN GROUP ORDER BY needs GROUP BY");
  out_.text = statement_;
  return std::move(out_);
}

}  // namespace karmad::sql
