#include "config/text/parse.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

struct Parsed {
  Tree tree;
  Lines problems;
};

// Lists are the keys that begin with `list`.
Parsed parsed(Files files, const Variables& variables = {}) {
  Problems problems;
  auto tree = parse(
      "c", FileKind::any, world(std::move(files), variables),
      [](SectionKind, std::string_view key) { return key.starts_with("list"); }, problems);
  return {std::move(tree), lines(problems)};
}
Parsed parsed(std::string text, const Variables& variables = {}) {
  return parsed(Files{{"c", std::move(text)}}, variables);
}

/// `kind name: key=value …`, one line per section.
Lines outline(const Tree& tree) {
  Lines out;
  for (const auto& section : tree.sections) {
    auto line = fmt::format("{} {}:", name_of(section.kind), section.name);
    for (const auto& entry : section.entries)
      line += fmt::format(" {}={}", entry.key, entry.value.text());
    out.push_back(line);
  }
  return out;
}

TEST(Parse, ReadsSectionsInAnyLayout) {
  const auto result = parsed(
      "searchd {\n listen = 9308\n}\n"
      "source s\n{\n x = y = z\n}\n"
      "index a{\n}\n"
      "common{}indexer{ }\n"
      "table b : a\n{\n  k=v\n}\n");
  EXPECT_EQ(result.problems, Lines{});
  EXPECT_EQ(outline(result.tree), (Lines{"searchd : listen=9308", "source s: x=y = z",
                                         "table a:", "common :", "indexer :", "table b: k=v"}));
}

TEST(Parse, TakesWordsInAnyCase) {
  EXPECT_EQ(outline(parsed("INDEX Name {\n TYPE = Distributed\n}").tree),
            Lines{"table Name: type=Distributed"});
}

TEST(Parse, ClosesTheSectionAtABraceOnAValuesLine) {
  EXPECT_EQ(outline(parsed("table a { k = h:9312:t }\ntable b { k = v }").tree),
            (Lines{"table a: k=h:9312:t", "table b: k=v"}));
}

TEST(Parse, LetsAValueHaveBalancedBracesVariablesAndEscapedOnes) {
  EXPECT_EQ(outline(parsed("table a { k = {x{y}} }").tree), Lines{"table a: k={x{y}}"});
  EXPECT_EQ(outline(parsed("table a { k = ${V} }", {{"V", "}"}}).tree), Lines{"table a: k=}"});
  EXPECT_EQ(outline(parsed("table a { k = \\} }").tree), Lines{"table a: k=}"});
  EXPECT_EQ(outline(parsed("table a {\n k = {\n}").tree), Lines{"table a: k={"});
}

TEST(Parse, KnowsThePlacesOfKeysAndValues) {
  const auto result = parsed("# x\nsearchd {\n  key =  a \\\n  b\n}");
  ASSERT_EQ(result.tree.sections.size(), 1U);
  const auto& section = result.tree.sections[0];
  const auto& entry = section.entries.at(0);
  EXPECT_EQ(section.at, (Place{"c", 2, 1}));
  EXPECT_EQ(entry.at, (Place{"c", 3, 3}));
  EXPECT_EQ(entry.value.place(0), (Place{"c", 3, 10}));
  EXPECT_EQ(entry.value.text(), "a   b");
  EXPECT_EQ(entry.value.place(4), (Place{"c", 4, 3}));
}

TEST(Parse, AccumulatesListsAndKeepsTheFirstOfOtherKeys) {
  const auto result = parsed("table a {\n list = 1\n k = 1\n list = 2\n k = 2\n}");
  EXPECT_EQ(outline(result.tree), Lines{"table a: list=1 k=1 list=2"});
  EXPECT_EQ(result.problems, Lines{});
  EXPECT_EQ(lines(result.tree.notices),
            Lines{"c:5:2: k is already set in c:3:2; that value is used"});
}

TEST(Parse, InheritsEverythingAChildDoesNotSet) {
  EXPECT_EQ(outline(parsed("table a {\n list = 1\n list = 2\n k = 1\n}\n"
                           "table b : a {\n list = 3\n}\n"
                           "table c:b{\n k = 2\n}")
                        .tree),
            (Lines{"table a: list=1 list=2 k=1", "table b: k=1 list=3", "table c: list=3 k=2"}));
}

