#include "agent/dialect/manticore_sql/select/clauses.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "agent/dialect/manticore_json/vectors/nearest_bound.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {

namespace {

using ClauseRefusal = std::optional<ClientError>;

/// Bounds memory: a token is larger than its text.
constexpr std::size_t kMostSqlTokens = 20'000;
/// Bounds how often a token is read in search of the end of a bracket. Not in WHERE.
constexpr int kDeepestBrackets = 256;

enum class ClausePart : unsigned char {
  items,
  from,
  where,
  group,
  within,
  having,
  order,
  limit,
  options,
  facet
};

struct ClauseKeyword {
  std::string_view word;
  ClausePart part;
};

constexpr ClauseKeyword kClauseKeywords[] = {
    {"from", ClausePart::from},     {"where", ClausePart::where},    {"group", ClausePart::group},
    {"within", ClausePart::within}, {"having", ClausePart::having},  {"order", ClausePart::order},
    {"limit", ClausePart::limit},   {"option", ClausePart::options}, {"facet", ClausePart::facet},
};

const ClauseKeyword* clause_keyword_at(const SqlToken& token) {
  for (const auto& keyword : kClauseKeywords)
    if (token.is_word(keyword.word)) return &keyword;
  return nullptr;
}

std::optional<std::size_t> row_count(std::string_view text) {
  const auto count = whole_number<std::size_t>(text);
  return count && *count <= kLargestRowCount ? count : std::nullopt;
}

/// `n`, `offset, n` or `n OFFSET offset`.
ClauseRefusal read_window(SqlSpan tokens, std::size_t at, RowWindow& window) {
  const auto wrong = [&] {
    return wrong_at(at, fmt::format("LIMIT takes one or two integers from 0 to {}: LIMIT 20, "
                                    "LIMIT 40,20 or LIMIT 20 OFFSET 40",
                                    kLargestRowCount));
  };
  if (tokens.size() != 1 && tokens.size() != 3) return wrong();
  const auto first = row_count(tokens.front().text);
  const auto second = row_count(tokens.back().text);
  if (!first || !second) return wrong();
  if (tokens.size() == 1) {
    window.limit = *first;
  } else if (tokens[1].is_sign(',')) {
    window = {*first, *second};
  } else if (tokens[1].is_word("offset")) {
    window = {*second, *first};
  } else {
    return wrong();
  }
  return std::nullopt;
}

/// The tokens of one clause, as positions while the list of tokens still grows.
struct ClausePlace {
  ClausePart part = ClausePart::items;
  std::size_t at = 0;  // offset of the keyword
  std::size_t begin = 0;
  std::size_t end = 0;

  SqlSpan in(const std::vector<SqlToken>& tokens) const {
    return SqlSpan(tokens).subspan(begin, end - begin);
  }
};

/// Splits what follows FACET.
ClauseRefusal split_facet(SqlSpan tokens, std::size_t at, FacetClause& facet) {
  auto* part = &facet.items;
  SqlSpan limit;
  std::size_t begin = 0;
  int depth = 0;
  const auto close = [&](std::size_t end) { *part = tokens.subspan(begin, end - begin); };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& token = tokens[i];
    if (token.is_sign('(') || token.is_sign('[') || token.is_sign('{')) ++depth;
    if (token.is_sign(')') || token.is_sign(']') || token.is_sign('}')) --depth;
    if (depth != 0) continue;
    const bool order = token.is_word("order");
    SqlSpan* next = order                       ? &facet.order
                    : token.is_word("by")       ? &facet.by
                    : token.is_word("distinct") ? &facet.distinct
                    : token.is_word("limit")    ? &limit
                                                : nullptr;
    if (next == nullptr) continue;
    if (!next->empty() || next == part)
      return wrong_at(token.at, "a clause of FACET is given twice");
    if (order && (i + 1 == tokens.size() || !tokens[i + 1].is_word("by")))
      return wrong_at(token.at, "expected ORDER BY");
    close(i);
    part = next;
    if (order) ++i;
    begin = i + 1;
    if (begin == tokens.size()) return wrong_at(token.at, "a clause of FACET is empty");
  }
  close(tokens.size());
  if (facet.items.empty()) return wrong_at(at, "FACET names nothing");
  return limit.empty() ? std::nullopt : read_window(limit, limit.front().at, facet.window);
}

/// Reads the tokens once; the tokens of WHERE are checked and not kept.
class ClauseReader {
 public:
  explicit ClauseReader(std::string_view statement) : statement_(statement), tokens_(statement) {}

  std::expected<SelectClauses, ClientError> run() {
    auto refusal = read_tokens();
    if (!refusal) refusal = fill();
    if (refusal) return std::unexpected(std::move(*refusal));
    return std::move(out_);
  }

 private:
  void step() { token_ = tokens_.next(); }

