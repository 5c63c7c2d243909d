#include "agent/transport/http/url_encoding.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "agent/transport/http/http_syntax.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

int digit_of(char c) {
  if (!wire::in_set(c, wire::kHexByte)) return -1;
  return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

}  // namespace

int escaped_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  const auto high = digit_of(text[1]);
  const auto low = digit_of(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string url_decoded(std::string_view text) {
  std::string out;
  out.resize_and_overwrite(text.size(), [text](char* const begin, std::size_t) {
    auto* to = begin;
    for (std::size_t at = 0; at < text.size(); ++at) {
      char c = text[at];
      if (c == '+') c = ' ';
      if (c == '%')
        if (const auto byte = escaped_byte(text.substr(at)); byte >= 0) {
          c = static_cast<char>(byte);
          at += 2;
        }
      *to++ = c;
    }
    return static_cast<std::size_t>(to - begin);
  });
  return out;
}

std::optional<UrlParameter> take_parameter(std::string_view& query) {
  query.remove_prefix(std::min(query.find_first_not_of('&'), query.size()));
  if (query.empty()) return std::nullopt;
  const auto parameter = query.substr(0, query.find('&'));
  query.remove_prefix(parameter.size());
  const auto name = parameter.substr(0, parameter.find('='));
  const auto value = parameter.substr(std::min(name.size() + 1, parameter.size()));
  return UrlParameter{url_decoded(name), url_decoded(value)};
}

void append_url_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    const bool plain = is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
}

std::string base64_of(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the function appends a zero byte
  const auto size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                    reinterpret_cast<const unsigned char*>(bytes.data()),
                                    static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto padding = text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U;
  if (text.size() % 4 != 0 ||
      text.substr(0, text.size() - padding).find_first_not_of(kLetters) != text.npos)
    return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const auto size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (size < static_cast<int>(padding)) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

}  // namespace karmad
