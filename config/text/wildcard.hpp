#pragma once

#include <cstddef>
#include <string_view>

namespace karmad {

/// Whether the text fits the pattern, in which `wildcard` stands for any bytes. `match_one` says
/// how many bytes at the beginning of a pattern match this byte of the text; 0: none do. Without
/// recursion: after a mismatch the last wildcard takes one byte more, since those before it match
/// already.
template <class MatchOne>
bool matches_wildcard(std::string_view text, std::string_view pattern, char wildcard,
                      MatchOne match_one) {
  std::size_t at = 0;         // in the pattern
  auto after = pattern.npos;  // in the pattern, behind the last wildcard
  std::size_t resume = 0;     // in the text, where that wildcard ends now
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == wildcard) {
      after = ++at;
      resume = i;
    } else if (const std::size_t used =
                   at < pattern.size() ? match_one(pattern.substr(at), text[i]) : 0;
               used > 0) {
      at += used;
      ++i;
    } else if (after != pattern.npos) {
      at = after;
      i = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of(wildcard, at) == pattern.npos;
}

}  // namespace karmad
