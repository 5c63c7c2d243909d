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

#include "demo/data/dice.hpp"

namespace karmad::demo {
namespace {

// The words of the catalogue; earlier words of a list are used more often.

inline constexpr std::string_view kThings[] = {
    "lamp",     "chair",    "table",     "shelf",    "kettle",      "camera",  "bag",
    "knife",    "bottle",   "blanket",   "mirror",   "clock",       "basket",  "desk",
    "speaker",  "backpack", "notebook",  "cushion",  "tray",        "bowl",    "jacket",
    "tent",     "bench",    "cabinet",   "carpet",   "charger",     "coat",    "compass",
    "cup",      "curtain",  "drawer",    "fan",      "flask",       "fork",    "glove",
    "grinder",  "guitar",   "hammer",    "headlamp", "helmet",      "jar",     "keyboard",
    "ladder",   "lantern",  "lens",      "mug",      "oven",        "pan",     "pencil",
    "pillow",   "plate",    "projector", "radio",    "rug",         "saw",     "scarf",
    "scissors", "stool",    "suitcase",  "teapot",   "telescope",   "toaster", "tripod",
    "umbrella", "vase",     "wallet",    "watch",    "wheelbarrow", "whistle", "xylophone"};

inline constexpr std::string_view kQualities[] = {
    "small",    "light",      "sturdy",       "folding", "classic",   "blue",     "quiet",
    "warm",     "green",      "compact",      "large",   "simple",    "handmade", "red",
    "soft",     "bright",     "narrow",       "heavy",   "portable",  "grey",     "durable",
    "elegant",  "flat",       "round",        "robust",  "slim",      "tall",     "vintage",
    "washable", "waterproof", "wireless",     "yellow",  "ergonomic", "feather",  "matte",
    "opaque",   "rustproof",  "shatterproof", "tapered", "zinc"};

inline constexpr std::string_view kMaterials[] = {
    "steel",     "oak",    "cotton", "glass", "leather", "wool",  "bamboo",   "ceramic",
    "aluminium", "linen",  "beech",  "cork",  "copper",  "felt",  "walnut",   "brass",
    "canvas",    "marble", "silk",   "paper", "rattan",  "slate", "titanium", "velvet"};

inline constexpr std::string_view kPlaces[] = {
    "kitchen", "office", "garden",     "workshop", "bedroom",  "balcony",    "hall",
    "studio",  "cellar", "library",    "bath",     "camp",     "boat",       "garage",
    "nursery", "café",   "greenhouse", "attic",    "pavilion", "observatory"};

inline constexpr std::string_view kDeeds[] = {"keeps",  "holds",    "carries", "fits",   "covers",
                                              "lifts",  "cleans",   "cools",   "heats",  "cuts",
                                              "guards", "folds",    "hides",   "lights", "mends",
                                              "opens",  "polishes", "seals",   "stacks", "weighs"};

/// T thing, Q quality, M material, P place, D deed.
inline constexpr std::string_view kSentences[] = {
    "This Q T of M D every T in the P.",
    "A Q T for the P, made of M.",
    "It D the T and stays Q for years.",
    "The Q M T goes well with a Q T.",
    "Made for P and P; the T D what a T cannot.",
    "Our T is Q, the M is Q.",
    "Comes with a T [M, Q] and a Q T.",
    "Customers say: \"the T D my T\".",
    "Not for the P {unless Q}.",
    "The M D even a Q T; Größe und Maße in the P sheet.",
    "Care: keep the M out of the P \\ wipe with a Q T.",
};

inline constexpr std::string_view kBrands[] = {"Aurora",     "bluebird", "Cobalt",  "dovetail",
                                               "Elm & Sons", "fjord",    "Granite", "hazel",
                                               "Ironwood",   "juniper",  "Kestrel", "lumen"};

inline constexpr std::string_view kSellers[] = {
    "North Star", "north star", "NORTH STAR", "Harbour",    "harbour",
    "HARBOUR",    "Mill Lane",  "mill lane",  "Old Market", "old MARKET"};

inline constexpr std::string_view kColors[] = {"red", "blue",  "green", "grey",
                                               "Red", "amber", "black", "violet"};

inline constexpr unsigned kUsualPrices[] = {19, 9, 49, 99, 29, 199, 5, 149, 79, 249, 399, 499};

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

}  // namespace karmad::demo
