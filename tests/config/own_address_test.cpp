#include "config/own_address.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

Address at(std::string host, std::uint16_t port = 7) {
  return {.host = std::move(host), .port = port, .unix_path = {}};
}
Address at_path(std::string path) {
  return {.host = {}, .port = 0, .unix_path = std::move(path)};
}

const ThisHost kHost{.names = {"box.example.org", "box"},
                     .addresses = {"127.0.0.1", "10.0.0.5", "::1", "fe80::5", "2001:db8::5"}};
const ThisHost kTwoAddresses{.names = {"box"}, .addresses = {"10.0.0.5", "192.168.0.5"}};

TEST(OwnAddress, IsKnownByLiteralsLocalhostAndTheNameOfTheMachine) {
  struct {
    const char* listen;
    const char* agent;
    bool own;
  } const cases[] = {
      {"*", "127.0.0.1", true},
      {"*", "127.255.0.9", true},
      {"*", "::1", true},
      {"*", "10.0.0.5", true},
      {"*", "::ffff:10.0.0.5", true},
      {"*", "2001:db8::5", true},
      {"*", "fe80::5%eth0", true},
      {"*", "10.0.0.6", false},
      {"*", "box", true},
      {"*", "box.example.org", true},
      {"*", "box.example.org.", true},
      {"*", "localhost", true},
      {"*", "localhost.", true},
      {"*", "0.0.0.0", true},
      {"*", "::", true},
      {"*", "other", false},
      {"*", "", false},
      {"0.0.0.0", "10.0.0.5", true},
      {"0.0.0.0", "box", true},
      {"0.0.0.0", "2001:db8::5", false},
      {"::", "10.0.0.5", false},
      {"::", "2001:db8::5", true},
      {"127.0.0.1", "127.0.0.1", true},
      {"127.0.0.1", "localhost", true},
      {"127.0.0.1", "0.0.0.0", true},
      {"127.0.0.1", "127.0.0.2", false},
      {"127.0.0.1", "10.0.0.5", false},
      {"127.0.0.1", "box", false},
      {"localhost", "127.0.0.1", true},
      {"localhost", "127.0.0.2", false},
      {"::1", "localhost", true},
      {"10.0.0.5", "10.0.0.5", true},
      {"10.0.0.5", "box", true},
      {"10.0.0.5", "localhost", false},
      {"2001:db8::5", "box", true},
      {"fe80::5", "box", false},
      {"10.9.9.9", "10.9.9.9", true},
      {"box", "box", true},
  };
  for (const auto& c : cases)
    EXPECT_EQ(leads_here(at(c.listen), at(c.agent), kHost), c.own) << c.listen << " " << c.agent;
}

TEST(OwnAddress, OfAMachineWithSeveralIsNotGuessedFromItsName) {
  EXPECT_FALSE(leads_here(at("10.0.0.5"), at("box"), kTwoAddresses));
  EXPECT_TRUE(leads_here(at("*"), at("box"), kTwoAddresses));
  EXPECT_FALSE(leads_here(at("*"), at("10.0.0.5"), {})) << "nothing is known of the machine";
}

TEST(OwnAddress, HasThePortOfTheListener) {
  EXPECT_FALSE(leads_here(at("*", 7), at("127.0.0.1", 8), kHost));
  EXPECT_FALSE(leads_here(at("*", 0), at("127.0.0.1", 0), kHost)) << "any free port";
}

TEST(OwnAddress, MayBeAUnixSocketHoweverItsPathIsWritten) {
  EXPECT_TRUE(leads_here(at_path("/run/k.sock"), at_path("/run//x/../k.sock"), kHost));
  EXPECT_FALSE(leads_here(at_path("/run/k.sock"), at_path("/run/l.sock"), kHost));
  EXPECT_FALSE(leads_here(at_path("/run/k.sock"), at("127.0.0.1"), kHost));
  EXPECT_FALSE(leads_here(at("*"), at_path("/run/k.sock"), kHost));
}

TEST(ListenersOverlap, IfAConnectionFitsBoth) {
  EXPECT_TRUE(overlap(at("*"), at("::1")));
  EXPECT_TRUE(overlap(at("*"), at("::")));
  EXPECT_TRUE(overlap(at("0.0.0.0"), at("127.0.0.1")));
  EXPECT_TRUE(overlap(at("::"), at("2001:db8::5")));
  EXPECT_FALSE(overlap(at("0.0.0.0"), at("::")));
  EXPECT_FALSE(overlap(at("0.0.0.0"), at("::1")));
  EXPECT_FALSE(overlap(at("127.0.0.1"), at("127.0.0.2")));
  EXPECT_FALSE(overlap(at("*", 7), at("*", 8)));
  EXPECT_TRUE(overlap(at_path("/a/b"), at_path("/a/./b")));
  EXPECT_FALSE(overlap(at_path("/a/b"), at("*")));
}

TEST(Addresses, SomeBelongToNoServer) {
  for (const auto& [address, kind] : {std::pair("0.0.0.0", "unspecified"),
                                      {"::", "unspecified"},
                                      {"::ffff:0.0.0.0", "unspecified"},
                                      {"224.0.0.0", "multicast"},
                                      {"239.255.255.255", "multicast"},
                                      {"ff02::1%lo", "multicast"},
                                      {"255.255.255.255", "broadcast"},
                                      {"223.255.255.255", ""},
                                      {"240.0.0.1", ""},
                                      {"::1", ""},
                                      {"fe80::1", ""},
                                      {"a.example", ""}})
    EXPECT_EQ(kind_without_server(address), kind) << address;
}

}  // namespace
}  // namespace karmad
