// What sources of mirrors send, right and wrong.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/transport/http/url_encoding.hpp"
#include "balancer/discovery/source_json.hpp"

namespace karmad {
namespace {

std::string entries_error(std::string_view json) {
  const auto read = read_entries(json);
  return read ? "none" : read.error();
}

TEST(MirrorJson, ReadsAllMembers) {
  const auto read = read_entries(R"([{"address":"[::1]:9308","table":"t","shard":2,"remote":"t_1",
    "role":"primary","tags":{"dc":"ny","rack":"1"},"weight":0,"state":"drain"},
    {"address":"/run/s","tags":"dc:sf"}])");
  ASSERT_TRUE(read) << read.error();
  const auto& first = read->at(0);
  EXPECT_EQ(text(first.mirror.address), "[::1]:9308");
  EXPECT_EQ(first.table, "t");
  EXPECT_EQ(first.shard, 2u);
  EXPECT_EQ(first.mirror.remote, "t_1");
  EXPECT_EQ(first.mirror.role, "primary");
  EXPECT_EQ(first.mirror.tags, "dc:ny;rack:1");
  EXPECT_EQ(first.mirror.weight, 0u);
  EXPECT_EQ(first.mirror.state, ServiceState::drain);
  EXPECT_EQ(text(read->at(1).mirror.address), "/run/s");
  EXPECT_EQ(read->at(1).shard, 1u);
}

TEST(MirrorJson, SaysWhatIsWrongAndWhere) {
  struct {
    const char* json;
    const char* error;
  } const cases[] = {
      {"", "line 1, column 1: not valid JSON: The document is empty."},
      {"[\n {\"address\":}]", "line 2, column 13: not valid JSON: Invalid value."},
      {"{}", "expected a list of mirrors, found an object"},
      {"[]", "there is no mirror"},
      {"[1]", "mirror 1: expected an object, found 1"},
      {R"([{"address":"a:1"},{}])", "mirror 2: 'address': it is missing"},
      {R"([{"address":7}])", "mirror 1: 'address': expected a text like 10.0.0.1:9308, found 7"},
      {R"([{"address":"a"}])", "mirror 1: 'address': expected host:port, found 'a'"},
      {R"([{"address":"a:0"}])", "mirror 1: 'address': an agent cannot have port 0"},
      {R"([{"address":"0.0.0.0:1"}])", "no agent has the unspecified address 0.0.0.0"},
      {R"([{"address":"a:1"},{"address":"[ff02::1]:1"}])",
       "no agent has the multicast address ff02::1"},
      {R"([{"address":"a:x"}])", nullptr},
      {R"([{"address":"a b:1"}])", nullptr},
      {R"([{"address":"a:1","shard":0}])",
       "mirror 1: 'shard': expected a whole number from 1 to 256, found 0"},
      {R"([{"address":"a:1","weight":1001}])",
       "mirror 1: 'weight': expected a whole number from 0 to 1000, found 1001"},
      {R"([{"address":"a:1","weight":-1}])", nullptr},
      {R"([{"address":"a:1","weight":1.5}])", nullptr},
      {R"([{"address":"a:1","role":"boss"}])", nullptr},
      {R"([{"address":"a:1","tags":"dc"}])", nullptr},
      {R"([{"address":"a:1","tags":{"dc":1}}])", nullptr},
      {R"([{"address":"a:1","table":"x y"}])", nullptr},
      {R"([{"address":"a:1","state":"gone"}])", nullptr},
      {R"([{"address":"a:1","wieght":1}])",
       "mirror 1: 'wieght': unknown; did you mean 'weight'?; known are address, table, shard, "
       "remote, role, tags, weight, state"},
      {R"([{"address":"a:1","address":"b:1"}])", "mirror 1: 'address': it is given twice"},
      {R"([{"address":"a:1"},{"address":"a:1"}])", "a:1 is given twice in shard 1"},
      {R"([{"address":"a:1","table":"t","shard":3},{"address":"a:1","weight":2,"shard":3}])",
       "a:1 is given twice in shard 3"},
      {R"([{"address":"a:1"},{"address":"a:2"},{"address":"a:1","table":"t"}])",
       "a:1 is given twice in shard 1"},
      {R"([{"address":"a:1","table":"Goods"},{"address":"a:1","table":"goods"}])",
       "a:1 is given twice in shard 1"},
      {R"([{"address":"a:1","table":"t"},{"address":"a:1","table":"s"}])", "none"},
      {R"([{"address":"a:1","remote":"t1"},{"address":"a:1","remote":"t2"}])", "none"},
  };
  for (const auto& c : cases) {
    if (c.error != nullptr)
      EXPECT_EQ(entries_error(c.json), c.error) << c.json;
    else
      EXPECT_NE(entries_error(c.json), "none") << c.json;
  }
}

