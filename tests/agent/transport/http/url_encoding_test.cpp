#include "agent/transport/http/url_encoding.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(UrlEncoding, DecodesEscapesAndLeavesBrokenOnes) {
  EXPECT_EQ(url_decoded("a%20b+c%2Cd%2fe"), "a b c,d/e");
  for (const auto* broken : {"%", "%4", "%zz", "%4g", "%%41x"})
    EXPECT_EQ(url_decoded(broken).front(), '%') << broken;
  EXPECT_EQ(url_decoded("%%41"), "%A");
  EXPECT_EQ(escaped_byte("%ff"), 255);
  EXPECT_EQ(escaped_byte("x%ff"), -1);
}

TEST(UrlEncoding, EscapesAllBytesThatAreNotPlainAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  std::string encoded;
  append_url_encoded(encoded, all);
  EXPECT_EQ(url_decoded(encoded), all);
  EXPECT_NE(encoded.find("-.%2F0123456789"), std::string::npos);
  EXPECT_NE(encoded.find("%20"), std::string::npos);
}

TEST(UrlEncoding, TakesParametersDecoded) {
  std::string_view query = "&%74able=%62ooks&since&&a=b=c&=x&+=%26";
  std::string all;
  while (const auto parameter = take_parameter(query))
    all += "[" + parameter->name + "|" + parameter->value + "]";
  EXPECT_EQ(all, "[table|books][since|][a|b=c][|x][ |&]");
  query = "&&";
  EXPECT_FALSE(take_parameter(query));
}

}  // namespace
}  // namespace karmad
