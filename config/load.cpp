#include "config/load.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "config/check.hpp"
#include "config/read.hpp"
#include "config/text/parse.hpp"

namespace karmad {

namespace {

/// Sorts by file, in order of their first problem, then by place; removes duplicates.
void put_in_order(Problems& problems) {
  std::map<std::string, std::size_t> files;
  for (const auto& problem : problems) files.emplace(problem.at.file, files.size());
  const auto key = [&](const Problem& problem) {
    return std::tuple(files.at(problem.at.file), problem.at.line, problem.at.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return key(a) < key(b); });
  std::set<std::string> known;
  std::erase_if(problems,
                [&](const Problem& problem) { return !known.insert(text(problem)).second; });
}

}  // namespace

Loaded load(const std::string& path, const Environment& environment, FileKind kind,
            const Judge& judge) {
  Loaded loaded;
  const auto tree = parse(path, kind, environment, repeats, loaded.problems);
  std::vector<InstanceSettings> repeated;
  auto settings = read(tree, loaded.problems, repeated);
  auto notices = std::move(settings.notices);
  const auto host = environment.this_host ? environment.this_host() : ThisHost();
  for (auto& again : repeated) {
    Settings alone;
    alone.searchd = std::move(again);
    check(alone, host, loaded.problems, notices);
  }
  check(settings, host, loaded.problems, notices);
  if (judge) judge(settings, loaded.problems, notices);
  settings.notices = std::move(notices);
  put_in_order(loaded.problems);
  put_in_order(settings.notices);
  if (loaded.problems.size() > kEnoughProblems) {
    loaded.problems.erase(loaded.problems.begin() + kEnoughProblems, loaded.problems.end());
    loaded.problems.emplace_back().message = "there are more problems, which are not listed";
  }
  if (loaded.problems.empty()) loaded.settings = std::move(settings);
  return loaded;
}

}  // namespace karmad
