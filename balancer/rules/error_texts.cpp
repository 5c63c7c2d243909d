#include "balancer/rules/error_texts.hpp"

#include <algorithm>
#include <functional>

namespace karmad {
namespace {

std::size_t hash_of_class(std::string_view text) {
  return std::hash<std::string>()(error_class(text));
}

bool is_quote(char c) {
  return c == '\'' || c == '"' || c == '`';
}

/// Whether the mirrors are known to work apart from this error.
bool mirrors_work(const ErrorFacts& error, const TextHistory& text) {
  return text.answered >= TextHistory::kWorking ||
         (error.proven > 0 && text.answered_ever >= TextHistory::kWorking);
}

}  // namespace

Cause cause_of(const ErrorFacts& error, const TextHistory& text) {
  constexpr std::size_t kEnough = 3;
  if (error.valid_query || text.is_trouble_of_set() || !mirrors_work(error, text))
    return Cause::mirror;
  if (text.refuted && text.agreed < TextHistory::kProof) return Cause::mirror;
  const bool known = text.agreed > 0;
  const auto query_if = [](bool shown) { return shown ? Cause::query : Cause::undecided; };
  if (error.alike < 2)
    return query_if(known && error.one_shard && (!error.proven_left || !error.spare_budget));
  return query_if((!error.proven_left && !error.unknown_left) ||
                  error.proven >= (known ? 2 : kEnough));
}

std::string error_class(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      if (!kept.ends_with('0')) kept.push_back('0');
      continue;
    }
    kept.push_back(c);
    if (!is_quote(c)) continue;
    const auto end = text.find(c, i + 1);
    if (end == text.npos) continue;
    kept.push_back(c);
    i = end;
  }
  return kept;
}

const ErrorTexts::Entry* ErrorTexts::find(std::size_t hash) const {
  const auto found = std::ranges::find(entries_, hash, &Entry::hash);
  return found == entries_.end() ? nullptr : &*found;
}

TextHistory ErrorTexts::history_of(const Entry& entry, std::uint64_t answered) {
  const auto different = std::min(entry.queries, entry.different.size());
  const auto oldest = entry.queries > different ? entry.queries % different : 0;
  return {.different = different,
          .answered = different == 0 ? 0 : answered - entry.different[oldest].answered,
          .answered_ever = answered,
          .agreed = entry.agreed,
          .refuted = entry.refuted};
}

void ErrorTexts::take_over(const ErrorTexts& before) {
  const std::scoped_lock lock(mutex_, before.mutex_);
  entries_ = before.entries_;
  logged_ = before.logged_;
}

TextHistory ErrorTexts::got(std::string_view text, std::size_t fingerprint, std::uint64_t answered,
                            TimePoint now) {
  const auto hash = hash_of_class(text);
  const std::scoped_lock lock(mutex_);
  auto* entry = find(hash);
  if (entry == nullptr) {
    entry = entries_.size() < kMost ? &entries_.emplace_back()
                                    : &*std::ranges::min_element(entries_, {}, &Entry::used);
    *entry = {.hash = hash};
  } else if (now - entry->used >= kRemembered) {
    *entry = {.hash = hash};
  }
  entry->used = now;
  auto& ring = entry->different;
  const auto filled = std::min(entry->queries, ring.size());
  const bool is_new =
      std::none_of(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(filled),
                   [&](const Seen& seen) { return seen.fingerprint == fingerprint; });
  if (is_new) ring[entry->queries++ % ring.size()] = {fingerprint, answered};
  return history_of(*entry, answered);
}

TextHistory ErrorTexts::history(std::string_view text, std::uint64_t answered,
                                TimePoint now) const {
  const auto hash = hash_of_class(text);
  const std::scoped_lock lock(mutex_);
  const auto* entry = find(hash);
  if (entry == nullptr || now - entry->used >= kRemembered) return {.answered_ever = answered};
  return history_of(*entry, answered);
}

