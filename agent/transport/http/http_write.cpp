#include "agent/transport/http/http_write.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

#include "agent/transport/http/field_names.hpp"
#include "agent/transport/http/http_syntax.hpp"

namespace karmad {

using namespace wire;

namespace {

/// Appends all parts with one resize. Inlined, so that short constant parts are copied by a few
/// moves instead of calls.
template <class... Parts>
[[gnu::always_inline]] inline void append(std::string& out, const Parts&... part) {
  const auto before = out.size();
  const auto size = before + (std::string_view(part).size() + ...);
  // g++ 12 passes the new capacity to the operation instead of the requested size.
  out.resize_and_overwrite(size, [&](char* bytes, std::size_t) {
    char* at = bytes + before;
    const auto put = [&at](std::string_view text) {
      std::char_traits<char>::copy(at, text.data(), text.size());
      at += text.size();
    };
    (put(part), ...);
    return size;
  });
}

/// The common end of requests and responses: fields of the body, extra fields, fields passed on.
template <class Message>
void append_rest(std::string& out, const Message& message) {
  if (!message.content_type.empty()) append_field(out, "Content-Type", message.content_type);
  if (message.content_length) {
    std::array<char, 20> digits;
    const auto* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), *message.content_length).ptr;
    append(out, "Content-Length: ", std::string_view(digits.data(), end), "\r\n");
  }
  for (const auto& field : message.extra) append_field(out, field.name, field.value);
  if (message.passed_on != nullptr) {
    constexpr std::array<std::string_view, 1> content_type{"content-type"};
    const std::span<const std::string_view> skip{content_type};
    copy_end_to_end(*message.passed_on, out, skip.first(message.content_type.empty() ? 0 : 1),
                    message.extra);
  }
  out.append("\r\n");
}

}  // namespace

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  assert(!name.empty() && all_in(name, kTokenByte));
  assert(all_in(value, kValueByte));
  append(out, name, ": ", value, "\r\n");
}

void copy_end_to_end(const Head& from, std::string& out, std::span<const std::string_view> skip,
                     std::span<const Field> replaced) {
  for (const auto& field : from.all()) {
    const auto same = [&](std::string_view name) { return same_word(field.name, name); };
    if (same("host") || same(kReadPreference) || is_hop_by_hop(from, field.name) ||
        std::ranges::any_of(skip, same) || std::ranges::any_of(replaced, same, &Field::name))
      continue;
    append_field(out, field.name, field.value);
  }
}

void write_request_head(std::string& out, const RequestToWrite& request) {
  assert(!request.method.empty() && all_in(request.method, kTokenByte));
  assert(!request.target.empty() && all_in(request.target, kTargetByte));
  assert(all_in(request.host, kValueByte));
  append(out, request.method, " ", request.target, " HTTP/1.1\r\nHost: ", request.host, "\r\n");
  append_rest(out, request);
}

void write_response_head(std::string& out, const ResponseToWrite& response) {
  assert(response.status >= 100 && response.status <= 599);
  const auto status = static_cast<unsigned>(response.status);
  const std::array<char, 3> digits{static_cast<char>('0' + status / 100),
                                   static_cast<char>('0' + status / 10 % 10),
                                   static_cast<char>('0' + status % 10)};
  append(out, "HTTP/1.1 ", std::string_view(digits.data(), digits.size()), " ",
         reason_phrase(response.status), "\r\n");
  if (!response.keep_alive)
    append_field(out, "Connection", "close");
  else if (response.client_minor_version == 0)
    append_field(out, "Connection", "keep-alive");
  append_rest(out, response);
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 203:
      return "Non-Authoritative Information";
    case 204:
      return "No Content";
    case 205:
      return "Reset Content";
    case 206:
      return "Partial Content";
    case 300:
      return "Multiple Choices";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 402:
      return "Payment Required";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 407:
      return "Proxy Authentication Required";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 508:
      return "Loop Detected";
    default:
      return "Unknown";
  }
}

}  // namespace karmad
