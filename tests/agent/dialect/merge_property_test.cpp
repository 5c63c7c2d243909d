#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/agent/dialect/search_support.hpp"

namespace karmad {
namespace {

/// A document as a test knows it: plain values, compared without the code under test.
struct Document {
  std::uint64_t id = 0;
  int score = 0;
  std::optional<std::int64_t> price;
  int half_rating = 0;  ///< shown as a real number, halves
  std::string brand;
  unsigned shard = 0;
};

struct Key {
  std::string name;
  bool descending = false;
};

template <class T>
int sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

std::string folded(std::string text) {
  for (auto& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

int compare_by(const std::string& name, const Document& a, const Document& b) {
  if (name == "_score") return sign(a.score, b.score);
  if (name == "price") return sign(a.price, b.price);  // no value is less than any
  if (name == "rating") return sign(a.half_rating, b.half_rating);
  if (name == "brand") return sign(folded(a.brand), folded(b.brand));
  return sign(static_cast<std::int64_t>(a.id), static_cast<std::int64_t>(b.id));
}

bool precedes(const std::vector<Key>& keys, const Document& a, const Document& b) {
  for (const auto& key : keys)
    if (const int order = compare_by(key.name, a, b); order != 0)
      return key.descending ? order > 0 : order < 0;
  return static_cast<std::int64_t>(a.id) < static_cast<std::int64_t>(b.id);
}

/// `source`: the attributes asked for, each in quotes; `*` for all.
std::string hit(const Document& d, std::string_view source) {
  const auto wants = [&](std::string_view attribute) {
    return source == "*" || source.find(attribute) != source.npos;
  };
  std::string text;
  const auto add = [&](std::string_view attribute, const std::string& value) {
    if (wants(attribute)) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", attribute, value);
  };
  if (d.price) add("\"price\"", std::to_string(*d.price));
  add("\"shard\"", std::to_string(d.shard));
  add("\"rating\"", fmt::format("{:.6f}", d.half_rating / 2.0));
  add("\"brand\"", '"' + d.brand + '"');
  return fmt::format(R"({{"_id":{},"_score":{},"_source":{{{}}}}})", d.id, d.score, text);
}

std::string hits(const std::vector<Document>& documents, std::size_t from, std::size_t to,
                 std::string_view source) {
  std::string text;
  for (auto i = from; i < std::min(to, documents.size()); ++i)
    text += (text.empty() ? "" : ",") + hit(documents[i], source);
  return text;
}

std::size_t number_behind(const std::string& text, std::string_view name) {
  return std::stoul(text.substr(text.find(name) + name.size()));
}

/// Documents on shards, some of them on two or more with the same content.
class Corpus {
 public:
  Corpus(std::mt19937& random, unsigned shards) : shards_(shards) {
    const auto count = random() % 60;
    for (std::uint64_t i = 0; i < count; ++i) {
      Document d{.id = (random() % 4 == 0 ? (1ull << 63) : 1) + random() % 500,
                 .score = static_cast<int>(random() % 4),
                 .half_rating = static_cast<int>(random() % 5),
                 .brand = std::vector<std::string>{"acme", "Acme", "beta", "Zeta", "zeta",
                                                   "\xC3\xA9"}[random() % 6]};
      if (random() % 5 != 0)
        d.price = static_cast<std::int64_t>(random() % 6) - 2 + (1ll << 53) * (random() % 2);
      if (copies_.contains(d.id)) continue;
      const auto copies = random() % 6 == 0 ? 1 + random() % shards : 1;
      auto& on = copies_[d.id];
      while (on.size() < copies) {
        d.shard = static_cast<unsigned>(random() % shards);
        if (std::ranges::find(on, d.shard) != on.end()) continue;
        on.push_back(d.shard);
        shards_[d.shard].push_back(d);
      }
    }
  }

  std::vector<std::string> answers(const std::vector<Key>& keys, std::size_t limit,
                                   std::string_view source) {
    std::vector<std::string> texts;
    for (auto& shard : shards_) {
      std::ranges::sort(shard, [&](auto& a, auto& b) { return precedes(keys, a, b); });
      texts.push_back(answer(static_cast<int>(shard.size()), hits(shard, 0, limit, source)));
    }
    return texts;
  }

  /// All documents once, each as the last shard has it, in order.
  std::vector<Document> together(const std::vector<Key>& keys) const {
    std::map<std::uint64_t, Document> last;
    for (const auto& shard : shards_)
      for (const auto& d : shard) last[d.id] = d;
    std::vector<Document> all;
    for (auto& [id, d] : last) all.push_back(d);
    std::ranges::sort(all, [&](auto& a, auto& b) { return precedes(keys, a, b); });
    return all;
  }

  std::size_t copies(std::uint64_t id) const { return copies_.at(id).size(); }
  std::size_t total() const {
    std::size_t sum = 0;
    for (const auto& shard : shards_) sum += shard.size();
    return sum;
  }

 private:
  std::vector<std::vector<Document>> shards_;
  std::map<std::uint64_t, std::vector<unsigned>> copies_;
};

TEST(MergedPage, EqualsThatOfTheWholeForAnyCorpusOrderAndPage) {
  std::mt19937 random(20240917);
  const std::vector<std::string> names{"_score", "price", "rating", "brand", "id"};
  const Searching searching;
  for (int round = 0; round < 3000; ++round) {
    Corpus corpus(random, 1 + static_cast<unsigned>(random() % 7));
    std::vector<Key> keys;
    std::string sort;
    for (auto n = random() % 4; n > 0; --n) {
      keys.push_back({names[random() % names.size()], random() % 2 == 0});
      sort += fmt::format(R"({}{{"{}":"{}"}})", sort.empty() ? "" : ",", keys.back().name,
                          keys.back().descending ? "desc" : "asc");
    }
    const bool whole_source = random() % 2 == 0;
    const auto limit = random() % 25;
    const auto offset = random() % 30;
    const auto body = fmt::format(R"({{"table":"t","limit":{},"offset":{},"max_matches":40{}{}}})",
                                  limit, offset, sort.empty() ? "" : ",\"sort\":[" + sort + "]",
                                  whole_source ? "" : R"(,"_source":["shard"])");
    if (sort.empty()) keys.push_back({"_score", true});

    const auto asked = searching.asked(body);
    const auto source = asked.find("\"_source\":[");
    const auto shard_source =
        source == asked.npos ? "*" : asked.substr(source, asked.find(']', source) - source);
    const auto end = std::min<std::size_t>(offset + limit, 40);
    const auto all = corpus.together(keys);
    auto total = corpus.total();
    for (std::size_t i = 0; offset < end && i + 1 < end && i < all.size(); ++i)
      total -= corpus.copies(all[i].id) - 1;
    ASSERT_EQ(
        searching.merged(body,
                         corpus.answers(keys, number_behind(asked, "\"limit\":"), shard_source)),
        whole(static_cast<int>(total), hits(all, offset, end, whole_source ? "*" : "\"shard\"")))
        << body;
  }
}

TEST(MergedPage, PagesPutTogetherAreTheWholeListAlsoWhereCopiesDiffer) {
  std::mt19937 random(7);
  const Searching searching;
  for (int round = 0; round < 200; ++round) {
    // Copies of an id differ in score, so that they never meet.
    std::vector<std::vector<std::pair<int, int>>> shards(3);
    for (auto& shard : shards)
      for (int i = 0; i < 40; ++i) shard.emplace_back(static_cast<int>(random() % 50), i % 60);
    const auto page = [&](std::size_t offset, std::size_t limit) {
      std::vector<std::string> answers;
      for (auto shard : shards) {
        std::ranges::sort(shard, [](auto a, auto b) {
          return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        std::string text;
        for (std::size_t i = 0; i < std::min(offset + limit, shard.size()); ++i)
          text += fmt::format(R"({}{{"_id":{},"_score":{}}})", text.empty() ? "" : ",",
                              shard[i].second, shard[i].first);
        answers.push_back(answer(40, text));
      }
      const auto merged = searching.merged(
          fmt::format(R"({{"table":"t","limit":{},"offset":{}}})", limit, offset), answers);
      const auto begin = merged.find("\"hits\":[") + 8;
      return merged.substr(begin, merged.rfind(']') - begin);
    };
    std::string pages;
    for (std::size_t offset = 0; offset < 40; offset += 5) {
      const auto text = page(offset, 5);
      if (!text.empty()) pages += (pages.empty() ? "" : ",") + text;
    }
    // As far as every shard was asked deep enough, nothing is lost between pages or shown twice.
    const auto all = page(0, 40);
    ASSERT_TRUE(all.starts_with(pages.substr(0, pages.find('}') + 1)));
    ASSERT_EQ(pages, all);
  }
}

TEST(MergedPage, PagesOfTheDefaultOrderLoseAndRepeatNothingForAnyOrderOfTies) {
  std::mt19937 random(11);
  const Searching searching;
  for (int round = 0; round < 200; ++round) {
    // Few scores and many ties, in an order of the shard's own that stays.
    std::vector<std::vector<std::pair<int, int>>> shards(1 + random() % 4);
    std::size_t count = 0;
    for (auto& shard : shards) {
      for (auto n = random() % 30; n > 0; --n)
        shard.emplace_back(static_cast<int>(random() % 3), static_cast<int>(++count));
      std::ranges::shuffle(shard, random);
      std::ranges::stable_sort(shard, std::ranges::greater{}, &std::pair<int, int>::first);
    }
    const auto page = [&](std::size_t offset, std::size_t limit) {
      std::vector<std::string> answers;
      for (const auto& shard : shards) {
        std::string text;
        for (std::size_t i = 0; i < std::min(offset + limit, shard.size()); ++i)
          text += fmt::format(R"({}{{"_id":{},"_score":{}}})", text.empty() ? "" : ",",
                              shard[i].second, shard[i].first);
        answers.push_back(answer(static_cast<int>(shard.size()), text));
      }
      const auto merged = searching.merged(
          fmt::format(R"({{"table":"t","limit":{},"offset":{}}})", limit, offset), answers);
      const auto begin = merged.find("\"hits\":[") + 8;
      return merged.substr(begin, merged.rfind(']') - begin);
    };
    std::string pages;
    for (std::size_t offset = 0; offset < count; offset += 7) {
      const auto text = page(offset, 7);
      if (!text.empty()) pages += (pages.empty() ? "" : ",") + text;
    }
    ASSERT_EQ(pages, page(0, 200));
    ASSERT_EQ(std::ranges::count(pages, '{'), static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace
}  // namespace karmad
