#include "config/text/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "config/text/closest.hpp"
#include "config/text/expand.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

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
    if (entries_ > kMostEntries)
      return problem(section.at,
                     fmt::format("more than {} settings, with what is inherited", kMostEntries));
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
      if (!own.contains(entry.key)) all.push_back(entry);
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

Tree parse(const std::string& path, FileKind kind, const Environment& environment, Repeats repeats,
           Problems& problems) {
  return Parser(environment, repeats, problems).run(path, kind);
}

}  // namespace karmad