TEST(Parse, ReportsMistakesWithTheirPlaceAndGoesOn) {
  struct {
    const char* text;
    Lines problems;
  } const cases[] = {
      {"tabel a {\n k = v\n}", {"c:1:1: unknown section 'tabel'; did you mean 'table'?"}},
      {"foo {\n a = 1\n}", {"c:1:1: unknown section 'foo'"}},
      {"searchd {\n}\nhedge = p95\ntabel = x\n",
       {"c:3:1: 'hedge' stands outside of a section: settings belong between the braces of "
        "searchd or of a table",
        "c:4:1: 'tabel' stands outside of a section: settings belong between the braces of "
        "searchd or of a table"}},
      {"table {\n}", {"c:1:7: expected the name of the table, found '{'"}},
      {"table my-table.x {\n k = v\n}", {"c:1:15: expected ':' or '{', found '.'"}},
      {"table täble {\n}", {"c:1:8: expected ':' or '{', found 'ä'"}},
      {"table 表 {\n}", {"c:1:7: expected the name of the table, found '表'"}},
      {"searchd x {\n}", {"c:1:1: section searchd has no name: expected '{', found 'x'"}},
      {"table a : {\n}", {"c:1:11: expected the name of the parent, found '{'"}},
      {"table a\n k = v\n}", {"c:1:8: expected ':' or '{', found the end of the line"}},
      {"table a {\n k = v\n", {"c:3:1: the closing '}' of the section table in line 1 is missing"}},
      {"table a {\n k = v\ntable b {\n}",
       {"c:3:1: a section begins inside the section table: the closing '}' of line 1's '{' is "
        "missing"}},
      {"table a {\n k\n}", {"c:2:3: expected '=' after 'k', found the end of the line"}},
      {"table a {\n k v\n}", {"c:2:4: expected '=' after 'k', found 'v'"}},
      {"table a {\n = v\n}", {"c:2:2: expected a key or '}', found '='"}},
      {"}", {"c:1:1: expected a section such as searchd or table, found '}'"}},
      {"table a {\n}\nindex a {\n}", {"c:3:1: table 'a' is already defined in c:1:1"}},
      {"table Products {\n}\ntable products {\n}",
       {"c:3:1: table 'products' is already defined in c:1:1, as 'Products': names of tables are "
        "not case-sensitive"}},
      {"searchd {\n}\nsearchd {\n}", {"c:3:1: searchd is already defined in c:1:1"}},
      {"table alpha {\n}\ntable b : alhpa {\n}",
       {"c:3:11: the parent 'alhpa' of table 'b' is not defined before it; did you mean 'alpha'?"}},
      {"source a {\n}\ntable b : a {\n}",
       {"c:3:11: the parent 'a' of table 'b' is not defined before it"}},
      {"table b : b {\n}", {"c:1:11: the parent 'b' of table 'b' is not defined before it"}},
      {"foo {\n a\n}\ntable b : zz {\n}",
       {"c:1:1: unknown section 'foo'", "c:2:3: expected '=' after 'a', found the end of the line",
        "c:4:11: the parent 'zz' of table 'b' is not defined before it"}},
  };
  for (const auto& c : cases) EXPECT_EQ(parsed(c.text).problems, c.problems) << c.text;
}

TEST(Parse, RefusesScriptsAndBinaryFiles) {
  EXPECT_EQ(
      parsed(" \n#!/bin/sh\necho").problems,
      Lines{"c:2:1: the file is a script ('#!'): scripts are not run; run it yourself and give "
            "its output as the configuration"});
  EXPECT_EQ(parsed(std::string("a\0b", 3)).problems,
            Lines{"c:1:1: this is not a text file: it contains a zero byte"});
  EXPECT_EQ(parsed("# !no script\n#!x").problems, Lines{}) << "only the first bytes count";
}

TEST(Parse, ReportsAFileThatCannotBeRead) {
  EXPECT_EQ(parsed(Files{}).problems, Lines{"c cannot be read: No such file or directory"});
  const auto large = parsed(std::string(kLargestConfigFile + 1, '#'));
  EXPECT_TRUE(mentions(large.problems, "c cannot be read"));
}