void ErrorTexts::agreed(std::string_view text) {
  const auto hash = hash_of_class(text);
  const std::scoped_lock lock(mutex_);
  auto* entry = find(hash);
  if (entry != nullptr && entry->agreed < TextHistory::kProof) ++entry->agreed;
}

void ErrorTexts::refuted(std::string_view text) {
  const auto hash = hash_of_class(text);
  const std::scoped_lock lock(mutex_);
  auto* entry = find(hash);
  if (entry == nullptr) return;
  entry->agreed = 0;
  entry->refuted = true;
}

std::optional<std::uint64_t> ErrorTexts::line_due(std::string_view text, Cause about,
                                                  TimePoint now) {
  const auto hash = hash_of_class(text);
  const std::scoped_lock lock(mutex_);
  auto* entry = find(hash);
  auto* const logged = entry == nullptr ? nullptr : &entry->logged[about == Cause::query ? 1 : 0];
  const bool due = logged != nullptr && (!*logged || now - **logged >= kSameLineEvery) &&
                   (!logged_ || now - *logged_ >= kLineEvery);
  if (!due) {
    ++left_out_;
    return std::nullopt;
  }
  *logged = logged_ = now;
  return std::exchange(left_out_, 0);
}

namespace {

constexpr unsigned kTimeBits = 24;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;

std::uint64_t seconds(TimePoint now) {
  return static_cast<std::uint64_t>(
             std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count()) &
         kTimeMask;
}

/// The hash without the bits that choose the place; never 0.
std::uint64_t kept(std::size_t fingerprint) {
  return (std::uint64_t{fingerprint} | std::uint64_t{1} << 63) & ~kTimeMask;
}

std::size_t place(std::size_t fingerprint) {
  return fingerprint % AnsweredQueries::kRecent;
}

}  // namespace

void AnsweredQueries::take_over(const AnsweredQueries& before) {
  for (std::size_t i = 0; i < std::min(cells_.size(), before.cells_.size()); ++i) {
    cells_[i].count.set(before.cells_[i].count.get());
    for (std::size_t at = 0; at < kRecent; ++at)
      cells_[i].recent[at].set(before.cells_[i].recent[at].get());
  }
}

void AnsweredQueries::add(unsigned worker, std::size_t fingerprint, TimePoint now) {
  auto& cell = cells_[worker];
  cell.count.add(1);
  auto& recent = cell.recent[place(fingerprint)];
  const auto value = kept(fingerprint) | seconds(now);
  if (recent.get() != value) recent.set(value);
}

std::uint64_t AnsweredQueries::count() const {
  std::uint64_t sum = 0;
  for (const auto& cell : cells_) sum += cell.count.get();
  return sum;
}

bool AnsweredQueries::contains(std::size_t fingerprint, TimePoint now) const {
  const auto wanted = kept(fingerprint);
  const auto at = place(fingerprint);
  constexpr auto kForgotten = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(kRemembered).count());
  return std::ranges::any_of(cells_, [&](const Cell& cell) {
    const auto value = cell.recent[at].get();
    return (value & ~kTimeMask) == wanted && ((seconds(now) - value) & kTimeMask) < kForgotten;
  });
}

void CrashingRequests::take_over(const CrashingRequests& before) {
  const std::scoped_lock lock(mutex_, before.mutex_);
  entries_ = before.entries_;
  any_ = before.any_.load();
}

void CrashingRequests::add(std::size_t fingerprint, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.added && entry.fingerprint == fingerprint;
  });
  if (found == entries_.end())  // std::nullopt sorts as the oldest
    found = std::ranges::min_element(entries_, {}, &Entry::added);
  *found = {fingerprint, now};
  any_ = true;
}

bool CrashingRequests::contains(std::size_t fingerprint, TimePoint now) const {
  if (!any()) return false;
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.added && entry.fingerprint == fingerprint && now - *entry.added < kRefused;
  });
}

}  // namespace karmad
