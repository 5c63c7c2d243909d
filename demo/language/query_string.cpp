#include "demo/language/query_string.hpp"

#include "demo/data/text.hpp"

namespace karmad::demo {

namespace {

constexpr unsigned kMaxNesting = 100;

/// sequence = either { [operator] either };  either = item { "|" item }
class QueryStringReader {
 public:
  QueryStringReader(std::string_view text, std::string_view table, Complaint& complaint)
      : text_(text), table_(table), complaint_(complaint) {}

  Query read() {
    auto query = sequence(0);
    if (!at_end()) wrong(text_.substr(at_, 1), text_.substr(at_));
    return query;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_blanks() {
    while (!at_end() && (static_cast<unsigned char>(peek()) <= ' ' || is_filler(peek()))) ++at_;
  }
  static bool is_filler(char c) {
    return std::string_view(",.;:?'*+/=[]{}>#%&_\\").find(c) != std::string_view::npos;
  }

  void refuse(std::string_view why) {
    complaint_.say(500, "table {}: query error: {}", table_, why);
  }

  void wrong(std::string_view unexpected, std::string_view near) {
    complaint_.say(500, "table {}: query error: P08: syntax error, unexpected {} near '{}'", table_,
                   unexpected, near);
    at_ = text_.size();
  }

  Query sequence(unsigned depth) {
    Combination all;
    for (skip_blanks(); !at_end() && peek() != ')'; skip_blanks()) {
      if (peek() == '@') {
        limit_fields();
      } else if (peek() == '-' || peek() == '!') {
        ++at_;
        skip_blanks();
        all.must_not.push_back(either(depth));
      } else if (auto operation = take_operator(); operation.empty() || all.must.empty()) {
        all.must.push_back(either(depth));
      } else {
        auto left = std::move(all.must.back());
        all.must.back() = joined(operation, std::move(left), either(depth));
      }
    }
    if (all.must.empty() && all.must_not.empty()) return {Everything{}};
    if (all.must.size() == 1 && all.must_not.empty()) return std::move(all.must[0]);
    if (all.must.empty()) refuse("query is non-computable (single NOT operator)");
    return {std::move(all)};
  }

  Query either(unsigned depth) {
    Combination either;
    either.should.push_back(item(depth));
    for (skip_blanks(); peek() == '|'; skip_blanks()) {
      ++at_;
      skip_blanks();
      either.should.push_back(item(depth));
    }
    if (either.should.size() == 1) return std::move(either.should[0]);
    return {std::move(either)};
  }

  /// "<<", "MAYBE" or "NEAR/3" between two items; empty: there is none.
  std::string take_operator() {
    const auto end = std::min(text_.find_first_of(" \t\n", at_), text_.size());
    const auto word = text_.substr(at_, end - at_);
    if (word != "<<" && word != "MAYBE" && !word.starts_with("NEAR/")) return {};
    at_ = end;
    skip_blanks();
    return std::string(word);
  }

  Query joined(std::string_view operation, Query left, Query right) {
    if (operation == "MAYBE") {
      Combination out;
      out.must.push_back(std::move(left));
      out.should.push_back(std::move(right));
      return {std::move(out)};
    }
    const auto* first = std::get_if<Words>(&left.is);
    const auto* second = std::get_if<Words>(&right.is);
    if (first == nullptr || second == nullptr) {
      wrong(operation, "is beyond the demo agent, except between words");
      return {Everything{}};
    }
    Phrase out{first->fields, first->words};
    out.words.insert(out.words.end(), second->words.begin(), second->words.end());
    out.kind = operation == "<<" ? Phrase::Kind::before : Phrase::Kind::near;
    if (operation != "<<") out.number = number_of<std::uint32_t>(operation.substr(5)).value_or(1);
    return {std::move(out)};
  }

  Query item(unsigned depth) {
    if (peek() == '(') return group(depth);
    if (peek() == '"') return phrase();
    const auto begin = at_;
    while (!at_end() && static_cast<unsigned char>(peek()) > ' ' &&
           std::string_view("|()\"@!").find(peek()) == std::string_view::npos)
      ++at_;
    if (at_ == begin) {
      wrong(at_end() ? "$end" : text_.substr(at_, 1), text_.substr(at_));
      return {Everything{}};
    }
    const auto text = text_.substr(begin, at_ - begin);
    return {Words{fields_, words(text), true, text.starts_with('^')}};
  }

  Query group(unsigned depth) {
    ++at_;
    if (depth >= kMaxNesting) {
      wrong("'('", "too many groups");
      return {Everything{}};
    }
    auto inner = sequence(depth + 1);
    if (peek() != ')') {
      wrong("$end", "");
    } else {
      ++at_;
    }
    return inner;
  }

  Query phrase() {
    const auto end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) {
      wrong("$end", "");
      return {Everything{}};
    }
    auto inside = words(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    Phrase out{fields_, std::move(inside)};
    if (peek() == '~' || peek() == '/') {
      out.kind = peek() == '~' ? Phrase::Kind::proximity : Phrase::Kind::quorum;
      const auto after = text_.substr(at_ + 1);
      const auto digits = after.substr(0, after.find_first_not_of("0123456789"));
      out.number = number_of<std::uint32_t>(digits).value_or(1);
      at_ += 1 + digits.size();
    }
    return {std::move(out)};
  }

  void limit_fields() {
    auto begin = ++at_;
    auto end = text_.find_first_of(" \t\n)|\"", begin);
    if (peek() == '(') {
      begin = at_ + 1;
      end = text_.find(')', begin);
    }
    if (end == std::string_view::npos) end = text_.size();
    fields_ = read_fields(text_.substr(begin, end - begin), table_, complaint_);
    at_ = end;
    if (peek() == ')' && begin > 0 && text_[begin - 1] == '(') ++at_;
  }

  std::string_view text_;
  std::string_view table_;
  Complaint& complaint_;
  std::size_t at_ = 0;
  Fields fields_ = Fields::all();
};

}  // namespace

Query read_query_string(std::string_view text, std::string_view table, Complaint& complaint) {
  return QueryStringReader{text, table, complaint}.read();
}

Fields read_fields(std::string_view names, std::string_view table, Complaint& complaint) {
  Fields out;
  while (!names.empty()) {
    const auto comma = names.find(',');
    auto name = names.substr(0, comma);
    names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name == "*" || name == "_all") return Fields::all();
    if (name == "title") {
      out.title = true;
    } else if (name == "body") {
      out.body = true;
    } else {
      complaint.say(500, "table {}: query error: no field '{}' found in schema", table, name);
    }
  }
  return out;
}

}  // namespace karmad::demo
