#include "agent/dialect/manticore_sql/call/call_statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "agent/dialect/manticore_sql/sql_tokens.hpp"
#include "config/text/enum_names.hpp"
#include "config/text/whole_number.hpp"

namespace karmad {
namespace {

using Refusal = std::optional<ClientError>;

constexpr auto kProcedures = enum_names<CallKind>({{CallKind::pq, "pq"},
                                                   {CallKind::suggest, "suggest"},
                                                   {CallKind::qsuggest, "qsuggest"},
                                                   {CallKind::keywords, "keywords"},
                                                   {CallKind::snippets, "snippets"},
                                                   {CallKind::autocomplete, "autocomplete"}});

/// Bounds the memory of a statement's options.
constexpr std::size_t kMostArguments = 1000;
constexpr std::size_t kLongestTable = 1024;

std::string in_lower_case(std::string_view word) {
  std::string lower(word);
  for (auto& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return lower;
}

/// One argument: its first token, where it ends, and its name as an option.
struct Argument {
  SqlToken first;
  std::size_t end = 0;
  bool single = true;  ///< one token only
  bool as = false;     ///< AS stands before the name
  std::string name;    ///< empty: none
};

bool only_has(std::string_view text, std::string_view bytes) {
  return text.find_first_not_of(bytes) == text.npos;
}

/// Whether the search server's helper for AUTOCOMPLETE, which searches the statement by a pattern
/// that knows no grammar, surely reads the argument as karmad does.
bool is_plain(const Argument& argument, bool is_query) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyz_0123456789";
  if (!argument.single || !only_has(argument.name, kOfNames)) return false;
  if (argument.as != !argument.name.empty()) return false;
  const auto text = argument.first.text;
  if (argument.first.kind != SqlToken::Kind::quoted) return argument.as && only_has(text, kDigits);
  for (auto at = text.find('\\'); at != text.npos; at = text.find('\\', at + 2))
    if (!is_query || text[at + 1] != '\'') return false;
  return text.front() == '\'';
}

class CallReader {
 public:
  explicit CallReader(std::string_view statement) : statement_(statement), tokens_(statement) {
    step();
  }

  std::expected<CallStatement, ClientError> run() {
    auto refusal = read_procedure();
    if (!refusal) refusal = read_arguments();
    if (!refusal) refusal = read_end();
    if (!refusal) refusal = find_table();
    if (!refusal && call_.kind == CallKind::autocomplete) refusal = refuse_ambiguous();
    if (refusal) return std::unexpected(*std::move(refusal));
    for (auto& argument : arguments_)
      if (!argument.name.empty())
        call_.options.push_back({std::move(argument.name), argument.first.at, argument.end});
    return std::move(call_);
  }

 private:
  void step() { token_ = tokens_.next(); }

  Refusal expected(std::string_view what) const {
    if (auto trouble = token_.trouble()) return ClientError{400, *std::move(trouble)};
    return ClientError{400, fmt::format("CALL: expected {} at offset {}", what, token_.at)};
  }
  bool in_trouble() const { return token_.trouble() || token_.kind == SqlToken::Kind::end; }

  Refusal read_procedure() {
    if (!token_.is_word("call")) return expected("CALL");
    step();
    const auto kind = token_.kind == SqlToken::Kind::word
                          ? kProcedures.find(in_lower_case(token_.text))
                          : std::nullopt;
    if (!kind) return expected("one of PQ, SUGGEST, QSUGGEST, KEYWORDS, SNIPPETS and AUTOCOMPLETE");
    call_.kind = *kind;
    step();
    if (!token_.is_sign('(')) return expected("(");
    step();
    return std::nullopt;
  }

  Refusal read_arguments() {
    for (bool more = !token_.is_sign(')'); more;) {
      if (arguments_.size() == kMostArguments)
        return ClientError{400, fmt::format("CALL with more than {} arguments", kMostArguments)};
      if (auto refusal = read_argument()) return refusal;
      more = token_.is_sign(',');
      if (!more && !token_.is_sign(')')) return expected(", or )");
      if (more) step();
    }
    call_.arguments_end = token_.at;
    step();
    return std::nullopt;
  }

