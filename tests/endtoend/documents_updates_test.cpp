// Every configuration in the documents, run with mirrors that apply an update and then reset the
// connection: it is applied once, whatever the engine calls it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>

#include "tests/agent/ping_kinds/ping_answers.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"
#include "tests/support/tls.hpp"

namespace karmad::test {
namespace {

/// A configuration between two fences.
struct Documented {
  std::string name;  ///< `migration_proxy_1`
  std::string text;
};

void PrintTo(const Documented& of, std::ostream* out) {
  *out << of.name;
}

std::string as_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return text;
}

std::vector<Documented> documented() {
  namespace fs = std::filesystem;
  std::set<fs::path> files{fs::path(KARMAD_SOURCE_DIR) / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(KARMAD_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") files.insert(entry.path());
  std::vector<Documented> all;
  for (const auto& path : files) {
    std::ifstream file(path);
    std::size_t count = 0;
    std::string block;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("```")) {
        if (inside) block.append(line).append("\n");
        continue;
      }
      if (inside && block.contains("type = distributed"))
        all.push_back({as_name(fmt::format("{}_{}", path.stem().string(), ++count)), block});
      inside = !inside;
      block.clear();
    }
  }
  return all;
}

/// One table of a configuration, as far as its updates depend on it.
struct DocumentedTable {
  std::string name;
  std::optional<std::string> route{};              ///< without a slash at its end
  bool to_all = false;                             ///< each mirror of a shard gets its updates
  std::vector<std::string> reads{};                ///< as written
  std::vector<std::vector<std::string>> shards{};  ///< addresses in the document
};

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    all.push_back(at->str(at->size() > 1 ? 1 : 0));
  return all;
}

const std::string kAddress = R"(\d+\.\d+\.\d+\.\d+:\d+)";

/// Without continued lines, comments and `listen`.
std::string simplified(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\\\n)"), " ");
  text = std::regex_replace(text, std::regex("#[^\n]*"), "");
  return std::regex_replace(text, std::regex("\n *listen *=[^\n]*"), "");
}

std::vector<DocumentedTable> tables_of(const std::string& text) {
  std::vector<DocumentedTable> tables;
  for (const auto& body : matches(text, R"((?:table|index) +(\w+ *\{[^}]*\}))")) {
    DocumentedTable table{.name = matches(body, R"(^\w+)").at(0)};
    for (const auto& route : matches(body, R"(route = (\S+))"))
      table.route = route == "/" ? "" : route;
    table.to_all = body.contains("updates = all");
    for (const auto& reads : matches(body, R"(reads = ([^\n]*))"))
      for (const auto& path : matches(reads, R"(/[^\s,]*)")) table.reads.push_back(path);
    for (const auto& line : matches(body, R"(agent = ([^\n]*))"))
      table.shards.push_back(matches(line, kAddress));
    tables.push_back(table);
  }
  return tables;
}

/// A mirror of any engine: it answers pings and reads, applies updates and then resets.
class ResettingMirror {
 public:
  explicit ResettingMirror(bool first) : first_(first) {}

  std::string address() const { return mirror_.address(); }
  /// Updates applied that contain the mark.
  std::size_t applied(const std::string& mark) const {
    const auto seen = mirror_.seen();
    return static_cast<std::size_t>(std::ranges::count_if(
        seen, [&](const std::string& request) { return request.contains(mark); }));
  }

 private:
  Reaction answer(const std::string& request) const {
    if (request.starts_with("GET /hello"))
      return json(fmt::format(R"({{"ok":true,"set":"products","role":"{}","last_write_ms":1}})",
                              first_ ? "primary" : "replica"));
    if (request.contains("SHOW%20STATUS"))
      return json(show_status({{"cluster_name", "posts_cluster"},
                               {"cluster_posts_cluster_status", "primary"},
                               {"cluster_posts_cluster_node_state", "synced"}}));
    if (request.starts_with("GET /solr/admin/cores")) return json(kCore);
    if (request.starts_with("GET /solr/admin/collections"))
      return json(cluster_state(replica("n", "books_n", address(),
                                        first_ ? R"("state":"active","type":"NRT","leader":"true")"
                                               : R"("state":"active","type":"PULL")")));
    if (request.starts_with("GET /_cluster/health")) return json(kHealth);
    if (request.starts_with("GET /_nodes/_local")) return json(kNode);
    if (request.starts_with("GET ")) return json("{}");
    if (request.starts_with("POST /search")) return nothing_found();
    return {.bytes = "", .then = Reaction::Then::reset};
  }

