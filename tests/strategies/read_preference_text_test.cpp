#include "strategies/read_preference.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "strategies/random_source.hpp"
#include "tests/strategies/pictures.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;
using testing::tag_sets;
using testing::tags;

std::string why(std::string_view text) {
  const auto parsed = parse_read_preference(text);
  return parsed ? "it was read" : parsed.error().why;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(PreferenceText, AModeAloneIsAPreference) {  // SS-031
  for (auto mode : {Mode::primary, Mode::primary_preferred, Mode::secondary,
                    Mode::secondary_preferred, Mode::nearest})
    EXPECT_EQ(parse_read_preference(name(mode)), ReadPreference{.mode = mode}) << name(mode);
  EXPECT_EQ(parse_read_preference(" nearest\t"), ReadPreference{.mode = Mode::nearest});
}

TEST(PreferenceText, TheShortFormAndTheJsonFormSayTheSame) {  // SS-093
  const ReadPreference expected{.mode = Mode::secondary,
                                .tag_sets = {tags("dc:ny,rack:2"), tags("dc:sf"), {}},
                                .max_staleness = 120s,
                                .hedge = true};
  EXPECT_EQ(parse_read_preference("mode=secondary;tags=dc:ny,rack:2|dc:sf|;"
                                  "maxStalenessSeconds=120;hedge=true"),
            expected);
  EXPECT_EQ(parse_read_preference(" hedge = true ; tags= dc : ny , rack:2 | dc:sf | ; "
                                  "maxStalenessSeconds=120; mode=secondary;"),
            expected);
  EXPECT_EQ(parse_read_preference(R"({"mode":"secondary",
                                      "tags":[{"rack":"2","dc":"ny"},{"dc":"sf"},{}],
                                      "maxStalenessSeconds":120,"hedge":{"enabled":true}})"),
            expected);
}

TEST(PreferenceText, MinusOneAndNullMeanNoLimit) {  // SS-040
  for (auto text : {R"({"mode":"nearest","maxStalenessSeconds":-1})",
                    R"({"mode":"nearest","maxStalenessSeconds":null})", R"({"mode":"nearest"})",
                    "mode=nearest;maxStalenessSeconds=-1"})
    EXPECT_EQ(parse_read_preference(text), ReadPreference{.mode = Mode::nearest}) << text;
  EXPECT_EQ(parse_read_preference("mode=primary;maxStalenessSeconds=-1"), ReadPreference{});
}

TEST(PreferenceText, UnknownMembersOfTheJsonFormAreIgnored) {  // SS-094
  EXPECT_EQ(parse_read_preference(R"({"mode":"nearest","later":[{"deep":1}],"Mode":2})"),
            ReadPreference{.mode = Mode::nearest});
}

TEST(PreferenceText, HedgeWithoutAValueIsOnAndUnsetWhenNotThere) {  // SS-070 … SS-072
  for (auto text : {R"({"mode":"nearest","hedge":{}})", R"({"mode":"nearest","hedge":{"x":1}})",
                    "mode=nearest;hedge", "mode=nearest;hedge="})
    EXPECT_EQ(parse_read_preference(text).value().hedge, true) << text;
  for (auto text : {R"({"mode":"nearest","hedge":{"enabled":false}})", "mode=nearest;hedge=false"})
    EXPECT_EQ(parse_read_preference(text).value().hedge, false) << text;
  EXPECT_EQ(parse_read_preference("nearest").value().hedge, std::nullopt);
  EXPECT_FALSE(mentions(text(ReadPreference{.mode = Mode::nearest}), "hedge"));
}

TEST(PreferenceText, ModePrimaryStandsAlone) {  // SS-041, SS-043, SS-060, SS-093
  for (auto text :
       {"mode=primary;maxStalenessSeconds=120", "mode=primary;tags=dc:ny",
        "mode=primary;hedge=true", R"({"mode":"primary","tags":[{"dc":"ny"}]})",
        R"({"mode":"primary","maxStalenessSeconds":90})", R"({"mode":"primary","hedge":{}})"})
    EXPECT_TRUE(mentions(why(text), "no meaning with mode primary")) << text;
  EXPECT_TRUE(parse_read_preference(R"({"mode":"primary","tags":[{}]})"));
}

