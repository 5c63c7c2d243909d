#include "demo/language/query.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

namespace karmad::demo {

namespace {

/// A place of a document that a word of the query fits.
struct WordHit {
  Spot spot;
  std::uint32_t in_query = 0;  ///< position of the word in the query
  std::uint32_t length = 1;    ///< of a phrase: the number of its words
};

/// What a part of a query finds, for each document.
struct PartMatch {
  std::vector<std::uint8_t> found;
  std::vector<double> rarity;  ///< sum over the words, each by how often it is there
  std::vector<std::vector<WordHit>> hits;

  explicit PartMatch(const Index& index)
      : found(index.documents().size()), rarity(found.size()), hits(found.size()) {}
  void all() { std::ranges::fill(found, std::uint8_t{1}); }
  /// Adds what ranks a document in another part.
  void add(std::size_t document, const PartMatch& other) {
    if (other.found[document] == 0) return;
    rarity[document] += other.rarity[document];
    hits[document].insert(hits[document].end(), other.hits[document].begin(),
                          other.hits[document].end());
  }
};

/// Evaluates the parts of one query from left to right.
class Evaluation {
 public:
  Evaluation(const Index& index, std::size_t words)
      : index_(index), words_(static_cast<double>(words)) {}

  PartMatch part(const Query& query) {
    return std::visit([&](const auto& is) { return part(is); }, query.is);
  }

 private:
  /// The documents with one word.
  PartMatch word(const std::string& word, Fields fields, bool first) {
    PartMatch out(index_);
    const auto place = ++in_query_;
    const auto* entry = index_.find(word);
    if (entry == nullptr) return out;
    for (const auto& posting : entry->postings) {
      for (const auto& spot : posting.spots)
        if (fields.has(spot.field) && (!first || spot.position == 0))
          out.hits[posting.document].push_back({spot, place});
      if (out.hits[posting.document].empty()) continue;
      out.found[posting.document] = 1;
      const auto count = static_cast<double>(posting.spots.size());  // in all fields
      out.rarity[posting.document] = count / (count + 1.2) * entry->idf / words_;
    }
    return out;
  }

  /// Documents that `wanted` of the words are in.
  PartMatch some(const std::vector<std::string>& words, Fields fields, std::size_t wanted,
                 bool first = false) {
    PartMatch out(index_);
    std::vector<std::size_t> held(out.found.size());
    for (const auto& text : words) {
      const auto one = word(text, fields, first);
      for (std::size_t i = 0; i < held.size(); ++i) {
        held[i] += one.found[i];
        out.add(i, one);
      }
    }
    for (std::size_t i = 0; i < held.size(); ++i) out.found[i] = held[i] >= wanted;
    return out;
  }

  PartMatch part(const Words& query) {
    return some(query.words, query.fields,
                query.all ? std::max<std::size_t>(query.words.size(), 1) : 1, query.first);
  }

  PartMatch part(const Phrase& query) {
    const auto first = in_query_ + 1;
    if (query.kind == Phrase::Kind::quorum)
      return some(query.words, query.fields, std::max(query.number, 1U));
    auto out = some(query.words, query.fields, std::max<std::size_t>(query.words.size(), 1));
    if (query.kind == Phrase::Kind::before && !query.words.empty()) {
      // Only the first word tells how rare the phrase is.
      out.rarity = word(query.words[0], query.fields, false).rarity;
      --in_query_;
    }
    for (std::size_t i = 0; i < out.found.size(); ++i) {
      if (out.found[i] == 0) continue;
      std::ranges::stable_sort(out.hits[i], {}, &WordHit::spot);
      out.hits[i] = in_place(query, first, out.hits[i]);
      out.found[i] = !out.hits[i].empty();
    }
    return out;
  }

