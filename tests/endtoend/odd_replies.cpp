#include "tests/endtoend/odd_replies.hpp"

#include <algorithm>

namespace karmad::test {
namespace {

using Then = Reaction::Then;

std::string head(std::string_view fields) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{}\r\n", fields);
}
std::string of_length(std::size_t length) {
  return head(fmt::format("Content-Length: {}\r\n", length));
}
std::string whole(std::string_view body) {
  return of_length(body.size()) + std::string(body);
}
std::string chunked(std::string_view body, std::size_t step) {
  auto out = head("Transfer-Encoding: chunked\r\n");
  for (std::size_t at = 0; at < body.size(); at += step)
    out += fmt::format("{:x}\r\n{}\r\n", std::min(step, body.size() - at), body.substr(at, step));
  return out + "0\r\nX-Trailer: t\r\n\r\n";
}

}  // namespace

std::vector<OddReply> odd_replies() {
  using enum End;
  const auto size = kBody.size();
  const std::string brackets = hit(std::string(100'000, '['));
  const std::string balanced = hit(std::string(100'000, '[') + std::string(100'000, ']'));
  const std::string large = hit("\"" + std::string(20 * kMillion, 'x') + "\"");
  const std::string too_large = hit("\"" + std::string(32 * kMillion, 'x') + "\"");
  const auto* wrong = "wrong_replies";
  const auto* closing = "unexpected_closings";
  const auto* timeouts = "query_timeouts";
  return {
      // Unusual, and allowed.
      {"in chunks", {chunked(kBody, 7)}, taken, taken, taken, ""},
      {"in one chunk, byte by byte",
       {chunked(kBody, 1000), Then::stay, 1},
       taken,
       taken,
       taken,
       ""},
      {"until the end of the connection", {head("") + kBody, Then::close}, taken, taken, taken, ""},
      {"until the end, in HTTP/1.0",
       {"HTTP/1.0 200 OK\r\n\r\n" + kBody, Then::close},
       taken,
       taken,
       taken,
       ""},
      {"after interim answers",
       {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
        whole(kBody)},
       taken,
       taken,
       taken,
       ""},
      {"with names in odd case",
       {fmt::format(
           "HTTP/1.1 200\r\ncOnTeNt-LeNgTh:{}\r\nCONTENT-TYPE:\tapplication/JSON \r\n\r\n{}", size,
           kBody)},
       taken,
       taken,
       taken,
       ""},
      {"byte by byte", {whole(kBody), Then::stay, 1}, taken, taken, taken, ""},
      {"of 20 million", {whole(large)}, taken, taken, taken, ""},
      {"of 20 million in chunks", {chunked(large, 65536)}, taken, taken, taken, ""},
      {"of 20 million until the end", {head("") + large, Then::close}, taken, taken, taken, ""},
      {"longer than it said",
       {of_length(size) + kBody + "HTTP/1.1 200 OK\r\n"},
       taken,
       taken,
       taken,
       ""},
      {"then closed though it said otherwise",
       {whole(kBody), Then::close},
       taken,
       taken,
       taken,
       ""},
      {"then reset", {whole(kBody), Then::close}, taken, taken, taken, ""},
      // Not HTTP, or not to be trusted.
      {"with two lengths",
       {head(fmt::format("Content-Length: {}\r\nContent-Length: 5\r\n", size)) + kBody},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a length and chunks",
       {head(fmt::format("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", size)) + kBody},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a folded field",
       {head("X: a\r\n b\r\n") + kBody},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with bad chunks",
       {head("Transfer-Encoding: chunked\r\n") + "zz\r\n"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a chunk of 2^64",
       {head("Transfer-Encoding: chunked\r\n") + "10000000000000000\r\n"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with a head without end",
       {head("X-" + std::string(70'000, 'a') + ": b\r\n")},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"with interim answers without end",
       [] {
         Reaction r;
         for (int i = 0; i < 50; ++i) r.bytes += "HTTP/1.1 102 Processing\r\n\r\n";
         return r;
       }(),
       elsewhere, elsewhere, elsewhere, wrong},
      {"that changes to another protocol",
       {"HTTP/1.1 101 X\r\nUpgrade: h2c\r\n\r\n" + whole(kBody)},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"that is no HTTP", {"220 mail.example ESMTP\r\n"}, elsewhere, elsewhere, elsewhere, wrong},
      {"of garbage", {std::string("\x00\xff\x16\x03", 4)}, elsewhere, elsewhere, elsewhere, wrong},
      {"HTTP/2", {"HTTP/2 200\r\n\r\n"}, elsewhere, elsewhere, elsewhere, wrong},
      {"of too many bytes", {whole(too_large)}, elsewhere, elsewhere, elsewhere, wrong},
      {"announced as too large",
       {of_length(999'999'999'999)},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"of too many bytes in chunks",
       {chunked(too_large, 1'000'000)},
       taken,  // without a length it may have any, where it is not read
       elsewhere,
       taken,
       wrong},
      {"of too many bytes until the end",
       {head("") + too_large, Then::close},
       taken,  // without a length it may have any, where it is not read
       elsewhere,
       taken,
       wrong},
      // Ended too soon.
      {"missing", {"", Then::close}, elsewhere, elsewhere, elsewhere, closing},
      {"missing, with a reset",
       {"", Then::reset},
       elsewhere,
       elsewhere,
       elsewhere,
       "network_errors"},
      {"cut in its head",
       {"HTTP/1.1 200 OK\r\nCont", Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      {"shorter than it said",
       {of_length(size + 1) + kBody, Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      {"reset in its middle",
       {of_length(size) + kBody.substr(0, 50), Then::reset},
       elsewhere,
       elsewhere,
       elsewhere,
       "network_errors"},
      {"cut in a chunk",
       {head("Transfer-Encoding: chunked\r\n") + "ff\r\nabc", Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      {"without the last chunk",
       {head("Transfer-Encoding: chunked\r\n") + fmt::format("{:x}\r\n{}\r\n", size, kBody),
        Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       closing},
      // Never complete.
      {"that never comes", {"", Then::hang}, timeout, timeout, timeout, timeouts},
      {"that stops in its head",
       {"HTTP/1.1 200 OK\r\nCont", Then::hang},
       timeout,
       timeout,
       timeout,
       timeouts},
      {"that stops in its body",
       {of_length(size) + kBody.substr(0, 50), Then::hang},
       timeout,
       timeout,
       timeout,
       timeouts},
      {"that stops between chunks",
       {head("Transfer-Encoding: chunked\r\n") + "1\r\n{\r\n", Then::hang},
       timeout,
       timeout,
       begun,
       timeouts},
      // HTTP, and nothing the client could use: the dialect's to judge.
      {"empty", {whole("")}, elsewhere, elsewhere, taken, wrong},
      {"that is no JSON",
       {whole("<html>Welcome to nginx!</html>")},
       elsewhere,
       elsewhere,
       taken,
       wrong},
      {"of another type",
       {fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{}",
                    size, kBody)},
       elsewhere,
       elsewhere,
       taken,
       wrong},
      {"cut within its JSON", {whole(kBody.substr(0, 60))}, elsewhere, elsewhere, taken, wrong},
      {"of broken JSON", {whole(R"({"hits":{"hits":[{]}})")}, taken, elsewhere, taken, wrong},
      {"without hits", {whole("{}")}, taken, elsewhere, taken, wrong},
      {"with hits of a wrong type", {whole(R"({"hits":7})")}, taken, elsewhere, taken, wrong},
      {"with brackets in a hit", {whole(brackets)}, taken, elsewhere, taken, wrong},
      {"with nested brackets in a hit", {whole(balanced)}, taken, elsewhere, taken, wrong},
      {"204", {"HTTP/1.1 204 No Content\r\n\r\n"}, elsewhere, elsewhere, taken, wrong},
      {"304", {"HTTP/1.1 304 Not Modified\r\n\r\n"}, elsewhere, elsewhere, taken, wrong},
      {"500 without a reason",
       {"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      {"503",
       {"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong},
      // Before the request was read.
      {"at the head", {whole(kBody)}, taken, taken, taken, "", true},
      {"at the head, then closed", {whole(kBody), Then::close}, taken, taken, taken, "", true},
      {"of 20 million at the head", {whole(large)}, taken, taken, taken, "", true},
      {"503 at the head",
       {"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy", Then::close},
       elsewhere,
       elsewhere,
       elsewhere,
       wrong,
       true},
  };
}

}  // namespace karmad::test