TEST(MirrorJson, BoundsSizeAndDepth) {
  EXPECT_EQ(entries_error(std::string((1 << 20) + 1, ' ')), "it is longer than 1048576 bytes");
  EXPECT_NE(entries_error(std::string(1 << 20, '[')), "none");
  std::string many = "[";
  for (int i = 0; i < 10'001; ++i)
    many += fmt::format("{}{{\"address\":\"a:{}\"}}", i ? "," : "", i + 1);
  EXPECT_EQ(entries_error(many + "]"), "there are more than 10000 mirrors");
}

TEST(Base64, ReadsWhatItWrites) {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xff\xfe\x00x"})
    EXPECT_EQ(bytes_of_base64(base64_of(text)), text);
  EXPECT_EQ(base64_of("foob"), "Zm9vYg==");
  for (const auto* wrong : {"Zm9", "Zm9*", "====", "Zg=a"}) {
    const auto read = bytes_of_base64(wrong);
    EXPECT_TRUE(!read || read->empty()) << wrong;
  }
}

TEST(EtcdJson, AsksForAllKeysWithThePrefix) {
  EXPECT_EQ(range_request("/a/"), fmt::format(R"({{"key":"{}","range_end":"{}","limit":"10001"}})",
                                              base64_of("/a/"), base64_of("/a0")));
  EXPECT_EQ(
      watch_request("a\xff", 7),
      fmt::format(R"({{"create_request":{{"key":"{}","range_end":"{}","start_revision":"7"}}}})",
                  base64_of("a\xff"), base64_of("b")));
}

std::string etcd_pair(const std::string& key, const std::string& value) {
  return fmt::format(R"({{"key":"{}","value":"{}","version":"1"}})", base64_of(key),
                     base64_of(value));
}

TEST(EtcdJson, ReadsARange) {
  const auto read = read_range(
      fmt::format(R"({{"header":{{"cluster_id":"1","revision":"42"}},"kvs":[{},{}],"count":"2"}})",
                  etcd_pair("/a/1", R"({"address":"10.0.0.1:1"})"),
                  etcd_pair("/a/2", R"({"address":"10.0.0.2:1","shard":2})")));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->revision, 42u);
  ASSERT_EQ(read->entries.size(), 2u);
  EXPECT_EQ(read->entries[1].shard, 2u);
}

TEST(EtcdJson, SaysWhatIsWrongInARange) {
  const auto error = [](const std::string& json) {
    const auto read = read_range(json);
    return read ? "none" : read.error();
  };
  EXPECT_EQ(error(R"({"header":{"revision":"1"}})"), "there is no mirror");
  EXPECT_EQ(error("{}"), "not an answer of etcd: it has no header.revision");
  EXPECT_EQ(error(R"({"error":"too old","message":"too old","code":11})"), "etcd says: 'too old'");
  EXPECT_EQ(
      error(fmt::format(R"({{"header":{{"revision":"1"}},"kvs":[{}]}})", etcd_pair("/a/1", "{"))),
      "key /a/1: line 1, column 2: not valid JSON: Missing a name for object member.");
  EXPECT_EQ(error(R"({"header":{"revision":"1"},"kvs":[{"key":"*","value":""}]})"),
            "a key or value is not in base64");
}

TEST(EtcdJson, GivesAPasswordForAToken) {
  EXPECT_EQ(login_request("karmad:a\"b\\:c"), R"({"name":"karmad","password":"a\"b\\:c"})");
  EXPECT_EQ(login_request("karmad:"), R"({"name":"karmad","password":""})");
  EXPECT_EQ(read_login(R"({"header":{"revision":"1"},"token":"JjmCrkElhsYOBwYE.10"})"),
            "JjmCrkElhsYOBwYE.10");
  for (const auto* json : {"{", "{}", R"({"token":""})", R"({"token":7})", R"({"token":"a\r\nb"})",
                           R"({"error":"etcdserver: authentication is not enabled","token":"a"})"})
    EXPECT_FALSE(read_login(json)) << json;
}

TEST(EtcdJson, ReadsTheLinesOfAWatch) {
  EXPECT_EQ(read_watch_line(R"({"result":{"header":{"revision":"1"},"created":true}})"),
            EtcdNote::nothing);
  EXPECT_EQ(read_watch_line(R"({"result":{"events":[{"type":"DELETE","kv":{"key":"YQ=="}}]}})"),
            EtcdNote::changed);
  EXPECT_EQ(read_watch_line(R"({"result":{"canceled":true,"compact_revision":"9"}})"),
            EtcdNote::lost);
  EXPECT_FALSE(read_watch_line(R"({"error":{"message":"no leader"}})"));
  EXPECT_FALSE(read_watch_line("}"));
}

