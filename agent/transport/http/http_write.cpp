#include "agent/transport/http/http_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <cassert>
#include <charconv>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

using namespace wire;

namespace {

/// Writes into memory that has room for all of it. Inlined, so that short constant parts are copied
/// by a few moves instead of calls.
struct Writer {
  char* at;

  [[gnu::always_inline]] void put(std::string_view text) {
    std::char_traits<char>::copy(at, text.data(), text.size());
    at += text.size();
  }
  [[gnu::always_inline]] void put_field(std::string_view name, std::string_view value) {
    assert(!name.empty() && all_in(name, kTokenByte));
    assert(all_in(value, kValueByte));
    put(name);
    put(": ");
    put(value);
    put("\r\n");
  }
  [[gnu::always_inline]] void put_field(std::string_view name, std::uint64_t number) {
    put(name);
    put(": ");
    at = std::to_chars(at, at + kDigits, number).ptr;
    put("\r\n");
  }

  static constexpr std::size_t kDigits = 20;
  /// Bytes of a field besides its name and its value.
  static constexpr std::size_t kAround = 4;
};

/// Appends what `write` puts, at most that many bytes.
template <class Write>
[[gnu::always_inline]] inline void append_within(std::string& out, std::size_t most, Write write) {
  const auto before = out.size();
  out.resize_and_overwrite(before + most, [&](char* bytes, std::size_t) {
    Writer writer{bytes + before};
    write(writer);
    return static_cast<std::size_t>(writer.at - bytes);
  });
}

/// In any case.
bool begins_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && same_word(text.substr(0, word.size()), word);
}

/// Fields about the bytes of a body as they were sent (RFC 9530, RFC 2616 section 14.15, RFC 9110
/// section 14.3).
bool is_about_bytes(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"Content-MD5", "Digest", "Content-Digest",
                                                   "Repr-Digest", "Accept-Ranges"};
  return std::ranges::any_of(kNames, [&](auto other) { return same_word(name, other); });
}

/// Appends the fields of `from` that may travel on and whose name is `wanted`.
template <class Wanted>
void copy_if(const Head& from, std::string& out, Wanted wanted) {
  for (const auto& [name, value] : from.all())
    if (!same_word(name, "host") && !same_word(name, kReadPreference) &&
        !is_hop_by_hop(from, name) && wanted(name))
      append_field(out, name, value);
}

/// Appends a whole head. `begin`: its first line and fields, of at most `size` bytes.
template <class Message, class Begin>
void append_head(std::string& out, const Message& message, std::size_t size, Begin begin) {
  constexpr std::size_t kBody = 64;  // more than the names of the fields about the body take
  auto most = size + kBody + message.content_type.size();
  for (const auto& field : message.numbers)
    most += field.name.size() + Writer::kDigits + Writer::kAround;
  for (const auto& field : message.extra)
    most += field.name.size() + field.value.size() + Writer::kAround;
  append_within(out, most, [&](Writer& head) {
    begin(head);
    if (!message.content_type.empty()) head.put_field("Content-Type", message.content_type);
    if (message.content_length) head.put_field("Content-Length", *message.content_length);
    for (const auto& field : message.numbers) head.put_field(field.name, field.value);
    for (const auto& field : message.extra) head.put_field(field.name, field.value);
    if (message.passed_on == nullptr) head.put("\r\n");
  });
  if (message.passed_on == nullptr) return;
  const auto& names = message.passed_on->names;
  boost::container::small_vector<std::string_view, 16> replaced;  // of those that may be there
  const auto replaces = [&](std::string_view name) {
    if (names.may_have(name)) replaced.push_back(name);
  };
  if (!message.content_type.empty()) replaces("Content-Type");
  if (!message.withheld.empty()) replaces(message.withheld);
  for (const auto& field : message.numbers) replaces(field.name);
  for (const auto& field : message.extra) replaces(field.name);
  copy_if(*message.passed_on, out, [&](std::string_view name) {
    if constexpr (requires { message.drops_cors; })
      if ((message.drops_cors && begins_with_word(name, "Access-Control-")) ||
          (message.drops_digests && is_about_bytes(name)))
        return false;
    return std::ranges::none_of(replaced,
                                [&](std::string_view other) { return same_word(name, other); });
  });
  out.append("\r\n");
}

}  // namespace

void append_field(std::string& out, std::string_view name, std::string_view value) {
  append_within(out, name.size() + value.size() + Writer::kAround,
                [&](Writer& field) { field.put_field(name, value); });
}

void copy_end_to_end(const Head& from, std::string& out) {
  copy_if(from, out, [](std::string_view) { return true; });
}