  ClauseRefusal trouble() const {
    if (token_.kind == SqlToken::Kind::unfinished)
      return wrong_at(token_.at, "a quote or comment that does not end");
    if (token_.kind == SqlToken::Kind::ambiguous) return wrong_at(token_.at, token_.why);
    if (token_.is_word("select"))
      return unmergeable_at(token_.at, "a SELECT within a SELECT",
                            "send the inner and the outer query one after the other");
    if (token_.is_word("join"))
      return unmergeable_at(token_.at, "JOIN", "query each table and join the rows yourself");
    const bool reserved = (token_.kind == SqlToken::Kind::word && token_.begins_with("karmad_")) ||
                          (token_.kind == SqlToken::Kind::name && token_.begins_with("`karmad_"));
    if (reserved && place_.part != ClausePart::from)
      return wrong_at(token_.at, "names that begin with karmad_ are reserved");
    return std::nullopt;
  }

  ClauseRefusal read_tokens() {
    step();
    if (auto bad = token_.is_word("select") ? std::nullopt : trouble()) return bad;
    if (!token_.is_word("select")) return wrong_at(token_.at, "expected SELECT");
    place_ = {ClausePart::items, token_.at, 0, 0};
    for (step(); token_.kind != SqlToken::Kind::end; step()) {
      if (auto bad = trouble()) return bad;
      if (depth_ == 0 && token_.is_sign(';')) break;
      const auto* const keyword = depth_ == 0 ? clause_keyword_at(token_) : nullptr;
      const bool starts = keyword != nullptr && !is_of_facet(keyword->part);
      if (auto bad = starts ? start(keyword->part) : take()) return bad;
    }
    if (depth_ != 0) return wrong_at(token_.at, "a bracket is not closed");
    close();
    if (token_.kind == SqlToken::Kind::end) return std::nullopt;
    step();
    if (token_.kind == SqlToken::Kind::end) return std::nullopt;
    return wrong_at(token_.at, "expected the end of the statement");
  }

  /// ORDER BY and LIMIT after FACET are the facet's, and so is the key FACET().
  bool is_of_facet(ClausePart part) const {
    if (place_.part != ClausePart::facet) return false;
    if (part == ClausePart::order || part == ClausePart::limit) return true;
    const auto& before = out_.tokens;
    return part == ClausePart::facet && !before.empty() &&
           (before.back().is_word("by") || before.back().is_sign(','));
  }

  /// Takes a token into the present clause.
  ClauseRefusal take() {
    if (token_.is_sign('(') || token_.is_sign('[') || token_.is_sign('{')) ++depth_;
    if (token_.is_sign(')') || token_.is_sign(']') || token_.is_sign('}')) --depth_;
    if (depth_ < 0) return wrong_at(token_.at, "a bracket closes that was not opened");
    if (token_.is_sign(';')) return wrong_at(token_.at, "; within brackets");
    if (place_.part == ClausePart::where) {
      if (out_.where.empty()) out_.where = token_.text;
      const auto begin = static_cast<std::size_t>(out_.where.data() - statement_.data());
      out_.where = statement_.substr(begin, token_.at + token_.text.size() - begin);
      out_.match = out_.match || (token_.is_sign('(') && before_.is_word("match"));
      read_knn();
      before_ = token_;
      return check_vector();
    }
    if (depth_ > kDeepestBrackets)
      return wrong_at(token_.at, fmt::format("brackets nest deeper than {}", kDeepestBrackets));
    if (out_.tokens.size() == kMostSqlTokens)
      return wrong_at(token_.at,
                      fmt::format("more than {} words outside of WHERE", kMostSqlTokens));
    out_.tokens.push_back(token_);
    return std::nullopt;
  }

  /// Reads `KNN(attribute, k, (0.1,…))`, whose third argument may be a document's id.
  void read_knn() {
    if (token_.is_sign('(') && before_.is_word("knn")) {
      out_.knn = true;
      knn_depth_ = depth_;
      knn_argument_ = 0;
      knn_ = {};
    }
    if (depth_ < knn_depth_) end_knn();
    if (knn_depth_ == 0) return;
    if (depth_ == knn_depth_ + 1 && token_.is_sign('(')) knn_vector_ = token_.at + 1;
    if (depth_ != knn_depth_) return;
    if (token_.is_sign(',')) {
      ++knn_argument_;
    } else if (before_.is_sign('(') && knn_argument_ == 0 && token_.names_table()) {
      knn_.attribute = token_.text;
    } else if (before_.is_sign(',') && token_.kind == SqlToken::Kind::word) {
      if (knn_argument_ == 1) knn_.k = token_.text;
      if (knn_argument_ != 1 && knn_argument_ != 2) return;
      knn_.id = token_.text;
      knn_.at = token_.at;
    }
  }

  /// Checks the numbers of a vector at its end.
  ClauseRefusal check_vector() {
    if (!knn_vector_ || depth_ != knn_depth_) return std::nullopt;
    const auto begin = *std::exchange(knn_vector_, std::nullopt);
    if (!has_exceeding_float(statement_.substr(begin, token_.at - begin))) return std::nullopt;
    return wrong_at(begin, "the vector has a number beyond the range of a float of 32 bits");
  }

