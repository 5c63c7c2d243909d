#include "config/text/sections.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "config/text/paragraphs.hpp"

// The bytes of peer_keys.txt.
extern "C" const char karmad_peer_keys[];      // NOLINT(readability-identifier-naming): a symbol
extern "C" const char karmad_peer_keys_end[];  // NOLINT(readability-identifier-naming)

namespace karmad {

namespace {

using Words = std::set<std::string, std::less<>>;

/// Those of that section.
Words words_of(std::string_view section) {
  const auto all = read_paragraphs(karmad_peer_keys, karmad_peer_keys_end);
  std::istringstream words(std::ranges::find(all, section, &Paragraph::head)->text);
  return {std::istream_iterator<std::string>(words), {}};
}

struct Missed {
  std::string_view key;
  std::string_view what;
};

constexpr std::string_view kOwnTls = "tls_certificate, tls_key and tls_client_ca encrypt";
constexpr std::string_view kNoQueue =
    "search_tickets and update_tickets limit the requests in progress";
constexpr std::string_view kNoThrottle = "ingress_connection_rate limits new connections";

constexpr Missed kMissed[] = {
    {"jobs_queue_size", kNoQueue},
    {"max_children", kNoQueue},
    {"net_throttle_accept", kNoThrottle},
    {"net_throttle_action", kNoThrottle},
    {"queue_max_length", kNoQueue},
    {"ssl_ca", kOwnTls},
    {"ssl_cert", kOwnTls},
    {"ssl_key", kOwnTls},
};

}  // namespace

std::string_view missed_without(SectionKind kind, std::string_view key) {
  if (kind != SectionKind::searchd) return {};
  for (const auto& missed : kMissed)
    if (missed.key == key) return missed.what;
  return {};
}

bool is_ignored_peer_key(SectionKind kind, std::string_view key) {
  static const auto of_searchd = words_of("searchd");
  static const auto of_table = words_of("table");
  if (kind == SectionKind::searchd) return of_searchd.contains(key);
  if (kind == SectionKind::table) return of_table.contains(key);
  return true;  // those sections are ignored as a whole
}

}  // namespace karmad