  /// Of all hits in a document, ascending, those that stand as the phrase demands.
  static std::vector<WordHit> in_place(const Phrase& query, std::uint32_t first,
                                       const std::vector<WordHit>& hits) {
    std::vector<WordHit> out;
    const auto count = static_cast<std::uint32_t>(query.words.size());
    for (std::size_t begin = 0; begin < hits.size(); ++begin) {
      std::vector<WordHit> chosen{hits[begin]};
      const bool any_order =
          query.kind == Phrase::Kind::proximity || query.kind == Phrase::Kind::near;
      if (!any_order && hits[begin].in_query != first) continue;
      for (std::size_t next = begin + 1; next < hits.size() && chosen.size() < count; ++next) {
        const auto& hit = hits[next];
        const auto& last = chosen.back();
        if (hit.spot.field != last.spot.field || hit.spot == last.spot) continue;
        const auto gap = hit.spot.position - last.spot.position;
        const bool is_next = hit.in_query == first + chosen.size();
        const bool is_new =
            std::ranges::find(chosen, hit.in_query, &WordHit::in_query) == chosen.end();
        const auto span = hit.spot.position - hits[begin].spot.position;
        const bool fits = query.kind == Phrase::Kind::exact    ? is_next && gap == 1
                          : query.kind == Phrase::Kind::before ? is_next
                          : query.kind == Phrase::Kind::near
                              ? is_new && gap <= query.number
                              : is_new && span < count + query.number;
        if (fits) chosen.push_back(hit);
      }
      if (chosen.size() < count) continue;
      if (query.kind == Phrase::Kind::exact)
        out.push_back({hits[begin].spot, first, count});
      else
        for (const auto& hit : chosen)
          if (out.empty() || out.back().spot < hit.spot) out.push_back(hit);
    }
    return out;
  }

  PartMatch part(const Condition& condition);
  PartMatch part(const Everything&) {
    PartMatch out(index_);
    out.all();
    return out;
  }

  enum class Role { must, filter, must_not };

  void narrow(const std::vector<Query>& parts, Role role, PartMatch& out) {
    for (const auto& query : parts) {
      const auto one = part(query);
      for (std::size_t i = 0; i < out.found.size(); ++i) {
        out.found[i] &= one.found[i] != 0 ? role != Role::must_not : role == Role::must_not;
        if (role != Role::must_not) out.add(i, one);
      }
    }
  }

  PartMatch part(const Combination& query) {
    PartMatch out(index_);
    out.all();
    narrow(query.must, Role::must, out);
    narrow(query.filter, Role::filter, out);
    std::vector<std::uint8_t> wished(out.found.size());
    for (const auto& query_part : query.should) {
      const auto one = part(query_part);
      for (std::size_t i = 0; i < wished.size(); ++i) {
        wished[i] |= one.found[i];
        out.add(i, one);
      }
    }
    narrow(query.must_not, Role::must_not, out);
    const bool one_needed = query.must.empty() && query.filter.empty() && !query.should.empty();
    if (one_needed)
      for (std::size_t i = 0; i < wished.size(); ++i) out.found[i] &= wished[i];
    return out;
  }