// In the documented shape of discovery.k8s.io/v1.
const std::string kSliceObject = R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice",
  "addressType":"IPv4","metadata":{"name":"search-abc","namespace":"prod","resourceVersion":"17",
  "labels":{"kubernetes.io/service-name":"search"}},
  "ports":[{"name":"http","port":9308,"protocol":"TCP"},{"name":"sql","port":9306}],
  "endpoints":[
   {"addresses":["10.1.0.2","10.1.0.9"],"conditions":{"ready":true,"serving":true,"terminating":false},
    "nodeName":"n1","zone":"eu-1a"},
   {"addresses":["10.1.0.1"],"conditions":{}},
   {"addresses":["10.1.0.3"],"conditions":{"ready":false}}]})";

std::string slice_list(const std::string& items, const std::string& more = "") {
  return fmt::format(
      R"({{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{{
      "resourceVersion":"18","continue":"{}"}},"items":[{}]}})",
      more, items);
}

std::vector<std::string> entry_addresses(const std::expected<FoundEntries, std::string>& entries) {
  if (!entries) return {entries.error()};
  std::vector<std::string> all;
  for (const auto& entry : *entries)
    all.push_back(text(entry.mirror.address) + " " + entry.mirror.tags.value_or("-"));
  return all;
}
using EntryTexts = std::vector<std::string>;

TEST(Kubernetes, MergesTheReadyEndpointsOfAllSlices) {
  const auto list = read_slice_list(slice_list(kSliceObject, "next"));
  ASSERT_TRUE(list) << list.error();
  EXPECT_EQ(list->version, "18");
  EXPECT_EQ(list->more, "next");
  EXPECT_EQ(entry_addresses(merged(list->slices, "")),
            (EntryTexts{"10.1.0.1:9308 -", "10.1.0.2:9308 zone:eu-1a"}));
  EXPECT_EQ(entry_addresses(merged(list->slices, "sql")),
            (EntryTexts{"10.1.0.1:9306 -", "10.1.0.2:9306 zone:eu-1a"}));
  EXPECT_EQ(entry_addresses(merged(list->slices, "ftp")),
            EntryTexts{"no slice has a port named 'ftp'"});
  EXPECT_EQ(entry_addresses(merged({}, "")), EntryTexts{"there is no mirror"});
}

TEST(Kubernetes, UsesAnAddressInTwoSlicesOnce) {
  auto slices = read_slice_list(slice_list(kSliceObject))->slices;
  slices["other"] = slices.begin()->second;
  EXPECT_EQ(entry_addresses(merged(slices, "")).size(), 2u);
}

TEST(Kubernetes, AppliesTheEventsOfAWatch) {
  auto slices = read_slice_list(slice_list(kSliceObject))->slices;
  const auto step = [&](const std::string& line) {
    const auto event = read_slice_event(line);
    ASSERT_TRUE(event) << event.error();
    apply(*event, slices);
  };
  step(R"({"type":"ADDED","object":{"kind":"EndpointSlice","addressType":"IPv6","metadata":{
    "name":"v6"},"ports":[{"name":"","port":1}],"endpoints":[{"addresses":["fd00::1"]}]}})");
  EXPECT_EQ(entry_addresses(merged(slices, "")),
            (EntryTexts{"10.1.0.1:9308 -", "10.1.0.2:9308 zone:eu-1a", "[fd00::1]:1 -"}));
  step(R"({"type":"DELETED","object":{"metadata":{"name":"search-abc"}}})");
  EXPECT_EQ(entry_addresses(merged(slices, "")), EntryTexts{"[fd00::1]:1 -"});
  step(
      R"({"type":"BOOKMARK","object":{"kind":"EndpointSlice","metadata":{"resourceVersion":"99"}}})");
  step(R"({"type":"MODIFIED","object":{"addressType":"IPv6","metadata":{"name":"v6"},
    "ports":[{"port":2}],"endpoints":null}})");
  EXPECT_EQ(entry_addresses(merged(slices, "")), EntryTexts{"there is no mirror"});
}

