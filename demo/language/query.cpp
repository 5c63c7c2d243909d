#include "demo/language/query.hpp"

#include <algorithm>

namespace karmad {

namespace {

Matches no_documents(const Index& index) {
  const auto size = index.documents().size();
  return {std::vector<std::uint8_t>(size), std::vector<double>(size)};
}

Matches all_documents(const Index& index) {
  auto out = no_documents(index);
  std::fill(out.found.begin(), out.found.end(), std::uint8_t{1});
  return out;
}

/// Adds a word's scores; increments `held` of each of its documents.
void add_word(const Index& index, Fields fields, const std::string& word, Matches& out,
              std::vector<std::uint32_t>& held) {
  std::vector<std::uint8_t> here(held.size());
  for (const auto field : kFields) {
    const auto* entry = fields.has(field) ? index.find(field, word) : nullptr;
    if (entry == nullptr) continue;
    for (const auto& posting : entry->postings) {
      out.score[posting.document] += index.bm25(field, *entry, posting);
      here[posting.document] = 1;
    }
  }
  for (std::size_t i = 0; i < held.size(); ++i) held[i] += here[i];
}

Matches evaluate(const Index& index, const Words& query) {
  auto out = no_documents(index);
  std::vector<std::uint32_t> held(out.found.size());
  for (const auto& word : query.words) add_word(index, query.fields, word, out, held);
  const auto wanted = query.all ? std::max<std::size_t>(query.words.size(), 1) : 1;
  for (std::size_t i = 0; i < held.size(); ++i) {
    out.found[i] = held[i] >= wanted;
    if (out.found[i] == 0) out.score[i] = 0;
  }
  return out;
}

bool has_position(const Entry* entry, std::uint32_t document, std::uint32_t position) {
  if (entry == nullptr) return false;
  const auto posting = std::lower_bound(
      entry->postings.begin(), entry->postings.end(), document,
      [](const Posting& left, std::uint32_t right) { return left.document < right; });
  return posting != entry->postings.end() && posting->document == document &&
         std::binary_search(posting->positions.begin(), posting->positions.end(), position);
}

bool phrase_at(const std::vector<const Entry*>& entries, std::uint32_t document,
               std::uint32_t first) {
  for (std::uint32_t i = 1; i < entries.size(); ++i)
    if (!has_position(entries[i], document, first + i)) return false;
  return true;
}

Matches evaluate(const Index& index, const Phrase& query) {
  auto out = evaluate(index, Words{query.fields, query.words, true});
  std::vector<std::uint8_t> found(out.found.size());
  for (const auto field : kFields) {
    if (!query.fields.has(field) || query.words.empty()) continue;
    std::vector<const Entry*> entries;
    for (const auto& word : query.words) entries.push_back(index.find(field, word));
    if (entries[0] == nullptr) continue;
    for (const auto& posting : entries[0]->postings)
      for (const auto first : posting.positions)
        if (phrase_at(entries, posting.document, first)) found[posting.document] = 1;
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] == 0) out.score[i] = 0;
  out.found = std::move(found);
  return out;
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

Matches evaluate(const Index& index, const Condition& condition) {
  auto out = no_documents(index);
  const auto documents = index.documents();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto values = values_of(documents[i], condition.column);
    const auto fits = [&](const Value& value) { return holds(condition, value); };
    out.found[i] =
        !values.empty() && (condition.every ? std::all_of(values.begin(), values.end(), fits)
                                            : std::any_of(values.begin(), values.end(), fits));
  }
  return out;
}

enum class Role { must, filter, must_not };

void narrow(const Index& index, const std::vector<Query>& parts, Role role, Matches& out) {
  for (const auto& part : parts) {
    const auto matches = evaluate(index, part);
    for (std::size_t i = 0; i < out.found.size(); ++i) {
      out.found[i] &= matches.found[i] != 0 ? role != Role::must_not : role == Role::must_not;
      if (role == Role::must) out.score[i] += matches.score[i];
    }
  }
}

Matches evaluate(const Index& index, const Combination& query) {
  auto out = all_documents(index);
  narrow(index, query.must, Role::must, out);
  narrow(index, query.filter, Role::filter, out);
  narrow(index, query.must_not, Role::must_not, out);
  std::vector<std::uint8_t> wished(out.found.size());
  for (const auto& part : query.should) {
    const auto matches = evaluate(index, part);
    for (std::size_t i = 0; i < wished.size(); ++i) {
      wished[i] |= matches.found[i];
      out.score[i] += matches.score[i];
    }
  }
  const bool one_needed = query.must.empty() && query.filter.empty() && !query.should.empty();
  for (std::size_t i = 0; i < wished.size(); ++i) {
    if (one_needed) out.found[i] &= wished[i];
    if (out.found[i] == 0) out.score[i] = 0;
  }
  return out;
}

Matches evaluate(const Index& index, const Everything&) {
  return all_documents(index);
}

bool ranks(const Everything&) {
  return false;
}
bool ranks(const Condition&) {
  return false;
}
bool ranks(const Words&) {
  return true;
}
bool ranks(const Phrase&) {
  return true;
}
bool ranks(const Combination& query) {
  const auto any = [](const std::vector<Query>& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const Query& part) { return karmad::ranks(part); });
  };
  return any(query.must) || any(query.should);
}

void collect(const Everything&, std::vector<std::string>&) {}
void collect(const Condition&, std::vector<std::string>&) {}
void collect(const Words& query, std::vector<std::string>& out) {
  out.insert(out.end(), query.words.begin(), query.words.end());
}
void collect(const Phrase& query, std::vector<std::string>& out) {
  out.insert(out.end(), query.words.begin(), query.words.end());
}
void collect(const Combination& query, std::vector<std::string>& out) {
  for (const auto* parts : {&query.must, &query.filter, &query.should})
    for (const auto& part : *parts) collect_words(part, out);
}

}  // namespace

Matches evaluate(const Index& index, const Query& query) {
  return std::visit([&](const auto& is) { return evaluate(index, is); }, query.is);
}

bool ranks(const Query& query) {
  return std::visit([](const auto& is) { return ranks(is); }, query.is);
}

void collect_words(const Query& query, std::vector<std::string>& out) {
  std::visit([&](const auto& is) { collect(is, out); }, query.is);
}

}  // namespace karmad