  bool first_;
  FakeMirror mirror_{[this](const std::string& request) { return answer(request); }, true};
};

struct EngineUpdate {
  std::string method;
  std::string path;
  std::string body;
};

/// Updates of a table of the dialect `manticore`; the mark is the id, or the title.
std::vector<EngineUpdate> search_server_updates(const std::string& table, const std::string& mark) {
  const auto with = [&](std::string_view text) {
    auto out = std::regex_replace(std::string(text), std::regex("TABLE"), table);
    return std::regex_replace(out, std::regex("MARK"), mark);
  };
  std::vector<EngineUpdate> all;
  const auto doc = with(R"({"table":"TABLE","id":MARK,"doc":{"title":"lamp"}})");
  for (const auto* path : {"/insert", "/replace", "/update", "/json/update"})
    all.push_back({"POST", path, doc});
  all.push_back({"POST", "/delete", with(R"({"table":"TABLE","id":MARK})")});
  all.push_back(
      {"POST", "/bulk", with("{\"insert\":{\"table\":\"TABLE\",\"id\":MARK,\"doc\":{}}}\n")});
  all.push_back({"POST", "/sql?mode=raw", with("INSERT INTO TABLE (id) VALUES (MARK)")});
  all.push_back({"POST", "/cli_json", with("UPDATE TABLE SET a = 1 WHERE id = MARK")});
  all.push_back({"POST", with("/TABLE/_doc/MARK"), "{}"});
  all.push_back(
      {"POST", "/_bulk", with("{\"index\":{\"_index\":\"TABLE\",\"_id\":\"MARK\"}}\n{\"a\":1}\n")});
  all.push_back({"PUT", with("/pq/TABLE/doc/MARK"), R"({"query":{"match_all":{}}})"});
  return all;
}

/// Updates of Solr, Elasticsearch and others below a route, and below the paths beside its reads.
std::vector<EngineUpdate> routed_updates(const DocumentedTable& table, const std::string& mark) {
  std::set<std::string> folders{*table.route};
  for (const auto& read : table.reads) folders.insert(read.substr(0, read.rfind('/')));
  folders.insert(*table.route + "/x");
  std::vector<EngineUpdate> all;
  for (const auto& folder : folders) {
    for (const auto* path :
         {"/update", "/update/json/docs", "/_doc", "/_bulk", "/_update_by_query"})
      all.push_back({"POST", folder + path, fmt::format(R"({{"id":{}}})", mark)});
    all.push_back({"POST", fmt::format("{}/_update/{}", folder, mark), "{}"});
    all.push_back({"PUT", fmt::format("{}/_doc/{}", folder, mark), "{}"});
    all.push_back({"DELETE", fmt::format("{}/_doc/{}", folder, mark), ""});
  }
  return all;
}

/// The same with files of this test, which it writes, in place of those that the manual names.
std::string with_files(std::string text, const TempDir& dir) {
  const Authority authority(dir.path());
  for (const auto& path : matches(text, R"(/etc/karmad/[a-z.-]+)")) {
    const auto name = path.substr(path.rfind('/') + 1);
    const auto own = name.ends_with(".pem") ? authority.issue(name, "DNS:search.example")
                     : name == "users"
                         ? dir.file(name, "anna:$2y$05$" + std::string(53, 'a') + "\n")
                         : dir.file(name, "basic karmad:a secret\n");
    std::filesystem::permissions(own, std::filesystem::perms(0600));
    if (const auto at = text.find(path); at != text.npos) text.replace(at, path.size(), own);
  }
  return text;
}

