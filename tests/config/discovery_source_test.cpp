#include "config/settings/address.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

TEST(DiscoverySource, ReadsBackWhatItWrites) {
  struct {
    const char* text;
    const char* full;
  } const cases[] = {
      {"file /etc/m.json", "file /etc/m.json"},
      {"FILE  /a b", "file /a b"},
      {"etcd http://127.0.0.1/karmad/t/", "etcd http://127.0.0.1:2379/karmad/t/"},
      {"etcd http://a:1/p , http://[::1]:2/p,http://c",
       "etcd http://a:1/p,http://[::1]:2,http://c:2379"},
      {"etcd https://a/p,https://b:1", "etcd https://a:2379/p,https://b:1"},
      {"kubernetes a/b https://kubernetes.default.svc",
       "kubernetes a/b https://kubernetes.default.svc:443"},
      {"kubernetes prod/search", "kubernetes prod/search http://127.0.0.1:8001"},
      {"kubernetes prod/search:http http://p:80/", "kubernetes prod/search:http http://p:80"},
  };
  for (const auto& c : cases) {
    const auto read = parse_discovery(c.text);
    ASSERT_TRUE(read) << c.text << ": " << read.error().why;
    EXPECT_EQ(text(*read), c.full);
    EXPECT_TRUE(parse_discovery(c.full).value() == *read) << c.text;
  }
}

TEST(DiscoverySource, SaysWhatIsWrong) {
  struct {
    const char* text;
    std::size_t at;
    const char* why;
  } const cases[] = {
      {"", 0, "'' is not one of file, etcd, kubernetes"},
      {"etc http://a/b", 0, "'etc' is not one of file, etcd, kubernetes; did you mean 'etcd'?"},
      {"file m.json", 5, "expected the path of a file, from the root: file /PATH"},
      {"etcd", 4, "expected http:// or https://HOST:PORT, found ''"},
      {"etcd htps://a/b", 5, "expected http:// or https://HOST:PORT, found 'htps://a/b'"},
      {"etcd https://a/b,http://c", 17, "expected https://HOST:PORT, found 'http://c'"},
      {"etcd http://a/b,https://c", 16, "expected http://HOST:PORT, found 'https://c'"},
      {"etcd http://a", 5,
       "the prefix of the keys is missing, as in "
       "http://127.0.0.1:2379/karmad/t/"},
      {"etcd http://a:0/b", 14, "a server cannot have port 0"},
      {"etcd http://a/b,http://c/d", 24, "only the first URL has a path, which counts for all"},
      {"kubernetes search", 11, "expected NAMESPACE/SERVICE, found 'search'"},
      {"kubernetes a/b: http://x", 15, "the name of a port is missing"},
      {"kubernetes a/b http://x/y", 15, "the URL of the API has no path"},
  };
  for (const auto& c : cases) {
    const auto read = parse_discovery(c.text);
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error().why, c.why);
    EXPECT_EQ(read.error().offset, c.at) << c.text;
  }
}

TEST(DiscoverySource, TakesTheFilesOfThePodUnlessOthersAreSet) {
  DiscoverySettings settings;
  const auto access = [&](const char* source) {
    settings.discovery = {*parse_discovery(source), {}};
    return source_of(settings).access;
  };
  const std::string pod = "/var/run/secrets/kubernetes.io/serviceaccount/";
  const auto in_pod = access("kubernetes a/b https://c");
  EXPECT_EQ(in_pod.ca, pod + "ca.crt");
  EXPECT_EQ(in_pod.token, pod + "token");
  EXPECT_EQ(access("kubernetes a/b").token, "");
  EXPECT_EQ(access("etcd https://a/b").ca, "");
  settings.discovery_token = {"/t", {}};
  settings.discovery_certificate = {"/c", {}};
  const auto own = access("kubernetes a/b https://c");
  EXPECT_EQ(own.ca, pod + "ca.crt");
  EXPECT_EQ(own.token, "/t");
  EXPECT_EQ(own.certificate, "/c");
}

TEST(DnsServersText, TakesOnlyAddresses) {
  const auto read = parse_dns_servers("127.0.0.1:5353, [::1]");
  ASSERT_TRUE(read);
  EXPECT_EQ(text(read->at(0)), "127.0.0.1:5353");
  EXPECT_EQ(text(read->at(1)), "[::1]:53");
  EXPECT_EQ(parse_dns_servers("ns.example:53").error().why,
            "a name server is an IP address, not 'ns.example:53'");
  EXPECT_FALSE(parse_dns_servers("127.0.0.1,"));
  EXPECT_FALSE(
      parse_dns_servers("1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
                        "1.1.1.1"));
}

TEST(SrvNames, BeginWithServiceAndProtocol) {
  EXPECT_TRUE(is_srv_name("_search._tcp.example.org"));
  EXPECT_FALSE(is_srv_name("_search.example.org"));
  EXPECT_FALSE(is_srv_name("search._tcp.example.org"));
  EXPECT_FALSE(is_srv_name("_search"));
}

}  // namespace
}  // namespace karmad
