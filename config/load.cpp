#include "config/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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

/// Keeps one of the notices that differ in their place only, if they are more than a few: a setting
/// without effect in each of a thousand tables is one message.
void fold_repeated(Problems& notices) {
  constexpr std::size_t kFew = 3;
  std::map<std::pair<std::string_view, Problem::Severity>, std::vector<const Problem*>> equal;
  for (const auto& notice : notices) equal[{notice.message, notice.severity}].push_back(&notice);
  Problems folded;
  for (const auto& notice : notices) {
    const auto& places = equal[{notice.message, notice.severity}];
    if (places.size() > kFew && places.front() != &notice) continue;
    folded.push_back(notice);
    if (places.size() > kFew)
      folded.back().message +=
          fmt::format("; also in {} more places, such as {} and {}", places.size() - 1,
                      text(places[1]->at), text(places[2]->at));
  }
  notices = std::move(folded);
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
  fold_repeated(settings.notices);
  if (loaded.problems.size() > kEnoughProblems) {
    loaded.problems.erase(loaded.problems.begin() + kEnoughProblems, loaded.problems.end());
    loaded.problems.emplace_back().message = "there are more problems, which are not listed";
  }
  if (loaded.problems.empty()) loaded.settings = std::move(settings);
  return loaded;
}

}  // namespace karmad
