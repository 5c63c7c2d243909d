// What an operator changes of a running karmad: `karmad ctl`, and the admin listener.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/fake_set.hpp"
#include "tests/support/load.hpp"

namespace karmad::test {
namespace {

const std::string kAnySearch = R"({"table":"t"})";

/// A karmad with an admin listener at a unix socket, and its mirrors.
class Operated {
 public:
  explicit Operated(const std::string& searchd = "", std::size_t mirrors = 2)
      : set(mirrors),
        socket(scratch_file("admin.sock")),
        searchd_(fmt::format("listen = {}:admin\n ha_strategy = roundrobin\n {}", socket, searchd)),
        master(searchd_, set.table()) {
    EXPECT_TRUE(eventually([&] { return ctl({"show"}).code == 0; }));
  }
  Operated(const Operated&) = delete;
  Operated& operator=(const Operated&) = delete;

  static std::string scratch_file(const std::string& name) {
    static int number = 0;
    return fmt::format("{}/karmad-{}-{}-{}", ::testing::TempDir(), ::getpid(), ++number, name);
  }

  struct Result {
    int code;
    std::string output;
  };
  Result ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "ctl");
    arguments.insert(arguments.end(), {"--address", socket});
    Process process("karmad", arguments);
    const auto code = process.wait();
    return {code.value_or(-1000), process.output()};
  }

  /// The mirror's requests during `count` searches, all of which must succeed.
  std::size_t share(std::size_t mirror, int count) {
    const auto before = set[mirror].requests();
    for (int i = 0; i < count; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
    return set[mirror].requests() - before;
  }

  FakeSet set;
  const std::string socket;
  const std::string searchd_;
  Master master;
};

TEST(Operator, DrainsAMirrorAndBringsItBack) {
  Operated karmad;
  const auto drained = karmad.ctl({"drain", karmad.set[0].address()});
  EXPECT_EQ(drained.code, 0) << drained.output;
  EXPECT_TRUE(drained.output.contains("state ready, weight 1 -> ")) << drained.output;
  EXPECT_TRUE(drained.output.contains("state drain, weight 1")) << drained.output;
  EXPECT_EQ(karmad.share(0, 20), 0U);
  EXPECT_EQ(karmad.ctl({"ready", karmad.set[0].address()}).code, 0);
  EXPECT_EQ(karmad.share(0, 20), 10U);
}

TEST(Operator, TakesOutAllMirrorsAndClientsAreToldAtOnce) {
  Operated karmad("selection_timeout = 30s");
  for (std::size_t i : {0U, 1U}) karmad.ctl({"maint", karmad.set[i].address(), "--force"});
  const auto answer = karmad.master.search(kAnySearch);
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.body.contains("taken out of service by the operator")) << answer.body;
  EXPECT_EQ(get(karmad.master.port(), "/readyz").status, 503);
}

TEST(Operator, DoesNotTakeOutTheLastMirrorOfAShardByMistake) {
  Operated karmad;
  const auto first = karmad.set[0].address();
  const auto second = karmad.set[1].address();
  EXPECT_EQ(karmad.ctl({"drain", first}).code, 0);
  for (const std::string call : {"drain", "maint"}) {
    const auto refused = karmad.ctl({call, second});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(refused.output.contains("status 409: ")) << refused.output;
    EXPECT_TRUE(refused.output.contains("table t, shard 1")) << refused.output;
  }
  EXPECT_EQ(karmad.share(1, 10), 10U) << "nothing was changed";
  EXPECT_EQ(karmad.ctl({"maint", first}).code, 0) << "it serves no searches as it is";
  EXPECT_EQ(karmad.ctl({"drain", second, "--force"}).code, 0);
  EXPECT_EQ(karmad.master.search(kAnySearch).status, 503);
  const auto* const can_serve = "/tables/0/shards/0/can_serve";
  EXPECT_TRUE(eventually([&] { return karmad.master.number(can_serve) == 0; }))
      << "red in the dashboard";
  EXPECT_EQ(karmad.ctl({"ready", first}).code, 0);
  EXPECT_EQ(karmad.share(0, 10), 10U);
  EXPECT_EQ(karmad.ctl({"weight", first, "0"}).code, 0) << "it goes on serving";
  EXPECT_EQ(karmad.ctl({"weight", first, "0", "--force"}).code, 1);
}

