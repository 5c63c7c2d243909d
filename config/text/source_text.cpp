#include "config/text/source_text.hpp"

#include <fmt/format.h>

namespace karmad {

void SourceText::add(char c, unsigned line, unsigned column, Role role) {
  const auto continues = [&](const Run& run) {
    return run.advances && run.role == role && run.line == line &&
           run.column + (text_.size() - run.offset) == column;
  };
  if (runs_.empty() || !continues(runs_.back()))
    runs_.push_back({text_.size(), line, column, true, role});
  text_ += c;
}

void SourceText::add_substituted(std::string_view text, unsigned line, unsigned column) {
  if (text.empty()) return;
  runs_.push_back({text_.size(), line, column, false, Role::literal});
  text_ += text;
}

const SourceText::Run* SourceText::run_at(std::size_t offset) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                      [](std::size_t o, const Run& run) { return o < run.offset; });
  return after == runs_.begin() ? nullptr : &*std::prev(after);
}

Place SourceText::place(std::size_t offset) const {
  const auto* run = run_at(offset);
  if (run == nullptr) return {file_, 1, 1};
  if (offset == text_.size() && text_.ends_with('\n')) return {file_, run->line + 1, 1};
  const auto further = run->advances ? static_cast<unsigned>(offset - run->offset) : 0;
  return {file_, run->line, run->column + further};
}

bool SourceText::is_literal(std::size_t offset) const {
  const auto* run = run_at(offset);
  return run != nullptr && run->role != Role::plain;
}

bool SourceText::is_unknown(std::size_t offset) const {
  const auto* run = offset < text_.size() ? run_at(offset) : nullptr;
  return run != nullptr && run->role == Role::unknown;
}

bool SourceText::has_unknown() const {
  return std::ranges::any_of(runs_, [this](const Run& run) {
    return run.role == Role::unknown && run.offset < text_.size();
  });
}

SourceText SourceText::slice(std::size_t begin, std::size_t end) const {
  SourceText part(file_);
  part.text_ = text_.substr(begin, end - begin);
  const auto at = place(begin);
  const auto* first = run_at(begin);
  part.runs_.push_back({0, at.line, at.column, first == nullptr || first->advances,
                        first == nullptr ? Role::plain : first->role});
  for (const auto* run = first == nullptr ? runs_.data() : first + 1;
       run != runs_.data() + runs_.size() && run->offset < end; ++run) {
    part.runs_.push_back(*run);
    part.runs_.back().offset -= begin;
  }
  return part;
}

SourceText trimmed(const SourceText& source) {
  const std::string_view text = source.text();
  const auto part = trimmed(text);
  const auto begin = static_cast<std::size_t>(part.data() - text.data());
  return source.slice(begin, begin + part.size());
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string counted_noun(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

}  // namespace karmad
