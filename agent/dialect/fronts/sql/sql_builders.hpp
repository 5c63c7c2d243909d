#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/dialect/request/sql_statement.hpp"

namespace karmad::sql {

/// Tokens of the reader's list, from `begin` to before `end`.
struct Range {
  std::size_t begin;
  std::size_t end;

  bool empty() const { return begin == end; }
};

/// Builds the SELECT that the grammar finds.
class SelectBuilder {
 public:
  explicit SelectBuilder(std::string_view statement) : statement_(statement) {}

  /// Looks at each token behind SELECT, before the grammar does. Refuses what no SELECT of one
  /// table can have.
  MaybeError look_at(const Token& token, bool after_tables);
  static ClientError inner_select_at(std::size_t at);
  /// Adds a token to the list of those that are kept. `depth`: of brackets, with the token's own.
  std::size_t keep(const Token& token, int depth);
  MaybeError add_table(const Token& token);
  bool is_table_end(std::size_t at) const { return out_.table_place.end == at; }
  bool has_several_tables() const { return out_.table.find(',') != out_.table.npos; }

  enum class Clause : unsigned char { items, group, within, having, order, limit, options };
  void set_clause(Clause clause, const Token& keyword, Range tokens);
  /// The n of GROUP n BY. False: it is none, and the reason is noted.
  bool set_per_group(const Token& count);
  void set_where(const Token& keyword);
  void add_condition(const Token& token, int depth);

  enum class FacetPart : unsigned char { by, distinct, order, limit };
  void begin_facet(const Token& keyword, Range items);
  void set_facet_part(FacetPart part, const Token& keyword, Range tokens);
  void end_facet();

  bool is_plannable() const { return !out_.unplannable; }
  /// The statement cannot be planned, for the first of the reasons that are given.
  void note_unplannable(ClientError why);
  void note_unplannable(std::size_t at, std::string_view what) {
    note_unplannable(wrong_at(at, what));
  }
  /// `end`: offset of the end.
  OrError<Select> finish(bool has_from, int open_brackets, std::size_t end);

 private:
  struct Facet {
    std::size_t at = 0;
    Range items{};
    std::array<Range, 4> parts{};
    std::array<bool, 4> given{};
  };
  void read_knn(const Token& token, int depth);
  void end_knn(const Token& token);
  void check_vector(const Token& token, int depth);
  MaybeError read_option(const Token& number);
  MaybeError refuse_ambiguous_fuzzy() const;
  /// A reason within a clause, which counts if the words of the statement are in order.
  void note_late(std::size_t at, ClientError why);
  Span span(Range range) const {
    return Span(out_.tokens).subspan(range.begin, range.end - range.begin);
  }
  void fill();

  std::string_view statement_;
  Select out_;
  std::array<Range, 7> clauses_{};
  std::vector<Facet> facets_;
  bool too_many_facets_ = false;  ///< the present one is not kept
  std::array<Token, 3> before_;   ///< the tokens behind SELECT, the last one first
  bool has_options_ = false;
  bool names_other_ = false;  ///< has the word FROM or JOIN, within brackets too
  bool has_where_ = false;
  std::size_t sign_in_text_ = std::string_view::npos;
  Token before_condition_;
  int knn_depth_ = 0;  ///< of the brackets of KNN(); 0: not within them
  int knn_argument_ = 0;
  std::optional<std::size_t> knn_vector_;  ///< where the numbers of the open vector begin
  KnnByDocument knn_;                      ///< as far as it was read
  std::optional<std::pair<std::size_t, ClientError>> late_;
};

/// Builds the INSERT, REPLACE, UPDATE or DELETE that the grammar finds.
class ChangeBuilder {
 public:
  void begin(ChangeStatement::Verb verb, std::string_view before_table) {
    out_.verb = verb;
    before_table_ = before_table;
  }
  bool has_verb() const { return !before_table_.empty(); }
  MaybeError set_table(const Token& name);
  bool has_table() const { return !out_.table.empty(); }
  bool is_table_end(std::size_t at) const { return out_.table_place.end == at; }
  MaybeError no_table_at(std::size_t at) const;
  MaybeError after_table(const Token& token) const;

  void begin_columns(const Token& bracket);
  MaybeError add_column(const Token& name);
  void end_columns();
  void begin_row(const Token& bracket);
  /// `nested`: within further brackets.
  void add_value(const Token& token, bool nested);
  void end_row(const Token& bracket);
  /// The statement has another form than rows of values: its ids are not known.
  void set_other_form(std::string why);

  /// Looks at each token of UPDATE and DELETE.
  MaybeError look_at(const Token& token);
  ChangeStatement finish();
  bool makes_documents() const { return out_.makes_documents(); }
  bool updates() const { return out_.verb == ChangeStatement::Verb::update; }

 private:
  static constexpr std::size_t kFewTokens = 5;

  ChangeStatement out_;
  std::string_view before_table_;
  std::size_t columns_at_ = 0;
  std::size_t columns_ = 0;
  std::optional<std::size_t> id_column_ = 0;
  std::size_t column_ = 0;
  std::vector<Token> id_value_;
  bool in_where_ = false;
  std::vector<Token> where_;  ///< a few of its tokens
};

/// Builds the CALL that the grammar finds.
class CallBuilder {
 public:
  MaybeError begin_argument();
  /// False: there is no such procedure.
  bool set_procedure(const Token& name);
  void add_argument(const Token& value);
  /// The minus of a number, whose digits come as the argument.
  void set_negative(const Token& minus) { minus_ = minus; }
  /// A token of a list in brackets. False: it cannot be there.
  bool add_listed(const Token& token);
  MaybeError set_name(const Token& name, bool as);
  /// False: the argument before has a name, so this one needs one too.
  bool end_unnamed() const;
  void end_arguments(const Token& bracket) { out_.arguments_end = bracket.at; }
  OrError<CallStatement> finish(std::string_view statement);

 private:
  /// One argument: its first token, where it ends, and its name as an option.
  struct Argument {
    Token first;
    std::size_t end = 0;
    bool single = true;  ///< one token only
    bool as = false;     ///< AS stands before the name
    std::string name;    ///< empty: none
  };
  static bool is_plain(const Argument& argument, bool is_query);
  std::size_t place_of_table() const { return out_.kind == CallKind::pq ? 0 : 1; }
  MaybeError find_table();
  MaybeError refuse_ambiguous(std::string_view statement) const;

  CallStatement out_;
  std::vector<Argument> arguments_;
  std::optional<Token> minus_;
  bool has_list_ = false;  ///< the present argument is a list
};

/// The assignments of a SET, whatever their variables and values are. Refused, with the reason:
/// those of a server (GLOBAL, PERSIST), and what is no assignment. `tokens`: those behind SET.
OrError<SessionStatement> read_settings(Span tokens);

/// Reads BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT and RELEASE SAVEPOINT, or says why
/// it is none. `rest`: the tokens behind `verb`.
OrError<SessionStatement> read_transaction(const Token& verb, Span rest);

/// Reads `KILL [CONNECTION | QUERY] number`. `rest`: the tokens behind KILL.
OrError<SessionStatement> read_kill(Span rest);

}  // namespace karmad::sql
