#include "demo/wire.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace karmad::demo {

namespace {

constexpr std::size_t kChunk = 100;

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

std::string head(const HttpAnswer& answer, std::string_view framing, std::string_view type,
                 const WireOptions& options) {
  auto out = fmt::format("HTTP/1.{} {} {}\r\nServer: karmad-demo-agent/" KARMAD_VERSION
                         "\r\nContent-Type: {}\r\n{}\r\nX-Demo-Agent: {}\r\n",
                         options.http10 ? 0 : 1, answer.status, reason(answer.status), type,
                         framing, options.name);
  if (!answer.allow.empty()) out += fmt::format("Allow: {}\r\n", answer.allow);
  if (!options.date.empty()) out += fmt::format("Date: {}\r\n", options.date);
  if (options.retry_after >= 0) out += fmt::format("Retry-After: {}\r\n", options.retry_after);
  if (!options.keep_alive) out += "Connection: close\r\n";
  if (options.keep_alive && options.http10) out += "Connection: keep-alive\r\n";
  return out + "\r\n";
}

/// A complete answer whose head announces `announced` bytes.
std::string whole(const HttpAnswer& answer, std::size_t announced, const WireOptions& options) {
  auto out = head(answer, fmt::format("Content-Length: {}", announced), answer.type, options);
  if (!options.head) out += answer.body;
  return out;
}

std::string in_chunks(const HttpAnswer& answer, const WireOptions& options) {
  auto out = head(answer, "Transfer-Encoding: chunked", answer.type, options);
  if (options.head) return out;
  for (std::size_t at = 0; at < answer.body.size(); at += kChunk) {
    const auto chunk = std::string_view(answer.body).substr(at, kChunk);
    fmt::format_to(std::back_inserter(out), "{:x}\r\n{}\r\n", chunk.size(), chunk);
  }
  return out + "0\r\n\r\n";
}

}  // namespace

Delivery deliver(const HttpAnswer& answer, Mode mode, const WireOptions& options) {
  const auto& body = answer.body;
  const auto usual = options.keep_alive ? After::keep : After::close;
  switch (mode) {
    case Mode::ok:
    case Mode::refuse:
    case Mode::garbage:
      return {whole(answer, body.size(), options), usual};
    case Mode::chunked:
      if (options.http10) return {whole(answer, body.size(), options), usual};
      return {in_chunks(answer, options), usual};
    case Mode::blackhole:
      return {{}, After::silence};
    case Mode::reset:
      return {{}, After::reset};
    case Mode::close_before:
      return {{}, After::close};
    case Mode::close_within: {
      auto bytes = whole(answer, body.size(), options);
      bytes.resize(bytes.size() - body.size() / 2 - 1);
      return {std::move(bytes), After::close};
    }
    case Mode::close_after:
      return {whole(answer, body.size(), options), After::close};
    case Mode::not_http:
      return {"220 this is not the server you are looking for\r\n", After::close};
    case Mode::not_json: {
      const HttpAnswer page{200, "<html><body>It works!</body></html>", {}};
      return {
          head(page, fmt::format("Content-Length: {}", page.body.size()), "text/html", options) +
              page.body,
          usual};
    }
    case Mode::wrong_json: {
      const HttpAnswer other{200, R"({"hits":"plenty","took":[]})", {}};
      return {whole(other, other.body.size(), options), usual};
    }
    case Mode::truncated: {
      const HttpAnswer half{answer.status, body.substr(0, body.size() / 2), {}};
      return {whole(half, half.body.size(), options), usual};
    }
    case Mode::short_body:
      return {whole(answer, body.size() + 100, options), After::silence};
    case Mode::long_body:
      return {whole(answer, body.size() / 2, options), usual};
    case Mode::huge:
      return {whole({200, {}, {}}, std::size_t{256} << 20, options), After::close};
  }
  return {whole(answer, body.size(), options), usual};
}

}  // namespace karmad::demo
