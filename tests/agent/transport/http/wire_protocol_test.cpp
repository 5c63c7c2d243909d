#include "agent/transport/http/wire_protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace karmad {
namespace {

using namespace std::string_view_literals;

std::string text_of(std::string_view bytes) {
  const auto found = recognize_protocol(bytes);
  return found ? found->text() : "nothing";
}

TEST(WireProtocol, IsRecognizedByItsFirstBytes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv, "TLS (a ClientHello)"},
      {"\x16\x03"sv, "TLS (a ClientHello)"},
      {"\x16\x03\x03\x00\x7a\x02"sv, "TLS (a ServerHello)"},
      {"\x15\x03\x01\x00\x02\x02\x46"sv, "TLS (an alert)"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"sv, "HTTP/2 (its preface)"},
      {"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80"sv, "HTTP/2 (a SETTINGS frame)"},
      {"\0\0\0\x04\0\0\0\0\0"sv, "HTTP/2 (a SETTINGS frame)"},
      {"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01"sv, "HTTP/2 (a GOAWAY frame)"},
      {"PROXY TCP4 10.0.0.1 10.0.0.2 5000 9308\r\nGET / HTTP/1.1\r\n"sv,
       "the PROXY protocol (version 1)"},
      {"PROXY UNKNOWN\r\n"sv, "the PROXY protocol (version 1)"},
      {"\r\n\r\n\0\r\nQUIT\n\x21\x11"sv, "the PROXY protocol (version 2)"},
      {"\0\r\nQUIT\n\x21"sv, "the PROXY protocol (version 2)"},
      {"\x4a\0\0\0\x0a"
       "8.0.33\0\x08\0\0\0"sv,
       "MySQL (a greeting of 8.0.33)"},
      {"\x5b\0\0\0\x0a"
       "5.5.5-10.11.2-MariaDB"sv,
       "MySQL (a greeting of 5.5.5-10.11.2-MariaDB)"},
      {"\x45\0\0\0\xff\x6a\x04Host '10.0.0.1' is not allowed"sv,
       "MySQL (error 1130: Host '10.0.0.1' is not allowed)"},
      {"\x17\0\0\0\xff\x10\x04#08004Too many connections"sv, "MySQL (error 1040: Too many conne)"},
      {"SSH-2.0-OpenSSH_9.6\r\n"sv, "SSH (SSH-2.0-OpenSSH_9.6)"},
      {"-ERR unknown command 'POST'\r\n"sv, "Redis (-ERR unknown command 'POST')"},
      {"GET / HTTP/1.1\r\n"sv, "HTTP"},
      {"OPTIONS /search HTTP/1.1\r\n"sv, "HTTP"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(text_of(bytes), text);
}

TEST(WireProtocol, IsUnknownForAnythingElse) {
  for (const auto bytes : {
           ""sv,
           "\x16"sv,
           "\x16\x02\x01"sv,
           "\x16\x03\x05"sv,
           "\x16\x03\x01\x02\x00\x09"sv,
           "HTTP/1.1 200 OK\r\n"sv,
           "PRI * HTTP/1.1\r\n"sv,
           "PRI"sv,
           "get / HTTP/1.1"sv,
           "GETS\0/"sv,
           "\r\n\r\n"sv,
           "\r\n\r\n\r\n"sv,
           "PROXY TCP5 "sv,
           "SSH"sv,
           "+OK\r\n"sv,
           "220 mail.example ESMTP\r\n"sv,
           "\x4a\0\0\0\x0a"sv,                // no version yet
           "\x4a\0\0\0\x0a\0\0\0\0"sv,        // an empty one
           "\x4a\0\0\0\x0a\x01\x02\x03\0"sv,  // none that is text
           "\x4a\0\0\x01\x0a"
           "8.0.33\0"sv,  // not the first packet
           "\xff\xff\xff\0\x0a"
           "8.0.33\0"sv,                                    // a greeting of 16 MB
           "\x4a\0\0\0\xff\0\0text"sv,                      // error 0
           "\0\0\x05\x04\0\0\0\0\0\0"sv,                    // settings have six bytes each
           "\0\0\x06\x04\0\0\0\0\x01"sv,                    // they are of stream 0
           "\x50\0\0\x01\x85\xa6\xff\x01\0\0\0\x01\x2d"sv,  // the answer to a greeting of MySQL
       })
    EXPECT_EQ(text_of(bytes), "nothing") << printable(bytes);
}

TEST(WireProtocol, ShowsTextOfThePeerShortAndPrintable) {
  EXPECT_EQ(text_of("SSH-2.0-\x1b[31m\xc3\xa4\x7f\n"sv),
            "SSH (SSH-2.0-?[31m?"
            "?"
            "?)");
  EXPECT_EQ(text_of("SSH-2.0-" + std::string(1000, 'x')),
            "SSH (SSH-2.0-" + std::string(32, 'x') + "…)");
  EXPECT_EQ(printable("a\nb\0c"sv), "a?b?c");
}

// Whatever a peer sends, and however little of it has arrived.
TEST(WireProtocol, OfHostileBytesIsRecognizedWithoutReadingBeyondThem) {
  const std::string_view begins[] = {
      "\x16\x03\x01"sv,   "\x15\x03"sv,    "PRI * HTTP/2.0\r\n"sv,
      "\0\0\x06\x04"sv,   "PROXY TCP4 "sv, "\r\n\r\n\0\r\nQUIT\n"sv,
      "\x4a\0\0\0\x0a"sv, "SSH-2.0"sv,     "\x09\0\0\0\xff\x10\x04#"sv,
      "-ERR "sv,          "GET /"sv};
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(begins[random() % std::size(begins)]);
    for (auto more = random() % 40; more > 0; --more) bytes += static_cast<char>(random());
    if (round % 2 == 0) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    bytes.shrink_to_fit();
    const auto text = text_of(bytes);
    EXPECT_LT(text.size(), 120U);
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return (c >= ' ' && c != 0x7f) || c < 0; }))
        << text;  // the … is not ASCII
  }
}

}  // namespace
}  // namespace karmad
