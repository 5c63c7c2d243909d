#include "config/text/parse.hpp"

#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

struct Expanded {
  SourceText source;
  Lines problems;
};

Expanded expanded(std::string_view text, const Variables& variables = {},
                  std::size_t at_most = 1000) {
  Problems problems;
  auto source = expand("c", text, world({}, variables).variable, at_most, problems);
  return {std::move(source), lines(problems)};
}

TEST(Expand, DropsCommentsAndKeepsEscapedHashes) {
  EXPECT_EQ(expanded("a # b\nc").source.text(), "a \nc");
  EXPECT_EQ(expanded("a \\# b").source.text(), "a # b");
  EXPECT_EQ(expanded("a\\\\#b").source.text(), "a\\#b");
  EXPECT_EQ(expanded("a # ends with the file").source.text(), "a ");
}

TEST(Expand, JoinsLinesThatEndInABackslash) {
  EXPECT_EQ(expanded("a \\\n  b").source.text(), "a   b");
  EXPECT_EQ(expanded("a\\\r\nb").source.text(), "ab");
  EXPECT_EQ(expanded("a \\ \nb").source.text(), "a \\ \nb") << "the blank is not seen as one";
}

TEST(Expand, KnowsWhereEachCharacterStood) {
  const auto text = expanded("ab \\\n cd # x\n${X}e", {{"X", "long value"}}).source;
  ASSERT_EQ(text.text(), "ab  cd \nlong valuee");
  EXPECT_EQ(text.place(1), (Place{"c", 1, 2}));
  EXPECT_EQ(text.place(4), (Place{"c", 2, 2}));   // c
  EXPECT_EQ(text.place(8), (Place{"c", 3, 1}));   // long …
  EXPECT_EQ(text.place(12), (Place{"c", 3, 1}));  // … all of it
  EXPECT_EQ(text.place(18), (Place{"c", 3, 5}));  // e
  const auto part = text.slice(4, 6);
  EXPECT_EQ(part.text(), "cd");
  EXPECT_EQ(part.place(1), (Place{"c", 2, 3}));
  EXPECT_EQ(part.place(2), (Place{"c", 2, 4}));
}

TEST(Expand, SubstitutesVariables) {
  EXPECT_EQ(expanded("${A}|${B:-x:1}|${E:-z}", {{"A", "h"}, {"E", ""}}).source.text(), "h|x:1|z");
  EXPECT_EQ(expanded("${E}", {{"E", ""}}).source.text(), "");
  EXPECT_EQ(expanded("# ${NOT_SET}").problems, Lines{}) << "comments are not read";
  EXPECT_EQ(expanded("\\${A} $A").source.text(), "${A} $A");
}

TEST(Expand, ReportsVariablesThatCannotBeSubstituted) {
  EXPECT_EQ(expanded("ab ${NONE}").problems,
            Lines{"c:1:4: the environment variable NONE is not set; ${NONE:-default} gives it a "
                  "default"});
  EXPECT_EQ(expanded("${A\n}").problems, Lines{"c:1:1: '${' without its '}' on the same line"});
  EXPECT_EQ(expanded("a = ${A:-p95 # b\n{").source.text(), "a = ?\n{") << "is not read otherwise";
  EXPECT_EQ(expanded("${1x}").problems,
            Lines{"c:1:1: '1x' is not the name of an environment variable"});
  EXPECT_EQ(expanded("${A}", {{"A", "x\ny"}}).problems,
            Lines{"c:1:1: the value of the environment variable A has a line break"});
}

TEST(Expand, MarksSubstitutedAndEscapedCharactersAsNoSyntax) {
  const auto text = expanded("}${A}\\}}", {{"A", "}"}}).source;
  ASSERT_EQ(text.text(), "}}}}");
  EXPECT_FALSE(text.is_literal(0));
  EXPECT_TRUE(text.is_literal(1));
  EXPECT_TRUE(text.is_literal(2));
  EXPECT_FALSE(text.is_literal(3));
}

TEST(Expand, StopsBeforeVariablesFillTheMemory) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "${A}";
  const auto result = expanded(text, {{"A", std::string(1000, 'x')}}, 10'000);
  EXPECT_LE(result.source.size(), 11'000U);
  EXPECT_TRUE(mentions(result.problems, "the file is larger than 10000 bytes"));
}

}  // namespace
}  // namespace karmad