  /// A value, a list of values in brackets, and a name behind it. Options follow the arguments, as
  /// in the engine: another order would let it count the arguments differently.
  Refusal read_argument() {
    Argument argument{.first = token_};
    if (token_.is_sign('(')) {
      argument.single = false;
      for (step(); !token_.is_sign(')'); step())
        if (in_trouble() || token_.is_sign('(')) return expected(")");
    } else if (in_trouble() || token_.is_sign(',') || token_.is_sign(')') || token_.is_sign(';')) {
      return expected("an argument");
    } else if (token_.is_sign('-')) {  // of a negative number
      argument.single = false;
      step();
      if (token_.kind != SqlToken::Kind::word) return expected("a number");
    }
    argument.end = token_.at + token_.text.size();
    step();
    argument.as = token_.is_word("as");
    if (argument.as) step();
    if (token_.kind == SqlToken::Kind::word) {
      argument.name = in_lower_case(token_.text);
      if (argument.name == "table" || argument.name == "index") return refuse_table_option();
      step();
    } else if (argument.as) {
      return expected("the name of an option");
    } else if (!arguments_.empty() && !arguments_.back().name.empty()) {
      return expected("AS and the name of an option");
    }
    arguments_.push_back(std::move(argument));
    return std::nullopt;
  }

  Refusal refuse_table_option() const {
    return ClientError{
        400, fmt::format("CALL: no option {} (at offset {}); the table of CALL {} is argument {}",
                         token_.text, token_.at, kProcedures[call_.kind], place_of_table() + 1)};
  }

  Refusal refuse_ambiguous() const {
    auto wrong = std::min(statement_.find('"'), statement_.find("/*"));
    for (const auto& argument : arguments_)
      if (!is_plain(argument, &argument == &arguments_.front()))
        wrong = std::min(wrong, argument.first.at);
    if (wrong == statement_.npos) return std::nullopt;
    return ClientError{
        400, fmt::format("CALL AUTOCOMPLETE: write each argument as 'text' and each option as "
                         "number AS name or 'text' AS name, without double quotes, comments and "
                         "backslashes other than \\' in the first text (see offset {})",
                         wrong)};
  }

  Refusal read_end() {
    if (token_.is_sign(';')) step();
    if (token_.kind != SqlToken::Kind::end) return expected("the end of the statement");
    return std::nullopt;
  }

  std::size_t place_of_table() const { return call_.kind == CallKind::pq ? 0 : 1; }

  Refusal find_table() {
    const auto place = place_of_table();
    if (place >= arguments_.size() || !arguments_[place].name.empty())
      return ClientError{400, fmt::format("CALL {} needs the name of a table as argument {}",
                                          kProcedures[call_.kind], place + 1)};
    const auto& argument = arguments_[place];
    const auto& text = argument.first.text;
    const bool names = argument.single && argument.first.kind == SqlToken::Kind::quoted &&
                       text.size() > 2 && text.size() <= kLongestTable &&
                       text.find('\\') == text.npos;
    if (!names)
      return ClientError{400,
                         fmt::format("CALL {}: the table at offset {} must be a name in quotes",
                                     kProcedures[call_.kind], argument.first.at)};
    call_.table = text.substr(1, text.size() - 2);
    if (call_.table.find(',') != std::string::npos)
      return ClientError{400, fmt::format("CALL {}: '{}' names several tables; ask one",
                                          kProcedures[call_.kind], call_.table)};
    call_.table_begin = argument.first.at;
    call_.table_end = argument.end;
    return std::nullopt;
  }

  std::string_view statement_;
  SqlTokens tokens_;
  SqlToken token_;
  CallStatement call_;
  std::vector<Argument> arguments_;
};

}  // namespace

const CallOption* CallStatement::option(std::string_view name) const {
  const auto found = std::ranges::find(options, name, &CallOption::name);
  return found == options.end() ? nullptr : &*found;
}

std::expected<CallStatement, ClientError> read_call_statement(std::string_view statement) {
  return CallReader(statement).run();
}

std::expected<std::size_t, ClientError> count_option(const CallStatement& call,
                                                     std::string_view statement,
                                                     std::string_view name, std::size_t otherwise) {
  const auto* const option = call.option(name);
  if (option == nullptr) return otherwise;
  auto text = statement.substr(option->begin, option->end - option->begin);
  if (text.size() > 2 && (text.front() == '\'' || text.front() == '"'))
    text = text.substr(1, text.size() - 2);
  const auto value = whole_number<std::uint32_t>(text);
  if (!value)
    return std::unexpected(ClientError{
        400, fmt::format("CALL: {} at offset {} must be a number", name, option->begin)});
  return *value;
}

}  // namespace karmad