TEST(Operator, CountsOnlyMirrorsThatWorkAndEveryTable) {
  const FakeMirror shared([](const std::string&) { return nothing_found(); });
  const FakeMirror other([](const std::string&) { return nothing_found(); });
  const ClosedPort dead;
  const auto socket = Operated::scratch_file("admin.sock");
  const Master master(
      fmt::format("listen = {}:admin\n ha_ping_interval = 0", socket),
      fmt::format("table t {{\n type = distributed\n agent = {0}|{1}\n agent = {0}|{2}\n}}\n"
                  "table u {{\n type = distributed\n agent = {0}|{1}\n}}\n",
                  shared.address(), other.address(), dead.address()));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(master.search(kAnySearch).status, 200);
  const auto ctl = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ctl");
    arguments.insert(arguments.end(), {"--address", socket});
    Process process("karmad", arguments);
    process.wait();
    return process.output();
  };
  const auto refused = ctl({"drain", shared.address()});
  EXPECT_TRUE(refused.contains("status 409: ")) << refused;
  EXPECT_TRUE(refused.contains("left: table t, shard 2; ")) << refused;
  EXPECT_TRUE(ctl({"drain", shared.address(), "--table", "u"}).contains("state drain"));
  EXPECT_TRUE(ctl({"drain", dead.address()}).contains("state drain"));
}

TEST(Operator, ChangesWeightsWithEveryStrategyAtRunTime) {
  for (const std::string strategy : {"random", "roundrobin", "leastops", "nodeads", "adaptive"}) {
    Operated karmad;
    const auto chosen = karmad.ctl({"strategy", "t", strategy});
    ASSERT_EQ(chosen.code, 0) << chosen.output;
    EXPECT_EQ(karmad.ctl({"weight", karmad.set[1].address(), "0"}).code, 0);
    EXPECT_EQ(karmad.share(1, 20), 0U) << strategy;
  }
}

TEST(Operator, LosesNoQueryWhileMirrorsComeAndGo) {
  Operated karmad("", 3);
  const Load load(karmad.master.port(), 4, expecting_200(kAnySearch));
  for (int round = 0; round < 8; ++round) {
    const auto mirror = karmad.set[static_cast<std::size_t>(round % 3)].address();
    EXPECT_EQ(karmad.ctl({round % 2 == 0 ? "drain" : "maint", mirror}).code, 0);
    EXPECT_EQ(karmad.ctl({"ready", mirror}).code, 0);
  }
}

TEST(Operator, KeepsADrainOverReloadsUntilTheFileChangesTheState) {
  Operated karmad;
  const auto reload_with = [&](const std::string& options) {
    const auto table = fmt::format("table t {{\n type = distributed\n agent = {}{}|{}\n}}\n",
                                   karmad.set[0].address(), options, karmad.set[1].address());
    ASSERT_TRUE(karmad.master.reload(karmad.searchd_, table));
  };
  karmad.ctl({"drain", karmad.set[0].address()});
  const auto reloaded = karmad.ctl({"reload"});
  EXPECT_EQ(reloaded.code, 0);
  EXPECT_TRUE(reloaded.output.contains("nothing changed")) << reloaded.output;
  EXPECT_EQ(karmad.share(0, 10), 0U);
  reload_with("[weight=2]");
  EXPECT_EQ(karmad.share(0, 30), 0U) << "a change of its weight is none of its state";
  reload_with("[weight=2,state=maint]");
  EXPECT_EQ(karmad.share(0, 10), 0U);
  reload_with("[weight=2]");
  EXPECT_GT(karmad.share(0, 30), 0U) << "the file has taken the drain back";
}

TEST(Operator, FindsTheChangesAgainAfterARestart) {
  const auto file = Operated::scratch_file("state");
  FakeSet set(2);
  const auto searchd = [&](const std::string& socket) {
    return fmt::format("listen = {}:admin\n state_file = {}\n ha_strategy = roundrobin", socket,
                       file);
  };
  {
    const auto socket = Operated::scratch_file("a.sock");
    Master first(searchd(socket), set.table());
    ASSERT_TRUE(first.ready());  // the admin socket is the last one that it opens
    Process ctl("karmad", {"ctl", "drain", set[0].address(), "--address", socket});
    EXPECT_EQ(ctl.wait(), 0) << ctl.output();
  }
  const Master second(searchd(Operated::scratch_file("b.sock")), set.table());
  const auto before = set[0].requests();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(second.search(kAnySearch).status, 200);
  EXPECT_EQ(set[0].requests(), before);
  std::filesystem::remove(file);
}