TEST(Include, ReadsMatchingFilesInOrderRelativeToTheIncludingOne) {
  const auto result = parsed(Files{{"c", "include = d/*.conf\ntable z : b {\n}"},
                                   {"d/2.conf", "table b : a {\n}"},
                                   {"d/1.conf", "include = e/x\n"},
                                   {"d/e/x", "table a {\n k = v\n}"},
                                   {"d/other", "nonsense"}});
  EXPECT_EQ(result.problems, Lines{});
  EXPECT_EQ(outline(result.tree), (Lines{"table a: k=v", "table b: k=v", "table z: k=v"}));
  EXPECT_EQ(result.tree.sections[2].entries[0].at, (Place{"d/e/x", 2, 2}));
}

TEST(Include, SubstitutesVariablesInItsPattern) {
  const auto result = parsed(Files{{"c", "include = ${DIR:-d}/x"}, {"d/x", "common {\n}"}});
  EXPECT_EQ(outline(result.tree), Lines{"common :"});
}

TEST(Include, GivesANoticeWhenNothingMatches) {
  const auto result = parsed("include = none/*.conf");
  EXPECT_EQ(result.problems, Lines{});
  EXPECT_EQ(lines(result.tree.notices), Lines{"c:1:1: no file matches 'none/*.conf'"});
}

TEST(Include, RefusesCycles) {
  EXPECT_EQ(parsed("include = c").problems, Lines{"c:1:1: c includes itself"});
  EXPECT_EQ(
      parsed(Files{{"c", "include = d/a"}, {"d/a", "include = ../c"}, {"d/../c", ""}}).problems,
      Lines{"d/a:1:1: c includes itself by way of d/a"});
}

TEST(Include, StandsOutsideOfSections) {
  EXPECT_EQ(parsed("table a {\n include = x\n}").problems,
            Lines{"c:2:2: include belongs outside of sections"});
  EXPECT_EQ(parsed("include x").problems, Lines{"c:1:9: expected '=' after include, found 'x'"});
  EXPECT_EQ(parsed("include = # none").problems, Lines{"c:1:1: include names no file"});
}

TEST(Include, IsBoundedInDepthAndNumber) {
  Files deep{{"c", "include = f0"}};
  for (int i = 0; i < 40; ++i) deep[fmt::format("f{}", i)] = fmt::format("include = f{}", i + 1);
  EXPECT_TRUE(mentions(parsed(deep).problems, "includes are nested more than 16 deep"));

  Files wide{{"c", "include = d/*"}};
  for (int i = 0; i < 1100; ++i) wide[fmt::format("d/{}", i)] = "";
  EXPECT_TRUE(mentions(parsed(wide).problems, "more than 1000 files are included"));
}

TEST(Parse, IsBoundedInProblemsAndInheritedEntries) {
  std::string garbage;
  for (int i = 0; i < 100'000; ++i) garbage += "?\n";
  EXPECT_LE(parsed(garbage).problems.size(), kEnoughProblems);

  std::string chain = "table t0 {\n k0 = v\n}\n";
  for (int i = 1; i < 2000; ++i)
    chain += fmt::format("table t{} : t{} {{\n k{} = v\n}}\n", i, i - 1, i);
  EXPECT_TRUE(
      mentions(parsed(chain).problems, "more than 200000 settings, with what is inherited"));
}

TEST(Parse, SurvivesEveryTruncationOfAValidFile) {
  const std::string whole =
      "searchd {\n listen = 127.0.0.1:9308 # c\n}\ntable a : b {\n agent = a|[::1]:1:t \\\n "
      "[x=${Y:-z}] }\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) parsed(whole.substr(0, size));
}

TEST(Parse, ReadsWindowsLinesAndAByteOrderMark) {
  const auto result = parsed("\xef\xbb\xbfsearchd\r\n{\r\n k = v\r\n}\r\n");
  EXPECT_EQ(result.problems, Lines{});
  EXPECT_EQ(outline(result.tree), Lines{"searchd : k=v"});
}

}  // namespace
}  // namespace karmad
