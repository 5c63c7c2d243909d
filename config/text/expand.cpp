#include "config/text/expand.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad {

namespace {

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

class Expander {
 public:
  Expander(const std::string& file, std::string_view text, const VariableLookup& environment,
           std::size_t at_most, Problems& problems)
      : file_(file),
        text_(text),
        environment_(environment),
        at_most_(at_most),
        problems_(problems),
        out_(file) {}

  SourceText run() {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // byte order mark
    while (next_ < text_.size() && out_.size() <= at_most_ && problems_.size() < kEnoughProblems)
      step();
    if (out_.size() > at_most_)
      problem(fmt::format("with its variables the file is larger than {} bytes", at_most_));
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead) const {
    return next_ + ahead < text_.size() ? text_[next_ + ahead] : '\0';
  }
  void problem(std::string message) {
    problems_.push_back({{file_, line_, column_}, std::move(message)});
  }
  void skip(std::size_t count) {
    next_ += count;
    column_ += static_cast<unsigned>(count);
  }
  void new_line() {
    ++line_;
    column_ = 1;
  }

  void step() {
    const char c = text_[next_];
    if (c == '#') return skip(std::min(text_.find('\n', next_), text_.size()) - next_);
    if (c == '\\') return backslash();
    if (c == '$' && peek(1) == '{') return variable();
    out_.add(c, line_, column_);
    skip(1);
    if (c == '\n') new_line();
  }

  void backslash() {
    const auto line_end = peek(1) == '\r' ? 2U : 1U;
    if (peek(line_end) == '\n') {
      next_ += line_end + 1;
      return new_line();
    }
    const char c = peek(1);
    if (c == '#' || c == '{' || c == '}' || c == '$') {
      out_.add(c, line_, column_ + 1, SourceText::Role::literal);
      return skip(2);
    }
    out_.add('\\', line_, column_);
    skip(1);
  }

  /// The text for `${inside}`; nothing after a mistake.
  std::optional<std::string> value_of(std::string_view inside, std::string_view name,
                                      std::size_t split) {
    if (!is_variable_name(name)) {
      problem(fmt::format("{} is not the name of an environment variable", in_quotes(name)));
      return std::nullopt;
    }
    auto value = environment_(std::string(name));
    if ((!value || value->empty()) && split != std::string_view::npos)
      value = inside.substr(split + 2);
    if (!value) {
      problem(
          fmt::format("the environment variable {0} is not set; ${{{0}:-default}} gives it "
                      "a default",
                      name));
    } else if (value->find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
      problem(fmt::format("the value of the environment variable {} has a line break", name));
      value.reset();
    }
    return value;
  }

  void variable() {
    const auto end = text_.find_first_of("}\n", next_);
    if (end == std::string_view::npos || text_[end] == '\n') {
      problem("'${' without its '}' on the same line");
      return skip(2);
    }
    const auto inside = text_.substr(next_ + 2, end - next_ - 2);
    const auto split = inside.find(":-");
    const auto name = inside.substr(0, split);
    if (auto value = value_of(inside, name, split))
      out_.add_substituted(*value, line_, column_);
    else
      out_.add('?', line_, column_, SourceText::Role::unknown);
    skip(end + 1 - next_);
  }

  const std::string& file_;
  std::string_view text_;
  const VariableLookup& environment_;
  std::size_t at_most_;
  Problems& problems_;
  SourceText out_;
  std::size_t next_ = 0;
  unsigned line_ = 1;
  unsigned column_ = 1;
};

}  // namespace

SourceText expand(const std::string& file, std::string_view text, const VariableLookup& environment,
                  std::size_t at_most, Problems& problems) {
  return Expander(file, text, environment, at_most, problems).run();
}

}  // namespace karmad
