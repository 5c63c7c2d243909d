#include "demo/data/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "demo/data/corpus_words.hpp"
#include "demo/data/dice.hpp"

namespace karmad {

namespace {

/// A random entry of `list`: position k with a weight of about 1 / (k + 1).
template <class T>
const T& favour(Dice& dice, std::span<const T> list) {
  const auto n = static_cast<double>(list.size());
  const auto position = std::exp(dice.fraction() * std::log(n + 1)) - 1;
  return list[std::min(static_cast<std::size_t>(position), list.size() - 1)];
}

template <class T, std::size_t N>
const T& favour(Dice& dice, const T (&list)[N]) {
  return favour(dice, std::span<const T>(list));
}

std::string capitalized(std::string_view word) {
  std::string out(word);
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

std::string_view word_for(char placeholder, Dice& dice) {
  switch (placeholder) {
    case 'T':
      return favour(dice, kThings);
    case 'Q':
      return favour(dice, kQualities);
    case 'M':
      return favour(dice, kMaterials);
    case 'P':
      return favour(dice, kPlaces);
    case 'D':
      return favour(dice, kDeeds);
    default:
      return {};
  }
}

/// A placeholder is a single capital letter.
std::string sentence(Dice& dice) {
  const std::string_view pattern = favour(dice, kSentences);
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool alone =
        (i == 0 || std::isalpha(static_cast<unsigned char>(pattern[i - 1])) == 0) &&
        (i + 1 == pattern.size() || std::isalpha(static_cast<unsigned char>(pattern[i + 1])) == 0);
    const auto word = alone ? word_for(pattern[i], dice) : std::string_view{};
    if (word.empty()) {
      out += pattern[i];
    } else {
      out += word;
    }
  }
  return out;
}

std::string title(Dice& dice) {
  auto out = capitalized(favour(dice, kQualities));
  if (dice.below(3) != 0) out.append(" ").append(favour(dice, kMaterials));
  out.append(" ").append(favour(dice, kThings));
  if (dice.below(4) == 0) out.append(" for the ").append(favour(dice, kPlaces));
  if (dice.below(16) == 0) out.append(" \"").append(favour(dice, kBrands)).append("\"");
  return out;
}

std::string body(Dice& dice) {
  std::string out = sentence(dice);
  for (auto more = dice.below(4); more > 0; --more) out.append(" ").append(sentence(dice));
  return out;
}

std::vector<std::int64_t> tags(Dice& dice) {
  std::vector<std::int64_t> out;
  for (auto count = dice.below(5); count > 0; --count)
    out.push_back(static_cast<std::int64_t>(1 + dice.below(12)));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The members of the JSON column, without the last bracket.
std::string meta(Dice& dice) {
  const std::string color(favour(dice, kColors));
  auto out = fmt::format(R"({{"color":"{}","n":{})", color, dice.below(10));
  if (dice.below(8) == 0) out += R"(,"note":"12\" wide {approx.}")";
  return out;
}

/// Later additions have their own random numbers, so that the rest of the catalogue is unchanged.
void add_numbers(Document& out, std::string meta) {
  Dice dice{out.id ^ 0x6b61726d6164ULL};
  constexpr std::int64_t kSizes[] = {6, 9, 10, 11, 50, 100, 250, 1000};
  if (dice.below(8) != 0) meta += fmt::format(R"(,"s":{})", favour(dice, kSizes));
  if (const auto flag = Dice{out.id ^ 0x666c6167ULL}.below(3); flag != 0)
    meta += fmt::format(R"(,"flag":{})", flag == 1);
  const auto wide = 5 + dice.below(1200);
  const auto high = dice.below(4000);
  meta += fmt::format(R"(,"size":{{"w":{},"h":{:.2f}}}}})", wide, static_cast<double>(high) / 100);
  out.meta = read_meta(meta);
  out.stock = static_cast<std::int64_t>(dice.next() >> 1);
  if (dice.below(2) == 0) out.stock = static_cast<std::int64_t>(dice.below(100)) - 20;
  // Every eighth is one of four adjacent floats that print as 0.250000.
  out.weight = 0.1F * static_cast<float>(1 + dice.below(900'000));
  if (dice.below(8) == 0) out.weight = 0.25F + 0x1p-24F * static_cast<float>(dice.below(4));
  out.lat = 36 + static_cast<float>(dice.below(160)) / 8;
  out.lon = -10 + static_cast<float>(dice.below(240)) / 8;
}

void add_embedding(Document& out) {
  Dice dice{out.id ^ 0x766563746f72ULL};
  double square = 0;
  std::array<double, 4> raw{};
  for (auto& number : raw) {
    number = dice.fraction() * 2 - 1;
    square += number * number;
  }
  // With six decimals, as answers show it: a search by the shown vector is exact.
  for (std::size_t i = 0; i < raw.size(); ++i)
    out.embedding[i] = static_cast<float>(std::round(raw[i] / std::sqrt(square) * 1e6) / 1e6);
}

Document invent(std::size_t position, Dice& dice) {
  Document out;
  out.id = position + 1;
  if (position % 16 == 15) out.id += std::uint64_t{1} << 53;
  out.title = title(dice);
  out.body = body(dice);
  out.price = dice.below(3) == 0 ? static_cast<std::uint32_t>(1 + dice.below(500))
                                 : favour(dice, kUsualPrices);
  out.rating = static_cast<float>(8 + dice.below(33)) / 8;
  out.brand = favour(dice, kBrands);
  out.seller = favour(dice, kSellers);
  out.tags = tags(dice);
  auto members = meta(dice);
  // 2023-11-14 22:13:20 and the following months, a few documents per hour
  out.ts = static_cast<std::uint32_t>(1'700'000'000 + dice.below(2000) * 3600);
  add_numbers(out, std::move(members));
  add_embedding(out);
  return out;
}

}  // namespace

std::vector<Document> invent_corpus(std::size_t size) {
  Dice dice{20'240'229};
  std::vector<Document> out;
  out.reserve(size);
  for (std::size_t position = 0; position < size; ++position) out.push_back(invent(position, dice));
  std::sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.id < b.id; });
  return out;
}

std::size_t part_of(std::uint64_t id, std::size_t of, std::uint64_t spread) {
  if (spread == 0) return Dice::mixed(id) % of;
  return Dice{Dice{spread}.next() ^ id}.next() % of;
}

}  // namespace karmad