TEST(Kubernetes, RecognizesAVersionThatIsTooOldAndErrors) {
  const auto expired = read_slice_event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})");
  ASSERT_TRUE(expired);
  EXPECT_EQ(expired->kind, SliceEvent::Kind::expired);
  const auto forbidden = read_slice_list(
      R"({"kind":"Status","status":"Failure","message":"endpointslices is forbidden","code":403})");
  EXPECT_EQ(forbidden.error(), "the API server says: endpointslices is forbidden");
  for (
      const auto* wrong :
      {"", "[]", "{}", R"({"type":"ADDED"})", R"({"type":"X","object":{}})",
       R"({"type":"ERROR","object":{"code":500}})",
       R"({"type":"ADDED","object":{"addressType":"IPv4","metadata":{"name":"a"},"endpoints":[{"addresses":["x"]}]}})"}) {
    const auto event = read_slice_event(wrong);
    EXPECT_TRUE(!event && !event.error().empty()) << wrong;
  }
}

TEST(Kubernetes, AsksForTheSlicesOfTheService) {
  EXPECT_EQ(
      slices_target("prod/search", "a b"),
      "/apis/discovery.k8s.io/v1/namespaces/prod/endpointslices?labelSelector=kubernetes.io%2F"
      "service-name%3Dsearch&limit=100&continue=a%20b");
  EXPECT_TRUE(
      slices_watch_target("p/s", "18")
          .ends_with("&watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=18"));
}

TEST(LastFound, IsReadAsItWasWritten) {
  LastFound found;
  found.pictures["t"][2] = {{.address = {.host = "10.0.0.1", .port = 9308, .unix_path = {}},
                             .remote = "r",
                             .role = "replica",
                             .tags = "dc:a",
                             .weight = 7,
                             .state = ServiceState::drain}};
  found.pictures["t"][1] = {{.address = {.host = {}, .port = 0, .unix_path = "/run/a.sock"}}};
  found.names[{"a.test", false}] = {
      .addresses = {boost::asio::ip::make_address("10.0.0.2"),
                    boost::asio::ip::make_address("::1")},
      .mirrors = {{.address = {.host = "10.0.0.2", .port = 0, .unix_path = {}}, .weight = {}}}};
  found.names[{"s.test", true}] = {
      .addresses = {},
      .mirrors = {{.address = {.host = "10.0.0.3", .port = 9, .unix_path = {}}, .weight = 3}}};
  EXPECT_EQ(last_found_in("{\"found\":" + last_found_json(found) + "}"), found);
  for (const auto* none : {"[]", "{}", R"({"found":{"tables":[],"names":[{"host":"a"}]}})"})
    EXPECT_EQ(last_found_in(none), LastFound()) << none;
}

TEST(LastFound, IsRefusedAsAWholeWithTheReason) {
  const auto why = [](std::string_view found) {
    const auto read = last_found_in(fmt::format(R"({{"found":{}}})", found));
    return read ? "none" : read.error();
  };
  constexpr std::string_view kNoJson = "it is no JSON in UTF-8";
  EXPECT_EQ(last_found_in("").error(), kNoJson);
  EXPECT_EQ(why("{\"tables\":[{\"name\":\"\xe9\"}]}"), kNoJson);
  EXPECT_EQ(why(R"({"names":[{"host":"a","more":-1e999}]})"), kNoJson);
  EXPECT_EQ(why("7"), "found: it is no object");
  const auto of_table = [&](std::string_view mirror) {
    return why(
        fmt::format(R"({{"tables":[{{"name":"t","mirrors":[{{"address":"a:1"}},{}]}}]}})", mirror));
  };
  EXPECT_EQ(of_table(R"({"address":"b:2","shard":2})"), "none");
  EXPECT_EQ(of_table(R"({"shard":1})"), "found: table t: 'address': it is missing");
  EXPECT_EQ(of_table(R"({"address":"b:2","weight":1001})"),
            "found: table t: 'weight': expected a whole number from 0 to 1000, found 1001");
  const auto of_name = [&](std::string_view members) {
    return why(fmt::format(R"({{"names":[{{"host":"a.test",{}}}]}})", members));
  };
  EXPECT_EQ(of_name(R"("addresses":["10.0.0.1","x"])"), "found: name a.test: 'x' is no address");
  EXPECT_EQ(of_name(R"("mirrors":[{"address":"::1"}])"), "none");
  EXPECT_EQ(of_name(R"("mirrors":[{"address":"::1","port":65536}])"),
            "found: name a.test: port: expected a whole number from 0 to 65535, found 65536");
  EXPECT_EQ(of_name(R"("mirrors":[{"address":"::1","weight":"1"}])"),
            "found: name a.test: weight: expected a whole number from 0 to 1000, found '1'");
}

}  // namespace
}  // namespace karmad
