#include "config/text/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "config/text/closest.hpp"

namespace karmad {
namespace {

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return is_letter(c) || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || is_digit(c); });
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
      out_.add('?', line_, column_, SourceText::Role::unknown);
      return skip(std::min(text_.find_first_of("{\\#\n", next_ + 2), text_.size()) - next_);
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

namespace fs = std::filesystem;

class Parser {
 public:
  Parser(const Environment& environment, Repeats repeats, Problems& problems)
      : environment_(environment), repeats_(repeats), problems_(problems) {}

  Tree run(const std::string& path, FileKind kind) {
    read_file(path, kind, {});
    return std::move(tree_);
  }

 private:
  void problem(Place at, std::string message) {
    problems_.push_back({std::move(at), std::move(message)});
  }

  void read_file(const std::string& path, FileKind kind, const Place& included_at) {
    if (++files_ > kMostConfigFiles)
      return problem(included_at, fmt::format("more than {} files are included", kMostConfigFiles));
    if (path.empty()) return problem(included_at, "the name of the configuration file is empty");
    const auto text = environment_.read_file(path, kLargestConfigFile, kind);
    if (!text)
      return problem(included_at, fmt::format("{} cannot be read: {}", path, text.error()));
    if (text->find('\0') != std::string::npos)
      return problem({path, 1, 1}, "this is not a text file: it contains a zero byte");
    const auto first = text->find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text->compare(first, 2, "#!") == 0) {
      const auto line =
          1 + std::count(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(first), '\n');
      return problem({path, static_cast<unsigned>(line), 1},
                     "the file is a script ('#!'): scripts are not run; run it yourself and give "
                     "its output as the configuration");
    }
    open_.push_back(path);
    const auto expanded = expand(path, *text, environment_.variable, kLargestConfigFile, problems_);
    for (auto& statement : read_sections(expanded, problems_)) {
      if (problems_.size() >= kEnoughProblems) break;
      if (const auto* include = std::get_if<Include>(&statement))
        follow(*include, path);
      else
        take(std::get<WrittenSection>(std::move(statement)));
    }
    open_.pop_back();
  }

  void follow(const Include& include, const std::string& from) {
    if (include.pattern.has_unknown()) return;
    if (open_.size() >= kDeepestInclude)
      return problem(include.at,
                     fmt::format("includes are nested more than {} deep", kDeepestInclude));
    const auto pattern = (fs::path(from).parent_path() / include.pattern.text()).string();
    auto paths = environment_.glob(pattern);
    std::sort(paths.begin(), paths.end());
    const bool is_pattern = include.pattern.text().find_first_of("*?[") != std::string::npos;
    if (paths.empty() && !is_pattern && !include.faulty)
      problem(include.at, fmt::format("the file {} does not exist", in_quotes(pattern)));
    else if (paths.empty())
      tree_.notices.push_back({include.at, fmt::format("no file matches {}", in_quotes(pattern))});
    for (const auto& found : paths) {
      const auto path = fs::path(found).lexically_normal().string();
      if (std::find(open_.begin(), open_.end(), path) != open_.end())
        problem(include.at, fmt::format("{} includes itself{}", path,
                                        path == from ? "" : fmt::format(" by way of {}", from)));
      else
        read_file(path, FileKind::regular, include.at);
    }
  }

  void take(WrittenSection written) {
    auto& section = written.section;
    const auto label = section.name.empty()
                           ? std::string(name_of(section.kind))
                           : fmt::format("{} {}", name_of(section.kind), in_quotes(section.name));
    const bool unnamed = section.name.empty() && is_named(section.kind);
    if (const auto old = known_.find(identity(section.kind, section.name)); old != known_.end()) {
      const auto& first = at(old->second);
      problem(section.at,
              fmt::format("{} is already defined in {}{}", label, text(first.at),
                          first.name == section.name
                              ? std::string()
                              : fmt::format(", as {}: names of tables are not case-sensitive",
                                            in_quotes(first.name))));
      section.repeated = true;
    }
    drop_repeated(section);
    if (!written.parent.empty()) inherit(written, label);
    entries_ += section.entries.size();
    if (entries_ > kMostConfigEntries)
      return problem(section.at, fmt::format("more than {} settings, with what is inherited",
                                             kMostConfigEntries));
    if (!unnamed) known_.emplace(identity(section.kind, section.name), tree_.sections.size());
    tree_.sections.push_back(std::move(section));
  }

  /// The identity of a section, unique per configuration. Names of tables are case-insensitive.
  static std::pair<SectionKind, std::string> identity(SectionKind kind, const std::string& name) {
    return {kind, kind == SectionKind::table ? lower(name) : name};
  }

  const Section& at(std::size_t index) const { return tree_.sections[index]; }

  void drop_repeated(Section& section) {
    std::map<std::string_view, Place> first;
    std::vector<Entry> kept;
    kept.reserve(section.entries.size());
    for (auto& entry : section.entries) {
      const auto once = !repeats_(section.kind, entry.key);
      const auto old = once ? first.find(entry.key) : first.end();
      if (old != first.end()) {
        tree_.notices.push_back(
            {entry.at, fmt::format("{} is already set in {}; that value is used", entry.key,
                                   text(old->second))});
        continue;
      }
      kept.push_back(std::move(entry));  // never reallocates, so that the views stay valid
      if (once) first.emplace(kept.back().key, kept.back().at);
    }
    section.entries = std::move(kept);
  }

  void inherit(WrittenSection& written, const std::string& label) {
    auto& section = written.section;
    auto parent = known_.find(identity(section.kind, written.parent));
    if (parent == known_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [key, index] : known_)
        if (key.first == section.kind) names.emplace_back(at(index).name);
      problem(written.parent_at,
              fmt::format("the parent {} of {} is not defined before it{}",
                          in_quotes(written.parent), label, suggestion(written.parent, names)));
      const auto meant = closest(written.parent, names);
      section.orphan = !meant;
      if (!meant) return;
      parent = known_.find(identity(section.kind, std::string(*meant)));
    }
    std::set<std::string_view> own;
    for (const auto& entry : section.entries) own.insert(entry.key);
    std::vector<Entry> all;
    for (const auto& entry : at(parent->second).entries)
      if (!own.contains(entry.key)) ++all.emplace_back(entry).generation;
    for (auto& entry : section.entries) all.push_back(std::move(entry));
    section.entries = std::move(all);
  }

  const Environment& environment_;
  Repeats repeats_;
  Problems& problems_;
  Tree tree_;
  std::map<std::pair<SectionKind, std::string>, std::size_t> known_;
  std::vector<std::string> open_;  // the files being read, each included by the previous one
  std::size_t files_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace

SourceText expand(const std::string& file, std::string_view text, const VariableLookup& environment,
                  std::size_t at_most, Problems& problems) {
  return Expander(file, text, environment, at_most, problems).run();
}

Tree parse(const std::string& path, FileKind kind, const Environment& environment, Repeats repeats,
           Problems& problems) {
  return Parser(environment, repeats, problems).run(path, kind);
}

}  // namespace karmad