class DocumentedConfiguration : public testing::TestWithParam<Documented> {
 protected:
  /// The configuration with a mirror for each address.
  std::string with_mirrors(std::string text) {
    for (const auto& table : tables_of(text))
      for (const auto& shard : table.shards)
        for (const auto& address : shard)
          if (!mirrors_.contains(address))
            mirrors_.emplace(address, std::make_unique<ResettingMirror>(address == shard.front()));
    for (const auto& [address, mirror] : mirrors_)
      for (auto at = text.find(address); at != text.npos; at = text.find(address, at)) {
        const auto own = mirror->address();
        text.replace(at, address.size(), own);
        at += own.size();
      }
    return text;
  }

  /// How often the mirrors of a shard applied it.
  std::size_t applied(const std::vector<std::string>& shard, const std::string& mark) const {
    std::size_t sum = 0;
    for (const auto& address : shard) sum += mirrors_.at(address)->applied(mark);
    return sum;
  }

  std::map<std::string, std::unique_ptr<ResettingMirror>> mirrors_;
};

TEST_P(DocumentedConfiguration, HasNoWarning) {
  const TempDir dir;
  Process process("karmad", {"--check", "-c", dir.file("c", with_files(GetParam().text, dir))});
  EXPECT_EQ(process.wait(), 0);
  EXPECT_FALSE(process.output().contains("warning")) << process.output();
}

/// Those without TLS to agents: the mirrors of this test have none.
using DocumentedPlainConfiguration = DocumentedConfiguration;

std::vector<Documented> documented_plain() {
  auto all = documented();
  std::erase_if(all, [](const Documented& each) { return each.text.contains("agent_tls"); });
  return all;
}

TEST_P(DocumentedPlainConfiguration, AppliesAnUpdateOnceIfTheConnectionBreaks) {  // BP-061
  const TempDir dir;
  const auto text = with_files(simplified(GetParam().text), dir);
  const auto tables = tables_of(text);
  ASSERT_FALSE(tables.empty());
  const auto written = with_mirrors(text);
  const auto searchd = matches(written, R"(searchd +\{([^}]*)\})");
  const auto rest = std::regex_replace(written, std::regex(R"(searchd +\{[^}]*\})"), "");
  Master master(searchd.empty() ? "" : searchd.front(), rest);
  ASSERT_TRUE(master.ready());
  HttpClient client(master.port());
  auto number = 770'000'000'000;  // long enough not to be in a random request ID
  std::size_t done = 0;
  for (const auto& table : tables) {
    const auto count =
        (table.route ? routed_updates(table, "1") : search_server_updates(table.name, "1")).size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto mark = std::to_string(++number);
      const auto update =
          (table.route ? routed_updates(table, mark) : search_server_updates(table.name, mark))[i];
      SCOPED_TRACE(fmt::format("{} {} {}", update.method, update.path, update.body));
      // A read first: the update then gets a connection that was used before.
      const auto read =
          table.route
              ? client.request("GET", *table.route + "/x", "", preferring("primary"))
              : client.request("POST", "/search", fmt::format(R"({{"table":"{}"}})", table.name),
                               preferring("primary"));
      ASSERT_TRUE(read);
      EXPECT_EQ(read->status, 200) << read->body;
      const auto answer = client.request(update.method, update.path, update.body);
      ASSERT_TRUE(answer);
      EXPECT_GE(answer->status, 400);
      std::size_t sum = 0;
      for (const auto& shard : table.shards) {
        const auto times = applied(shard, mark);
        EXPECT_LE(times, table.to_all ? shard.size() : 1U) << answer->body;
        sum += times;
      }
      const bool refused = answer->status < 500 || answer->status == 501;
      EXPECT_EQ(sum == 0, refused) << answer->status << answer->body;
      done += sum;
    }
  }
  // In a set of equal mirrors all of them are refused.
  if (text.contains("updates = ") || text.contains("role=primary")) {
    EXPECT_GT(done, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DocumentedConfiguration, testing::ValuesIn(documented()),
                         [](const auto& of) { return of.param.name; });

INSTANTIATE_TEST_SUITE_P(Of, DocumentedPlainConfiguration, testing::ValuesIn(documented_plain()),
                         [](const auto& of) { return of.param.name; });

TEST(DocumentedConfigurations, AreFound) {
  EXPECT_EQ(documented().size(), 21U);
  EXPECT_EQ(documented_plain().size(), 20U);
}

}  // namespace
}  // namespace karmad::test