/// A configuration whose only mirror comes from a source, which says another weight (3) than the
/// line that it replaces, with a unix socket for `karmad ctl` and a state file.
class OperatedSource {
 public:
  OperatedSource() : mirror([](const std::string&) { return nothing_found(); }) {
    write_source(3);
    write_config();
  }

  void write_source(int weight) const {
    dir_.file("mirrors.json",
              fmt::format(R"([{{"address":"{}","weight":{}}}])", mirror.address(), weight));
  }
  void write_config(const std::string& searchd = "") {
    config = dir_.file(
        "karmad.conf",
        fmt::format("searchd {{\n listen = {0}/sock\n listen = {1}:admin\n state_file = {0}/state\n"
                    "{2}\n}}\n"
                    "table t {{\n type = distributed\n discovery = file {0}/mirrors.json\n"
                    " agent = {3}:t\n}}\n",
                    dir_.path(), socket(), searchd, mirror.address()));
  }
  std::string state() const { return dir_.path() + "/state"; }
  std::string socket() const { return dir_.path() + "/admin.sock"; }
  /// Empty: the call has failed.
  std::string ctl(std::vector<std::string> call) const {
    call.insert(call.begin(), "ctl");
    call.insert(call.end(), {"--address", socket()});
    Process process("karmad", call);
    return process.wait() == 0 ? process.output() : "";
  }
  bool runs() const {
    return eventually([&] { return !ctl({"show"}).empty(); });
  }

  FakeMirror mirror;
  std::string config;

 private:
  TempDir dir_;
};

TEST(Operator, FindsChangesOfTheLogAndOfMirrorsOfASourceAfterARestart) {
  const OperatedSource operated;
  const auto log_of_a_run = [&](const std::string& weight, std::string_view former) {
    Process karmad("karmad", {"--config", operated.config});
    EXPECT_TRUE(operated.runs());
    EXPECT_TRUE(operated.ctl({"weight", operated.mirror.address(), weight}).contains(former));
    operated.ctl({"log_level", "warning"});
    karmad.signal(SIGTERM);
    EXPECT_EQ(karmad.wait(), 0);
    return karmad.output();
  };
  EXPECT_TRUE(log_of_a_run("7", "weight 3 -> ").contains("listening"));
  EXPECT_FALSE(log_of_a_run("5", "weight 7 -> ").contains("listening"));
}

TEST(Operator, IsToldOnceThatMirrorsThatWereFoundCannotBeSaved) {
  const OperatedSource operated;
  Process karmad("karmad", {"--config", operated.config});
  ASSERT_TRUE(operated.runs());
  std::filesystem::create_directory(operated.state() + ".new");
  operated.write_source(4);
  EXPECT_TRUE(karmad.wait_for("properties of mirrors have changed"));
  karmad.signal(SIGTERM);
  EXPECT_EQ(karmad.wait(), 0);
  const auto& log = karmad.output();
  const auto first = log.find("cannot open " + operated.state() + ".new: Is a directory");
  ASSERT_NE(first, log.npos) << log;
  EXPECT_EQ(log.find("cannot open", first + 1), log.npos) << log;
}

TEST(Operator, ComparesAFileWithTheProcessAsAReloadWouldUseIt) {
  OperatedSource operated;
  const Process karmad("karmad", {"--config", operated.config});
  ASSERT_TRUE(operated.runs());
  const auto address = operated.mirror.address();
  operated.ctl({"weight", address, "7"});
  const auto compared = [&](int code) {
    Process diff("karmad", {"--config", operated.config, "--diff-running", operated.socket()});
    EXPECT_EQ(diff.wait(), code) << diff.output();
    return diff.output();
  };
  EXPECT_EQ(compared(0), "no difference\n");
  operated.write_config(" dead_after = 9");
  const auto differs = compared(1);
  EXPECT_TRUE(differs.starts_with("searchd: dead_after: 3 (default) -> 9 (")) << differs;
  EXPECT_TRUE(differs.contains(address + ": 100.0 % -> 100.0 %")) << differs;
  EXPECT_FALSE(differs.contains("weight")) << differs;
}

TEST(Operator, StartsWithABrokenStateFile) {
  const auto file = Operated::scratch_file("broken");
  std::ofstream(file) << "{\"version\":";
  Operated karmad("state_file = " + file);
  EXPECT_EQ(karmad.share(0, 10), 5U);
  EXPECT_TRUE(get(karmad.master.port(), "/events").body.contains("is not used: not JSON"));
  std::filesystem::remove(file);
}