void write_request_head(std::string& out, const RequestToWrite& request) {
  assert(!request.method.empty() && all_in(request.method, kTokenByte));
  assert(!request.target.empty() && all_in(request.target, kTargetByte));
  assert(all_in(request.host, kValueByte));
  constexpr std::size_t kFixed = 32;  // more than the parts between take
  const auto size = kFixed + request.method.size() + request.target.size() + request.host.size();
  append_head(out, request, size, [&](Writer& head) {
    head.put(request.method);
    head.put(" ");
    head.put(request.target);
    head.put(" HTTP/1.1\r\nHost: ");
    head.put(request.host);
    head.put("\r\n");
  });
}

void write_response_head(std::string& out, const ResponseToWrite& response) {
  assert(response.status >= 100 && response.status <= 599);
  constexpr std::size_t kFixed = 64;  // more than the status and Connection take
  const auto phrase = reason_phrase(response.status);
  append_head(out, response, kFixed + phrase.size(), [&](Writer& head) {
    head.put("HTTP/1.1 ");
    for (const auto power : {100, 10, 1})
      *head.at++ = static_cast<char>('0' + response.status / power % 10);
    head.put(" ");
    head.put(phrase);
    head.put("\r\n");
    if (!response.keep_alive)
      head.put_field("Connection", "close");
    else if (response.client_minor_version == 0)
      head.put_field("Connection", "keep-alive");
  });
}

void make_chunk(std::string& body) {
  if (body.empty()) return;
  body.insert(0, fmt::format("{:x}\r\n", body.size()));
  body += "\r\n";
}

namespace {

struct KnownStatus {
  std::size_t status;
  std::string_view phrase;
};
constexpr std::array kKnownStatuses{
    KnownStatus{100, "Continue"},
    KnownStatus{101, "Switching Protocols"},
    KnownStatus{200, "OK"},
    KnownStatus{201, "Created"},
    KnownStatus{202, "Accepted"},
    KnownStatus{203, "Non-Authoritative Information"},
    KnownStatus{204, "No Content"},
    KnownStatus{205, "Reset Content"},
    KnownStatus{206, "Partial Content"},
    KnownStatus{300, "Multiple Choices"},
    KnownStatus{301, "Moved Permanently"},
    KnownStatus{302, "Found"},
    KnownStatus{303, "See Other"},
    KnownStatus{304, "Not Modified"},
    KnownStatus{307, "Temporary Redirect"},
    KnownStatus{308, "Permanent Redirect"},
    KnownStatus{400, "Bad Request"},
    KnownStatus{401, "Unauthorized"},
    KnownStatus{402, "Payment Required"},
    KnownStatus{403, "Forbidden"},
    KnownStatus{404, "Not Found"},
    KnownStatus{405, "Method Not Allowed"},
    KnownStatus{406, "Not Acceptable"},
    KnownStatus{407, "Proxy Authentication Required"},
    KnownStatus{408, "Request Timeout"},
    KnownStatus{409, "Conflict"},
    KnownStatus{410, "Gone"},
    KnownStatus{411, "Length Required"},
    KnownStatus{412, "Precondition Failed"},
    KnownStatus{413, "Content Too Large"},
    KnownStatus{414, "URI Too Long"},
    KnownStatus{415, "Unsupported Media Type"},
    KnownStatus{416, "Range Not Satisfiable"},
    KnownStatus{417, "Expectation Failed"},
    KnownStatus{421, "Misdirected Request"},
    KnownStatus{422, "Unprocessable Content"},
    KnownStatus{426, "Upgrade Required"},
    KnownStatus{428, "Precondition Required"},
    KnownStatus{429, "Too Many Requests"},
    KnownStatus{431, "Request Header Fields Too Large"},
    KnownStatus{500, "Internal Server Error"},
    KnownStatus{501, "Not Implemented"},
    KnownStatus{502, "Bad Gateway"},
    KnownStatus{503, "Service Unavailable"},
    KnownStatus{504, "Gateway Timeout"},
    KnownStatus{505, "HTTP Version Not Supported"},
    KnownStatus{508, "Loop Detected"},
};

/// By status.
constexpr auto kPhrases = [] {
  std::array<std::string_view, 600> all;
  all.fill("Unknown");
  for (const auto& known : kKnownStatuses) all[known.status] = known.phrase;
  return all;
}();

}  // namespace

std::string_view reason_phrase(int status) {
  const auto at = static_cast<std::size_t>(status);  // a negative one becomes large
  return at < kPhrases.size() ? kPhrases[at] : "Unknown";
}

}  // namespace karmad