  const Index& index_;
  double words_;
  std::uint32_t in_query_ = 0;
};

/// 1000 for each word of the longest run of hits that stand like the words of the query, in each
/// field.
std::int64_t runs_of(std::vector<WordHit> hits) {
  std::ranges::stable_sort(hits, {},
                           [](const WordHit& hit) { return std::tuple(hit.spot, hit.in_query); });
  std::array<std::int64_t, kFields.size()> longest{};
  std::int64_t run = 0;
  const WordHit* last = nullptr;
  for (const auto& hit : hits) {
    const bool follows = last != nullptr && last->spot.field == hit.spot.field &&
                         hit.spot.position - last->spot.position == hit.in_query - last->in_query &&
                         hit.in_query > last->in_query;
    run = (follows ? run : 0) + hit.length;
    auto& best = longest[static_cast<std::size_t>(hit.spot.field)];
    best = std::max(best, run);
    last = &hit;
  }
  return 1000 * std::accumulate(longest.begin(), longest.end(), std::int64_t{0});
}

bool holds(const Condition& condition, const Value& value) {
  if (condition.pattern) {
    const auto* text = std::get_if<std::string_view>(&value);
    return text != nullptr && std::regex_search(text->begin(), text->end(), *condition.pattern);
  }
  if (!condition.one_of.empty())
    return std::any_of(condition.one_of.begin(), condition.one_of.end(),
                       [&](const Literal& wanted) { return compare(value, view(wanted)) == 0; });
  if (const auto& low = condition.low) {
    const auto against = compare(value, view(low->value));
    if (against < 0 || (against == 0 && !low->included)) return false;
  }
  if (const auto& high = condition.high) {
    const auto against = compare(value, view(high->value));
    if (against > 0 || (against == 0 && !high->included)) return false;
  }
  return true;
}

/// The bounds and values are numbers.
bool compares_numbers(const Condition& condition) {
  const auto text = [](const Literal& one) { return std::holds_alternative<std::string>(one); };
  return !condition.pattern && std::ranges::none_of(condition.one_of, text) &&
         (!condition.low || !text(condition.low->value)) &&
         (!condition.high || !text(condition.high->value));
}

PartMatch Evaluation::part(const Condition& condition) {
  PartMatch out(index_);
  const auto documents = index_.documents();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (condition.test) {
      out.found[i] = condition.test(documents[i]);
      continue;
    }
    auto values = values_of(documents[i], condition.column);
    const bool json = condition.column.type == Type::json;
    // A null in JSON is compared with numbers as 0.
    if (json && values.empty() && compares_numbers(condition))
      if (const auto* node = member_at(documents[i], condition.column);
          node != nullptr && node->IsNull())
        values.emplace_back(std::int64_t{0});
    const auto fits = [&](const Value& value) {
      return holds(condition, json && compares_numbers(condition) ? numeric(value) : value);
    };
    out.found[i] =
        !values.empty() && (condition.every ? std::all_of(values.begin(), values.end(), fits)
                                            : std::any_of(values.begin(), values.end(), fits));
  }
  return out;
}

}  // namespace

Matches evaluate(const Index& index, const Query& query) {
  std::vector<std::string> words;
  collect_words(query, words);
  const bool ranked = ranks(query);
  auto all = Evaluation{index, std::set(words.begin(), words.end()).size()}.part(query);
  Matches out{std::move(all.found), std::vector<std::int64_t>(all.rarity.size(), 1)};
  for (std::size_t i = 0; ranked && i < out.found.size(); ++i)
    if (out.found[i] != 0)
      out.weight[i] =
          runs_of(std::move(all.hits[i])) + static_cast<std::int64_t>((all.rarity[i] + 0.5) * 1000);
  return out;
}

double metres_between(double lat1, double lon1, double lat2, double lon2) {
  constexpr double kEarth = 6371000;
  const auto a = std::sin((lat2 - lat1) / 2);
  const auto b = std::sin((lon2 - lon1) / 2);
  const auto chord = a * a + std::cos(lat1) * std::cos(lat2) * b * b;
  return 2 * kEarth * std::asin(std::min(1.0, std::sqrt(chord)));
}

bool ranks(const Query& query) {
  const auto any = [](const std::vector<Query>& parts) {
    return std::ranges::any_of(parts, [](const Query& part) { return ranks(part); });
  };
  if (const auto* all = std::get_if<Combination>(&query.is))
    return any(all->must) || any(all->filter) || any(all->should);
  return std::holds_alternative<Words>(query.is) || std::holds_alternative<Phrase>(query.is);
}

void collect_words(const Query& query, std::vector<std::string>& out, bool filters) {
  if (const auto* all = std::get_if<Combination>(&query.is)) {
    for (const auto* parts : {&all->must, &all->filter, &all->should})
      if (filters || parts != &all->filter)
        for (const auto& part : *parts) collect_words(part, out, filters);
  }
  const auto* words = std::get_if<Words>(&query.is);
  const auto* phrase = std::get_if<Phrase>(&query.is);
  if (words != nullptr) out.insert(out.end(), words->words.begin(), words->words.end());
  if (phrase != nullptr) out.insert(out.end(), phrase->words.begin(), phrase->words.end());
}

}  // namespace karmad::demo