std::string file_content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Operator, KeepsAFileThatIsNoStateAside) {
  const TempDir dir;
  for (const std::string text :
       {"table t {\n type = distributed\n}\n", R"({"version":3})", "{\"version\":1,\"a\":\"\xfe\"}",
        R"({"version":1,"found":{"tables":[{"mirrors":[{"address":"a:1","weight":1002}]}]}})"}) {
    const auto file = dir.file("state", text);
    const auto aside = file + ".unusable";
    std::filesystem::remove(aside);
    Operated karmad("state_file = " + file);
    EXPECT_TRUE(get(karmad.master.port(), "/events").body.contains("is not used: "));
    EXPECT_EQ(file_content(file), text) << "there was nothing to save";
    EXPECT_EQ(karmad.ctl({"drain", karmad.set[0].address()}).code, 0);
    EXPECT_TRUE(karmad.master.process().wait_for("what was there is kept as " + aside));
    EXPECT_EQ(file_content(aside), text);
    EXPECT_TRUE(file_content(file).contains("drain")) << file_content(file);
    EXPECT_EQ(karmad.ctl({"weight", karmad.set[0].address(), "5"}).code, 0);
    EXPECT_EQ(file_content(aside), text) << "once";
  }
}

TEST(Operator, IsToldWhereAFileCannotBeKeptAside) {
  const TempDir dir;
  const auto file = dir.file("state", "not json");
  const auto former = dir.file("state.unusable", "older");
  Operated karmad("state_file = " + file);
  const auto drained = karmad.ctl({"drain", karmad.set[0].address()});
  EXPECT_EQ(drained.code, 0) << drained.output;
  EXPECT_TRUE(drained.output.contains("state.unusable: File exists")) << drained.output;
  EXPECT_EQ(file_content(file), "not json");
  EXPECT_EQ(file_content(former), "older");
}

TEST(Operator, NeverReplacesAPipeByTheState) {
  const TempDir dir;
  const auto pipe = dir.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Operated karmad("state_file = " + pipe);
  const auto drained = karmad.ctl({"drain", karmad.set[1].address()});
  EXPECT_TRUE(drained.output.contains("not saved: ")) << drained.output;
  EXPECT_TRUE(drained.output.contains("not a regular file")) << drained.output;
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(std::filesystem::exists(pipe + ".unusable"));
}

TEST(Operator, FindsTheStateInTheFileThatAReloadNames) {
  const TempDir dir;
  const auto first = dir.path() + "/first";
  const auto second = dir.path() + "/second";
  const auto third = dir.file("third", "[1]");
  Operated karmad;
  const auto reload_with = [&](const std::string& file) {
    ASSERT_TRUE(
        karmad.master.reload(karmad.searchd_ + "\n state_file = " + file, karmad.set.table()));
  };
  reload_with(first);
  EXPECT_FALSE(std::filesystem::exists(first)) << "there is nothing to save";
  karmad.ctl({"weight", karmad.set[0].address(), "9"});
  const auto saved = file_content(first);
  EXPECT_TRUE(saved.contains(R"("weight":9)")) << saved;
  reload_with(second);
  EXPECT_TRUE(eventually([&] { return file_content(second) == saved; }));
  reload_with(third);
  EXPECT_TRUE(eventually([&] { return file_content(third) == saved; }));
  EXPECT_EQ(file_content(third + ".unusable"), "[1]");
  EXPECT_EQ(file_content(first), saved) << "the former files stay";
}