TEST(PreferenceText, ErrorsSayWhatIsWrongAndWhatWouldBeRight) {  // SS-044, SS-093
  struct Row {
    std::string_view text, part;
  };
  for (const auto& [text, part] : {
           Row{"", "modes are primary, primaryPreferred"},
           {"secundary", "did you mean 'secondary'?"},
           {"Nearest", "did you mean 'nearest'?"},
           {"fastest-of-all", "modes are primary"},
           {"mode=nearest;mode=nearest", "mode is given twice"},
           {"tags=dc:ny", "it has no mode, such as mode=nearest"},
           {";", "it has no mode"},
           {"mode=nearest;tag=dc:ny", "there is no field 'tag'; did you mean 'tags'?"},
           {"mode=nearest;staleness=90", "fields are mode, tags, maxStalenessSeconds, hedge"},
           {"mode=nearest;tags=dc", "the tag 'dc' has no value; a tag is written name:value"},
           {"mode=nearest;tags=:ny", "a tag has no name"},
           {"mode=nearest;tags=dc:ny,", "a tag is missing around a ','"},
           {"mode=nearest;tags=dc:ny,dc:sf", "'dc' is given twice"},
           {"mode=nearest;maxStalenessSeconds=0", "is 0, it must be between 1 and"},
           {"mode=nearest;maxStalenessSeconds=-2", "is -2, it must be"},
           {"mode=nearest;maxStalenessSeconds=9.5", "'9.5', it must be a whole number"},
           {"mode=nearest;maxStalenessSeconds=90s", "'90s', it must be a whole number"},
           {"mode=nearest;maxStalenessSeconds=", "must be a whole number"},
           {"mode=nearest;maxStalenessSeconds=99999999999999999999", "must be a whole number"},
           {"mode=nearest;maxStalenessSeconds=9999999999", "between 1 and 2147483647"},
           {"mode=nearest;hedge=yes", "'yes', it must be true or false"},
           {"{", "not JSON at byte 1"},
           {R"({"mode":"nearest"}x)", "not JSON at byte 18"},
           {R"({})", "it has no mode"},
           {R"({"mode":3})", "mode must be a string"},
           {R"({"mode":"nearest","mode":"nearest"})", "mode is given twice"},
           {R"({"mode":"nearest","tags":[]})", "at least one object"},
           {R"({"mode":"nearest","tags":{"dc":"ny"}})", "tags must be an array"},
           {R"({"mode":"nearest","tags":["dc:ny"]})", "objects only"},
           {R"({"mode":"nearest","tags":[{"rack":2}]})", "must be a string"},
           {R"({"mode":"nearest","tags":[{"a":"1","a":"2"}]})", "'a' is given twice"},
           {R"({"mode":"nearest","tags":[{"a\u0000":"1"}]})", "control character"},
           {R"({"mode":"nearest","maxStalenessSeconds":120.5})", "whole number"},
           {R"({"mode":"nearest","maxStalenessSeconds":"120"})", "whole number"},
           {R"({"mode":"nearest","hedge":true})", "hedge must be an object"},
           {R"({"mode":"nearest","hedge":{"enabled":1}})", "hedge must be an object"},
       })
    EXPECT_TRUE(mentions(why(text), part)) << text << " -> " << why(text);
}

TEST(PreferenceText, IsBounded) {
  std::string many = "mode=nearest;tags=a:b";
  for (std::size_t i = 1; i < kMostTagSets; ++i) many.append("|a:b");
  EXPECT_EQ(parse_read_preference(many).value().tag_sets.size(), kMostTagSets);
  EXPECT_TRUE(mentions(why(many + "|a:b"), "more than 64 tag sets"));

  std::string wide = "mode=nearest;tags=t0:x";
  for (std::size_t i = 1; i < kMostTags; ++i) wide.append(fmt::format(",t{}:x", i));
  EXPECT_TRUE(parse_read_preference(wide));
  EXPECT_TRUE(mentions(why(wide + ",more:x"), "more than 32 tags in a set"));

  std::string sets = R"({"mode":"nearest","tags":[{})";
  for (std::size_t i = 0; i < kMostTagSets; ++i) sets.append(",{}");
  EXPECT_TRUE(mentions(why(sets + "]}"), "more than 64 tag sets"));

  const std::string padded = "nearest" + std::string(kLongestPreference - 7, ' ');
  EXPECT_TRUE(parse_read_preference(padded));
  EXPECT_TRUE(mentions(why(padded + ' '), "it has 4097 bytes, at most 4096"));
  EXPECT_LT(why(std::string(4000, 'x')).size(), 300U);
  EXPECT_FALSE(parse_read_preference(std::string(4096, '{')));
  EXPECT_FALSE(parse_read_preference(R"({"x":)" + std::string(4000, '[')));
}