  /// An only argument behind the attribute, `KNN(attribute, 7)`, is the document's id.
  void end_knn() {
    knn_depth_ = 0;
    knn_vector_.reset();
    knn_.end = token_.text;
    const auto k = knn_.k;
    if (knn_argument_ == 1) knn_.k = {};
    out_.nearest = row_count(knn_.k).value_or(0);
    if (!knn_.id.empty() && (knn_.k.empty() || knn_.id.data() != k.data()))
      out_.knn_document = knn_;
  }

  void close() {
    place_.end = out_.tokens.size();
    places_.push_back(place_);
  }

  /// Ends the present clause and reads the keywords of the next one.
  ClauseRefusal start(ClausePart part) {
    const auto keyword = token_;
    close();
    const bool swapped = place_.part == ClausePart::having && part == ClausePart::within;
    if ((part < place_.part && !swapped) || (seen(part) && part != ClausePart::facet))
      return wrong_at(keyword.at,
                      fmt::format("{} is given twice or out of order, which is: WHERE, GROUP BY, "
                                  "WITHIN GROUP ORDER BY, HAVING, ORDER BY, LIMIT, OPTION, FACET",
                                  keyword.text));
    place_ = {part, keyword.at, out_.tokens.size(), 0};
    if (part == ClausePart::within) return expect({"group", "order", "by"});
    if (part == ClausePart::order) return expect({"by"});
    if (part == ClausePart::group) return read_group();
    return std::nullopt;
  }

  bool seen(ClausePart part) const {
    for (const auto& place : places_)
      if (place.part == part) return true;
    return false;
  }

  ClauseRefusal expect(std::initializer_list<std::string_view> words) {
    for (const auto word : words) {
      step();
      if (!token_.is_word(word)) return wrong_at(token_.at, fmt::format("expected {} here", word));
    }
    return std::nullopt;
  }

  /// `GROUP BY` or `GROUP n BY`.
  ClauseRefusal read_group() {
    step();
    if (token_.is_word("by")) return std::nullopt;
    const auto count = row_count(token_.text);
    if (!count || *count == 0) return wrong_at(token_.at, "expected GROUP BY or GROUP n BY");
    out_.per_group = *count;
    return expect({"by"});
  }

  ClauseRefusal fill() {
    for (const auto& place : places_) {
      const auto tokens = place.in(out_.tokens);
      if (tokens.empty() && place.part != ClausePart::where)
        return wrong_at(place.at, "a clause is empty");
      if (auto refusal = fill(place, tokens)) return refusal;
    }
    if (!seen(ClausePart::from)) return wrong_at(statement_.size(), "expected FROM and a table");
    if (seen(ClausePart::where) && out_.where.empty())
      return wrong_at(statement_.size(), "WHERE has no condition");
    if (!out_.within.empty() && out_.group.empty())
      return wrong_at(out_.within.front().at, "WITHIN GROUP ORDER BY needs GROUP BY");
    return std::nullopt;
  }

  ClauseRefusal fill(const ClausePlace& place, SqlSpan tokens) {
    switch (place.part) {
      case ClausePart::items:
        out_.items = tokens;
        break;
      case ClausePart::from:
        out_.tables = tokens;
        return check_tables(tokens);
      case ClausePart::where:
        break;
      case ClausePart::group:
        out_.group = tokens;
        break;
      case ClausePart::within:
        out_.within = tokens;
        break;
      case ClausePart::having:
        out_.having = tokens;
        break;
      case ClausePart::order:
        out_.order = tokens;
        break;
      case ClausePart::limit:
        return read_window(tokens, place.at, out_.window);
      case ClausePart::options:
        out_.options = tokens;
        break;
      case ClausePart::facet: {
        out_.facets.emplace_back();
        return split_facet(tokens, place.at, out_.facets.back());
      }
    }
    return std::nullopt;
  }

  /// Names with commas between them; the statement for a shard has a mirror's names in their place.
  static ClauseRefusal check_tables(SqlSpan tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto& token = tokens[i];
      if (i % 2 == 1 && !token.is_sign(','))
        return wrong_at(token.at, "expected a comma or the end of FROM");
      if (i % 2 == 0 && (!token.names_table() || token.text == "``"))
        return wrong_at(token.at, "expected the name of a table");
    }
    if (tokens.size() % 2 == 0)
      return wrong_at(tokens.back().at, "expected the name of a table behind the comma");
    return std::nullopt;
  }

  std::string_view statement_;
  SqlTokens tokens_;
  SqlToken token_;
  SqlToken before_;
  int depth_ = 0;
  int knn_depth_ = 0;  // of the brackets of KNN(); 0: not within them
  int knn_argument_ = 0;
  std::optional<std::size_t> knn_vector_;  // where the numbers of the open vector begin
  KnnByDocument knn_;                      // as far as it was read
  ClausePlace place_;
  std::vector<ClausePlace> places_;
  SelectClauses out_;
};

}  // namespace

std::expected<SelectClauses, ClientError> split_select(std::string_view statement) {
  return ClauseReader(statement).run();
}

}  // namespace karmad