TEST(Operator, IsToldWhatAReloadWouldChange) {
  Operated karmad;
  karmad.master.write_config(karmad.searchd_ + "\n dead_after = 9", karmad.set.table());
  const auto reloaded = karmad.ctl({"reload"});
  EXPECT_EQ(reloaded.code, 0) << reloaded.output;
  EXPECT_TRUE(reloaded.output.contains("searchd: dead_after: 3 (default) -> 9 ("))
      << reloaded.output;
  karmad.master.write_config(karmad.searchd_ + "\n dead_after = x", karmad.set.table());
  const auto broken = karmad.ctl({"reload"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_TRUE(broken.output.contains("status 422")) << broken.output;
  EXPECT_TRUE(broken.output.contains("'x'")) << broken.output;
  EXPECT_EQ(karmad.share(0, 10), 5U);
}

TEST(Operator, IsToldWhatAReloadLeavesToTheNextStart) {
  Operated karmad("hedge_max = 2");
  karmad.master.write_config(karmad.searchd_ + "\n max_connections = 77\n dns_tries = 4",
                             karmad.set.table());
  for (int i = 0; i < 2; ++i) {
    const auto reloaded = karmad.ctl({"reload"});
    EXPECT_EQ(reloaded.code, 0);
    EXPECT_TRUE(
        reloaded.output.contains("dns_tries takes effect at the next start\n"
                                 "max_connections takes effect at the next start\n"))
        << reloaded.output;
    EXPECT_FALSE(reloaded.output.contains("nothing changed")) << reloaded.output;
  }
  EXPECT_TRUE(
      karmad.ctl({"reload", "--json"})
          .output.contains(R"("changed":[],"at_next_start":["dns_tries","max_connections"])"));
  karmad.master.write_config(karmad.searchd_, karmad.set.table());
  EXPECT_TRUE(karmad.ctl({"reload"}).output.contains("nothing changed"));
}

TEST(Operator, FindsEachCallInTheLogOnceWithItsEnd) {
  Operated karmad;
  const auto first = karmad.set[0].address();
  karmad.ctl({"maint", first});
  karmad.ctl({"weight", karmad.set[1].address(), "7"});
  karmad.ctl({"drain", karmad.set[1].address()});
  karmad.ctl({"strategy", "absent", "random"});
  karmad.ctl({"log_level", "warning"});
  karmad.ctl({"reset_karma", "--table", "none"});
  auto& process = karmad.master.process();
  ASSERT_TRUE(process.wait_for("reset_karma of table none is refused: "));
  const auto log = process.output();
  const auto count = [&](const std::string& text) {
    int found = 0;
    for (auto at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("maint " + first), 1) << log;
  EXPECT_FALSE(log.contains("maint " + first + " is refused"));
  EXPECT_EQ(count(": 7\n"), 1) << log;
  EXPECT_EQ(count("drain " + karmad.set[1].address()), 1) << log;
  EXPECT_EQ(count("is refused: no mirror that can serve"), 1) << log;
  EXPECT_EQ(count("of table absent: random is refused: no table 'absent'"), 1) << log;
}

TEST(AdminListener, RefusesWithAReasonAndChangesNothing) {
  Operated karmad;
  const auto unknown = karmad.ctl({"drain", "10.9.8.7:1"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(unknown.output.contains("status 404: no mirror '10.9.8.7:1'")) << unknown.output;
  EXPECT_EQ(karmad.ctl({"strategy", "t", "nonsense"}).code, 1);
  EXPECT_EQ(karmad.ctl({"weight", karmad.set[0].address(), "many"}).code, 1);
  EXPECT_EQ(karmad.ctl({"nonsense"}).code, 2);
  const auto neither = karmad.ctl({"hedging", "perhaps"});
  EXPECT_EQ(neither.code, 2);
  EXPECT_TRUE(neither.output.contains("hedging is on or off, not perhaps")) << neither.output;
  EXPECT_EQ(karmad.ctl({"drain"}).code, 2);
  const auto unnamed = karmad.ctl({"drain", karmad.set[0].address(), "--table", ""});
  EXPECT_EQ(unnamed.code, 2);
  EXPECT_TRUE(unnamed.output.contains("leave it out for all")) << unnamed.output;
  EXPECT_TRUE(karmad.ctl({"reload", "t"}).output.contains("reload takes no arguments"));
  EXPECT_EQ(karmad.ctl({"show", "t"}).code, 2);
  const auto on_query_port = ask(karmad.master.port(), "POST", "/admin/drain", "{}");
  EXPECT_EQ(on_query_port.status, 403);
  EXPECT_TRUE(on_query_port.body.contains(":admin")) << on_query_port.body;
  EXPECT_EQ(ask(karmad.master.port(), "POST", "/reload", "").status, 403);
  EXPECT_EQ(karmad.share(0, 10), 5U);
}

class AdminPort : public ::testing::Test {
 protected:
  static std::string token_file() {
    static const auto file = [] {
      auto path = Operated::scratch_file("token");
      std::ofstream(path) << "0123456789abcdef0123\n";
      return path;
    }();
    return file;
  }
  static int free_port() { return ClosedPort().port(); }
};

TEST_F(AdminPort, NeedsTheTokenForEveryCall) {
  FakeSet set(2);
  const auto port = free_port();
  const Master master(
      fmt::format("listen = 127.0.0.1:{}:admin\n admin_token_file = {}", port, token_file()),
      set.table());
  ASSERT_TRUE(eventually([&] { return get(port, "/healthz").status == 200; }));
  const auto body = fmt::format(R"({{"mirror":"{}"}})", set[0].address());
  const auto without = ask(port, "POST", "/admin/drain", body);
  EXPECT_EQ(without.status, 401);
  EXPECT_EQ(without.fields.at("www-authenticate"), "Bearer");
  EXPECT_EQ(
      ask(port, "POST", "/admin/drain", body, "Authorization: Bearer 0123456789abcdef0124\r\n")
          .status,
      401);
  EXPECT_EQ(
      ask(port, "POST", "/admin/drain", body, "Authorization: Bearer 0123456789abcdef0123\r\n")
          .status,
      200);
  Process ctl("karmad", {"ctl", "ready", set[0].address(), "--address",
                         fmt::format("127.0.0.1:{}", port), "--token-file", token_file()});
  EXPECT_EQ(ctl.wait(), 0) << ctl.output();
  EXPECT_EQ(get(port, "/agents").status, 200) << "a client on this host may read";
}

TEST_F(AdminPort, AnswersNoQueriesAndNoWebPages) {
  FakeSet set(1);
  const auto port = free_port();
  const Master master(fmt::format("listen = 127.0.0.1:{}:admin", port), set.table());
  ASSERT_TRUE(eventually([&] { return get(port, "/healthz").status == 200; }));
  EXPECT_EQ(ask(port, "POST", "/search", kAnySearch).status, 404);
  EXPECT_EQ(ask(port, "POST", "/cli", "SHOW AGENTS").status, 200);
  EXPECT_EQ(ask(port, "POST", "/admin/reload", "", "Origin: http://example.org\r\n").status, 403);
  EXPECT_EQ(ask(port, "GET", "/admin/reload").status, 405);
  EXPECT_EQ(ask(port, "POST", "/admin/nonsense").status, 404);
  EXPECT_EQ(ask(port, "POST", "/admin/drain", "{x").status, 400);
  EXPECT_EQ(ask(port, "GET", "/admin/config").status, 200);
}

TEST_F(AdminPort, KeepsTheStatusAndNamesOfMirrorsFromClients) {
  const ClosedPort gone;
  const auto queries = free_port();
  const auto port = free_port();
  const auto config = Operated::scratch_file("health.conf");
  std::ofstream(config) << fmt::format(
      "searchd {{\n listen = 127.0.0.1:{}\n listen = 127.0.0.1:{}:admin\n"
      " status_on_query_port = health\n}}\n"
      "table t {{\n type = distributed\n agent = {}\n}}\n",
      queries, port, gone.address());
  Process karmad("karmad", {"--config", config});
  ASSERT_TRUE(eventually([&] { return get(port, "/healthz").status == 200; }));
  for (const auto* path :
       {"/agents", "/status", "/metrics", "/events", "/dashboard", "/admission"}) {
    EXPECT_EQ(get(queries, path).status, 403) << path;
    EXPECT_EQ(get(port, path).status, 200) << path;
  }
  EXPECT_EQ(get(queries, "/healthz").status, 200);
  EXPECT_EQ(post(queries, "/cli", "SHOW AGENTS").status, 403);
  const auto unknown = post(queries, "/search", R"({"table":"u"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_FALSE(unknown.body.contains("the tables are")) << unknown.body;
  const auto failed = ask(queries, "POST", "/search", kAnySearch, kTraced);
  EXPECT_EQ(failed.status, 502);
  EXPECT_TRUE(failed.body.contains("agent mirror 1: ")) << failed.body;
  EXPECT_FALSE(failed.fields.contains("x-karmad-trace"));
  for (const auto& text : {failed.body, get(queries, "/readyz").body})
    EXPECT_FALSE(text.contains(gone.address())) << text;
  karmad.signal(SIGTERM);
  EXPECT_EQ(karmad.wait(), 0) << karmad.output();
}

TEST_F(AdminPort, IsNotOpenedToOtherHostsWithoutAToken) {
  Process process("karmad", {"--config", [] {
                               auto path = Operated::scratch_file("open.conf");
                               std::ofstream(path)
                                   << "searchd {\n listen = 9308\n listen = 0.0.0.0:0:admin\n}\n"
                                      "table t {\n type = distributed\n agent = 127.0.0.1:1\n}\n";
                               return path;
                             }()});
  EXPECT_EQ(process.wait(), 78);
  EXPECT_TRUE(process.output().contains("set admin_token_file")) << process.output();
}

}  // namespace
}  // namespace karmad::test