TEST(PreferenceText, WhatIsNotUtf8IsRefused) {
  EXPECT_EQ(why("mode=nearest;tags=dc:\xff"), "it is not UTF-8");
  EXPECT_EQ(why("{\"mode\":\"nearest\",\"x\":\"\xc3\"}"), "it is not UTF-8");
  EXPECT_EQ(parse_tags("dc:\xc3", ','), std::unexpected(std::string("tags are not UTF-8")));
  EXPECT_TRUE(parse_read_preference("mode=nearest;tags=ort:Köln"));
}

TEST(PreferenceText, WhatIsWrittenReadsBackAsTheSame) {
  for (auto text_ : {"primary", "nearest", "mode=secondary;tags=a:b,c:d||x:y",
                     "mode=secondaryPreferred;maxStalenessSeconds=90;hedge=false",
                     R"({"mode":"nearest","tags":[{"a:|;,\"\\":"x y=z"}],"hedge":{}})"}) {
    const auto read = parse_read_preference(text_).value();
    EXPECT_EQ(parse_read_preference(text(read)), read) << text(read);
  }
  EXPECT_EQ(text(ReadPreference{.mode = Mode::secondary,
                                .tag_sets = tag_sets("rack:2,dc:ny|"),
                                .max_staleness = 120s,
                                .hedge = true}),
            R"({"mode":"secondary","tags":[{"dc":"ny","rack":"2"},{}],)"
            R"("maxStalenessSeconds":120,"hedge":{"enabled":true}})");
}

TEST(PreferenceText, TagsReadBackAndBringTheirOwnSeparator) {
  EXPECT_EQ(parse_tags("rack:2; dc:ny", ';').value(), (Tags{{"dc", "ny"}, {"rack", "2"}}));
  EXPECT_EQ(parse_tags("", ';').value(), Tags{});
  EXPECT_EQ(parse_tags("at:10.0.0.1:80,empty:", ',').value(),
            (Tags{{"at", "10.0.0.1:80"}, {"empty", ""}}));
  EXPECT_EQ(text(tags("rack:2,dc:ny")), "dc:ny,rack:2");
  EXPECT_EQ(text(tag_sets("dc:ny|dc:sf|")), "dc:ny|dc:sf|");
  EXPECT_EQ(parse_tag_sets("").value(), std::vector<Tags>{Tags{}});
  EXPECT_FALSE(parse_tag_sets("dc:ny|dc"));
}

/// Whatever comes in, it is refused or reads back as the same.
TEST(PreferenceText, HostileBytesNeverCrash) {
  SeededRandom random(7);
  const std::vector<std::string> seeds{
      "mode=secondary;tags=dc:ny,rack:2|dc:sf|;maxStalenessSeconds=120;hedge=true",
      R"({"mode":"secondary","tags":[{"dc":"ny"},{}],"maxStalenessSeconds":120,"hedge":{}})",
      "primaryPreferred"};
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = seeds[random.below(seeds.size())];
    for (auto changes = random.below(4); changes-- > 0 && !bytes.empty();) {
      const auto at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.erase(at, 1 + random.below(4));
          break;
        default:
          bytes.insert(at, bytes, random.below(bytes.size()), random.below(8));
      }
    }
    const auto read = parse_read_preference(bytes);
    if (read) {
      ASSERT_EQ(parse_read_preference(text(*read)), *read) << bytes;
    } else {
      ASSERT_FALSE(read.error().why.empty()) << bytes;
    }
  }
}

}  // namespace
}  // namespace karmad
