// A process takes over from another one: no request is lost, and what was learned goes along.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/name_server.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kTakeoverQuery = R"({"table":"t"})";
const std::string kSuccessorMayCome = "a successor may connect";

std::string takeover_table(const std::string& agents, const std::string& more = "") {
  return fmt::format("table t {{\n type = distributed\n agent = {}\n {}\n}}\n", agents, more);
}

/// The processes of one service, one after the other, with one file.
class Service {
 public:
  explicit Service(std::string rest) : rest_(std::move(rest)) {}

  std::string socket() const { return dir_.path() + "/takeover"; }
  std::string path(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string config(const std::string& searchd = "", const std::string& listen = "127.0.0.1:0") {
    return dir_.file("karmad.conf", fmt::format("searchd {{\n listen = {}\n takeover_socket = {}\n"
                                                " ha_ping_interval = 0\n {}\n}}\n{}\n",
                                                listen, socket(), searchd, rest_));
  }
  static Process start(const std::string& config) { return {"karmad", {"--config", config}}; }
  static Process successor(const std::string& config) {
    return {"karmad", {"--config", config, "--takeover"}};
  }

 private:
  TempDir dir_;
  std::string rest_;
};

/// Its port, once a successor may connect.
int serving_port(Process& process) {
  const auto line = process.wait_for("listening on 127");
  if (!line || !process.wait_for(kSuccessorMayCome)) return 0;
  return port_in(*line);
}

double number_of(int port, const char* pointer) {
  rapidjson::Document told;
  told.Parse(get(port, "/agents").body.c_str());
  const auto* found = rapidjson::Pointer(pointer).Get(told);
  return found != nullptr && found->IsNumber() ? found->GetDouble() : -1;
}

/// Clients that ask until they are stopped; every request without an answer of status 200 is lost.
class SteadyClients {
 public:
  enum class Connections { kept, fresh };

  SteadyClients(int port, Connections connections, int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back(
          [this, port, connections](const std::stop_token& stop) { run(stop, port, connections); });
  }
  void stop() { threads_.clear(); }

  std::atomic<int> answered{0};
  std::atomic<int> lost{0};

 private:
  void run(const std::stop_token& stop, int port, Connections connections) {
    std::optional<HttpClient> client;
    while (!stop.stop_requested()) {
      if (!client) client.emplace(port);
      const auto answer = client->request("POST", "/search", kTakeoverQuery);
      ++(answer && answer->status == 200 ? answered : lost);
      const bool closes = !answer || (answer->fields.contains("connection") &&
                                      answer->fields.at("connection") == "close");
      if (closes || connections == Connections::fresh) client.reset();
      nap();
    }
  }

  std::vector<std::jthread> threads_;
};

/// Switches to another protocol if it is asked for it.
Reaction switched_or_read(const std::string& request) {
  if (request.starts_with("GET"))
    return {
        .bytes = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: Upgrade\r\n\r\n",
        .then = Reaction::Then::echo};
  return json(std::to_string(request.size() - request.find("\r\n\r\n") - 4));
}

// Both have no part in the file of the successor, and outlive a query's time.
TEST(Takeover, LetsTunnelsAndStreamedRequestsOfTheFormerProcessGoOn) {
  constexpr std::size_t kBody = 400'000;
  const FakeMirror mirror(switched_or_read);
  Service service(
      fmt::format("table w {{\n type = distributed\n dialect = http\n route = /w\n upgrades = "
                  "yes\n agent = {}\n}}",
                  mirror.address()));
  auto former = Service::start(service.config("workers = 1"));
  const auto port = serving_port(former);
  ASSERT_NE(port, 0) << former.output();
  const auto ask_for_tunnel = [](HttpClient& client) {
    EXPECT_TRUE(client.send(
        "GET /w/chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"));
    const auto answer = client.receive();
    return answer && answer->status == 101;
  };
  const auto echoes = [](HttpClient& client, const std::string& text) {
    return client.send(text) && client.take(text.size()) == text;
  };
  auto tunnel = std::make_unique<HttpClient>(port);
  ASSERT_TRUE(ask_for_tunnel(*tunnel));
  ASSERT_TRUE(echoes(*tunnel, "before"));
  HttpClient upload(port);
  ASSERT_TRUE(upload.send(
      fmt::format("POST /w/x HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", kBody)));
  ASSERT_TRUE(upload.send(std::string(kBody / 2, 'a')));
  ASSERT_TRUE(eventually([&] { return mirror.received() > kBody / 3; }));

  auto next = Service::successor(service.config("workers = 2"));
  ASSERT_EQ(serving_port(next), port) << next.output();
  EXPECT_TRUE(echoes(*tunnel, "after"));
  ASSERT_TRUE(upload.send(std::string(kBody - kBody / 2, 'b')));
  const auto answer = upload.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, std::to_string(kBody));
  HttpClient later(port);
  EXPECT_TRUE(ask_for_tunnel(later));
  EXPECT_TRUE(echoes(*tunnel, "again"));
  tunnel.reset();
  EXPECT_EQ(former.wait(), 0) << former.output();
  EXPECT_TRUE(echoes(later, "of the successor"));
}

class TakeoverUnderLoad : public testing::TestWithParam<SteadyClients::Connections> {};

TEST_P(TakeoverUnderLoad, LosesNoRequestWhateverTheNumberOfWorkers) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  std::optional running(Service::start(service.config("workers = 2")));
  const auto port = serving_port(*running);
  ASSERT_NE(port, 0) << running->output();
  SteadyClients clients(port, GetParam(), 12);
  for (const auto workers : {1, 4, 3, 2, 2}) {
    const auto enough = clients.answered + 100;
    ASSERT_TRUE(eventually([&] { return clients.answered > enough; }));
    auto next = Service::successor(service.config(fmt::format("workers = {}", workers)));
    EXPECT_EQ(serving_port(next), port) << next.output();
    EXPECT_EQ(running->wait(), 0) << running->output();
    running.emplace(std::move(next));
  }
  const auto enough = clients.answered + 100;
  ASSERT_TRUE(eventually([&] { return clients.answered > enough; }));
  clients.stop();
  EXPECT_EQ(clients.lost, 0) << "of " << clients.answered;
  running->signal(SIGTERM);
  EXPECT_EQ(running->wait(), 0) << running->output();
  EXPECT_NE(::access(service.socket().c_str(), F_OK), 0) << "its last process removes the socket";
}

INSTANTIATE_TEST_SUITE_P(With, TakeoverUnderLoad,
                         testing::Values(SteadyClients::Connections::kept,
                                         SteadyClients::Connections::fresh),
                         [](const testing::TestParamInfo<SteadyClients::Connections>& how) {
                           return how.param == SteadyClients::Connections::kept
                                      ? "KeptConnections"
                                      : "FreshConnections";
                         });

TEST(Takeover, LetsRequestsInProgressEndInTheFormerProcess) {
  FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  auto running = Service::start(service.config("workers = 1"));
  const auto port = serving_port(running);
  HttpClient idle(port);
  ASSERT_TRUE(idle.request("GET", "/readyz"));
  HttpClient busy(port);
  mirror.hold();
  ASSERT_TRUE(
      busy.send(fmt::format("POST /search HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}",
                            kTakeoverQuery.size(), kTakeoverQuery)));
  ASSERT_TRUE(eventually([&] { return mirror.requests() == 1; }));
  auto next = Service::successor(service.config());
  ASSERT_EQ(serving_port(next), port) << next.output();
  ASSERT_TRUE(idle.closed()) << "the only worker is told to end";
  EXPECT_EQ(running.wait(0ms), std::nullopt);
  EXPECT_EQ(get(port, "/readyz").status, 200);
  mirror.release();
  const auto answer = busy.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->fields.at("connection"), "close");
  EXPECT_EQ(running.wait(), 0) << running.output();
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
}

TEST(Takeover, TakesAlongWhatWasLearnedOfTheMirrors) {
  const FakeMirror fine([](const std::string&) { return nothing_found(); });
  const FakeMirror busy([](const std::string&) {
    return Reaction{
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 100\r\nContent-Length: 2\r\n\r\n{}"};
  });
  const ClosedPort gone;
  Service service(takeover_table(fine.address() + "|" + busy.address() + "|" + gone.address(),
                                 "ha_strategy = roundrobin"));
  auto running = Service::start(service.config());
  const auto port = serving_port(running);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  const auto before = busy.requests();
  const auto* const errors = "/tables/0/shards/0/mirrors/2/errors_in_a_row";
  const auto errors_before = number_of(port, errors);
  EXPECT_GT(errors_before, 0);
  auto next = Service::successor(service.config());
  ASSERT_EQ(serving_port(next), port) << next.output();
  EXPECT_TRUE(next.output().contains("has learned of 3 mirrors")) << next.output();
  EXPECT_EQ(running.wait(), 0) << "until then it may accept connections, too";
  EXPECT_EQ(number_of(port, errors), errors_before);
  EXPECT_EQ(number_of(port, "/tables/0/shards/0/mirrors/0/since_start/attempts"), 0);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  EXPECT_EQ(busy.requests(), before) << "the pause that it asked for goes on";
}

TEST(Takeover, TakesAlongWhatTheOperatorChanged) {
  const FakeMirror kept([](const std::string&) { return nothing_found(); });
  const FakeMirror drained([](const std::string&) { return nothing_found(); });
  Service service(
      takeover_table(kept.address() + "|" + drained.address(), "ha_strategy = roundrobin"));
  const auto admin = service.path("admin");
  const auto config = service.config("", "127.0.0.1:0\n listen = " + admin + ":admin");
  auto running = Service::start(config);
  const auto port = serving_port(running);
  Process ctl("karmad", {"ctl", "drain", drained.address(), "--address", admin});
  ASSERT_EQ(ctl.wait(), 0) << ctl.output();
  auto next = Service::successor(config);
  ASSERT_EQ(serving_port(next), port) << next.output();
  EXPECT_EQ(running.wait(), 0) << "until then it may accept connections, too";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  EXPECT_EQ(drained.requests(), 0u);
  Process show("karmad", {"ctl", "ready", drained.address(), "--address", admin});
  ASSERT_EQ(show.wait(), 0) << "the admin socket goes along too: " << show.output();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  EXPECT_GE(drained.requests(), 4u);
}

/// Sends one request to a unix socket and returns the answer's first bytes; empty: no connection.
std::string asked_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer(12, '\0');
  const std::string request = "GET /healthz HTTP/1.0\r\n\r\n";
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0 ||
      ::recv(fd, answer.data(), answer.size(), MSG_WAITALL) != 12)
    answer.clear();
  ::close(fd);
  return answer;
}

TEST(Takeover, OpensNewListenersAndClosesThoseThatAreGone) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  const auto kept = service.path("kept");
  const auto added = service.path("added");
  auto running = Service::start(service.config("workers = 2", "127.0.0.1:0\n listen = " + kept));
  const auto port = serving_port(running);
  ASSERT_EQ(asked_at(kept), "HTTP/1.1 200");
  struct stat first {};
  ASSERT_EQ(::stat(kept.c_str(), &first), 0);
  auto next = Service::successor(service.config("workers = 3", kept + "\n listen = " + added));
  ASSERT_TRUE(next.wait_for(kSuccessorMayCome)) << next.output();
  EXPECT_TRUE(next.output().contains("has no listen line and is not used")) << next.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
  EXPECT_FALSE(HttpClient(port).connected());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(asked_at(kept), "HTTP/1.1 200");
  EXPECT_EQ(asked_at(added), "HTTP/1.1 200");
  struct stat second {};
  ASSERT_EQ(::stat(kept.c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino) << "the file of a unix socket stays";
}

TEST(Takeover, GivesTheFileOfAUnixSocketTheModeOfItsOwnConfiguration) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  const auto socket = service.path("socket");
  const auto mode_of_socket = [&] {
    struct stat facts {};
    EXPECT_EQ(::stat(socket.c_str(), &facts), 0);
    return facts.st_mode & 0777U;
  };
  const auto listen = "127.0.0.1:0\n listen = " + socket;
  std::vector<std::unique_ptr<Process>> processes;
  processes.push_back(std::make_unique<Process>(Service::start(service.config("", listen))));
  ASSERT_NE(serving_port(*processes.back()), 0);
  for (const auto& [searchd, suffix, mode] : {std::tuple("", "", 0666U),
                                              {"listen_socket_mode = 0640", "", 0640U},
                                              {"", "", 0640U},
                                              {"", ":admin", 0600U}}) {
    processes.push_back(
        std::make_unique<Process>(Service::successor(service.config(searchd, listen + suffix))));
    ASSERT_TRUE(processes.back()->wait_for(kSuccessorMayCome)) << processes.back()->output();
    EXPECT_EQ(mode_of_socket(), mode) << searchd << suffix;
  }
}

TEST(Takeover, ThatFailsChangesNothing) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  auto running = Service::start(service.config());
  const auto port = serving_port(running);
  ASSERT_NE(port, 0) << running.output();

  auto wrong = Service::successor(service.config("agent_query_timeuot = 3s"));
  EXPECT_EQ(wrong.wait(), 78);
  // It fails after it got the sockets: the folder of its access log does not exist.
  auto late = Service::successor(service.config("access_log = /no/such/folder/log"));
  EXPECT_EQ(late.wait(), 71) << late.output();
  EXPECT_TRUE(running.wait_for("the other side ended the connection; this process goes on"));
  auto plain = Service::start(service.config());
  EXPECT_EQ(plain.wait(), 71);
  EXPECT_TRUE(plain.output().contains("start with --takeover to replace it")) << plain.output();
  EXPECT_TRUE(asked_at(service.socket()).starts_with("KMTO")) << "it refuses HTTP";
  EXPECT_TRUE(running.wait_for("the other side is no karmad; this process goes on"));

  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  auto next = Service::successor(service.config());
  EXPECT_EQ(serving_port(next), port) << next.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
}

TEST(Takeover, WithoutARunningProcessStartsAsUsual) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  auto first = Service::successor(service.config());
  ASSERT_NE(serving_port(first), 0) << first.output();
  EXPECT_TRUE(first.output().contains("no process listens at")) << first.output();
  struct stat facts {};
  ASSERT_EQ(::stat(service.socket().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  first.kill();  // leaves the socket behind
  ASSERT_EQ(first.wait(), -SIGKILL);
  auto second = Service::successor(service.config());
  EXPECT_NE(serving_port(second), 0) << second.output();
}

TEST(Takeover, LeavesEverythingThatIsNoSocketAsItIs) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  const std::string text = "precious";
  std::ofstream(service.socket()) << text;
  for (const bool takes_over : {false, true}) {
    auto process =
        takes_over ? Service::successor(service.config()) : Service::start(service.config());
    EXPECT_EQ(process.wait(), 71);
    EXPECT_TRUE(process.output().contains("(takeover_socket, ")) << process.output();
    EXPECT_TRUE(process.output().contains("a file that is not a socket is there; it stays"))
        << process.output();
  }
  EXPECT_EQ(std::filesystem::file_size(service.socket()), text.size());
  // The socket is made beside its path, and then renamed.
  std::filesystem::rename(service.socket(), service.socket() + "~");
  auto beside = Service::start(service.config());
  EXPECT_TRUE(
      beside.wait_for("takeover~: a file that is not a socket is there; it stays; this "
                      "process cannot be taken over"));
  EXPECT_EQ(std::filesystem::file_size(service.socket() + "~"), text.size());
}

TEST(Takeover, NeedsItsSocketInTheConfiguration) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  auto process = Service::successor(dir.file(
      "k.conf", "searchd {\n listen = 127.0.0.1:0\n}\n" + takeover_table(mirror.address())));
  EXPECT_EQ(process.wait(), 78);
  EXPECT_TRUE(process.output().contains("--takeover needs the setting takeover_socket"));
}

TEST(Takeover, IsStartedByUsr2) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  auto running = Service::start(service.config());
  const auto port = serving_port(running);
  running.signal(SIGUSR2);
  const auto line = running.wait_for("starts as the successor");
  ASSERT_TRUE(line) << running.output();
  const int successor = std::atoi(line->c_str() + line->find("process ") + 8);
  ASSERT_TRUE(running.wait_for("accepts the connections from now on")) << running.output();
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  ASSERT_TRUE(running.wait_for("stopped"));
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  ASSERT_EQ(::kill(successor, SIGTERM), 0);
  EXPECT_EQ(running.wait(), 0) << running.output();  // reads until the successor has ended too
}

TEST(Takeover, ThatUsr2BeginsAndFailsIsInTheLog) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  auto running = Service::start(service.config());
  const auto port = serving_port(running);
  service.config("access_log_formt = text");
  running.signal(SIGUSR2);
  EXPECT_TRUE(running.wait_for("has ended with exit code 78; this process goes on"))
      << running.output();
  service.config("access_log = /no/such/folder/log");
  running.signal(SIGUSR2);
  EXPECT_TRUE(running.wait_for("has ended with exit code 71; this process goes on"))
      << running.output();
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait(), 0);
}

/// A table whose name is looked up: with a silent name server a successor needs half a second.
std::string named_table(const std::string& agents) {
  return takeover_table(agents, "ha_strategy = roundrobin") +
         "table slow {\n type = distributed\n agent = slow.test:1\n}\n";
}

std::string looking_up(const NameServer& names) {
  return fmt::format("dns_servers = {}\n dns_timeout = 10s\n dns_tries = 1", names.address());
}

TEST(Takeover, LosesNoChangeThatIsMadeWhileTheSuccessorOpens) {
  const FakeMirror kept([](const std::string&) { return nothing_found(); });
  const FakeMirror drained([](const std::string&) { return nothing_found(); });
  NameServer names;
  names.set("slow.test", {"127.0.0.1"});
  Service service(named_table(kept.address() + "|" + drained.address()));
  const auto admin = ClosedPort().port();
  const auto config = service.config(
      looking_up(names), fmt::format("127.0.0.1:0\n listen = 127.0.0.1:{}:admin", admin));
  std::optional running(Service::start(config));
  const auto port = serving_port(*running);
  ASSERT_NE(port, 0) << running->output();
  names.mood(NameServer::Mood::silent);
  for (const std::string call : {"drain", "ready", "maint"}) {
    auto next = Service::successor(config);
    ASSERT_TRUE(running->wait_for("asks for the listening sockets"));
    const auto answer =
        post(admin, "/admin/" + call, fmt::format(R"({{"mirror":"{}"}})", drained.address()));
    EXPECT_EQ(answer.status, 200) << answer.body;
    ASSERT_EQ(serving_port(next), port) << next.output();
    EXPECT_EQ(running->wait(), 0) << running->output();
    const auto before = drained.requests();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
    EXPECT_EQ(drained.requests() - before, call == "ready" ? 5U : 0U) << call;
    running.emplace(std::move(next));
  }
}

TEST(Takeover, LosesNoReloadOfAnIncludedFileWhileTheSuccessorOpens) {
  const FakeMirror first([](const std::string&) { return nothing_found(); });
  const FakeMirror second([](const std::string&) { return nothing_found(); });
  NameServer names;
  names.set("slow.test", {"127.0.0.1"});
  const TempDir dir;
  const auto included = dir.file("table.conf", takeover_table(first.address()));
  Service service("include = " + included +
                  "\ntable slow {\n type = distributed\n agent = slow.test:1\n}\n");
  const auto config = service.config(looking_up(names));
  auto running = Service::start(config);
  const auto port = serving_port(running);
  ASSERT_NE(port, 0) << running.output();
  names.mood(NameServer::Mood::silent);
  auto next = Service::successor(config);
  ASSERT_TRUE(running.wait_for("asks for the listening sockets"));
  dir.file("table.conf", takeover_table(second.address()));
  running.signal(SIGHUP);
  ASSERT_TRUE(running.wait_for("reload: done"));
  ASSERT_EQ(serving_port(next), port) << next.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
    return second.requests() > 0;
  })) << next.output();
}

TEST(Takeover, LosesNoReloadOfASecretWhileTheSuccessorOpens) {
  std::atomic<bool> renewed{false};
  const FakeMirror mirror([&](const std::string& request) {
    if (request.contains("Authorization: Bearer renewed-token")) renewed = true;
    return nothing_found();
  });
  NameServer names;
  names.set("slow.test", {"127.0.0.1"});
  const TempDir dir;
  const auto secret = dir.file("secret", "bearer former-token\n");
  Service service(takeover_table(mirror.address(), "credentials = " + secret) +
                  "table slow {\n type = distributed\n agent = slow.test:1\n}\n");
  const auto config = service.config(looking_up(names));
  auto running = Service::start(config);
  const auto port = serving_port(running);
  ASSERT_NE(port, 0) << running.output();
  names.mood(NameServer::Mood::silent);
  auto next = Service::successor(config);
  ASSERT_TRUE(running.wait_for("asks for the listening sockets"));
  dir.file("secret", "bearer renewed-token\n");
  running.signal(SIGHUP);
  ASSERT_TRUE(running.wait_for("reload: done"));
  ASSERT_EQ(serving_port(next), port) << next.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
  renewed = false;
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
    return renewed.load();
  })) << next.output();
}

TEST(Takeover, LeavesAProcessWhateverMomentTheFormerOneIsKilledAt) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  NameServer names;
  names.set("slow.test", {"127.0.0.1"});
  Service service(named_table(mirror.address()));
  const auto port = ClosedPort().port();
  const auto config =
      service.config(looking_up(names) + "\n workers = 2", fmt::format("127.0.0.1:{}", port));
  std::optional running(Service::start(config));
  ASSERT_EQ(serving_port(*running), port) << running->output();
  names.mood(NameServer::Mood::silent);
  std::minstd_rand random(31);
  for (int round = 0; round < 12; ++round) {
    auto next = Service::successor(config);
    if (round % 3 != 0) {
      ASSERT_TRUE(running->wait_for("asks for the listening sockets"));
    }
    const std::chrono::milliseconds after(random() % 700);
    next.wait_for("no such line", after);
    running->kill();
    ASSERT_TRUE(next.wait_for(kSuccessorMayCome)) << after << ": " << next.output();
    EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200) << after << next.output();
    running.emplace(std::move(next));
  }
}

/// karmad with this limit of descriptors.
Process limited(int descriptors, const std::string& config, const std::string& more = "") {
  return {"/bin/bash",
          {"-c", fmt::format(R"(ulimit -n {}; exec "{}" --config "{}" {})", descriptors,
                             karmad_program(), config, more)}};
}

TEST(Takeover, IsNotDoneWithTooFewDescriptors) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  const auto config = service.config("workers = 2");
  auto running = Service::start(config);
  const auto port = serving_port(running);
  ASSERT_NE(port, 0) << running.output();
  for (const int descriptors : {8, 10, 12, 16, 20, 24, 32, 40}) {
    for (const auto* how : {"", "--takeover"}) {
      auto process = limited(descriptors, config, how);
      EXPECT_EQ(process.wait(), 71) << descriptors << process.output();
      EXPECT_TRUE(process.output().contains("karmad: ")) << descriptors << process.output();
    }
    EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200) << descriptors;
  }
  auto next = limited(100, config, "--takeover");
  EXPECT_EQ(serving_port(next), port) << next.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
}

// As many clients as there are descriptors leave some for connections to mirrors.
TEST(FewDescriptors, AreNotAllTakenByClients) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  for (const int descriptors : {56, 64, 130}) {
    auto karmad = limited(descriptors, service.config("workers = 1"));
    const auto port = serving_port(karmad);
    ASSERT_NE(port, 0) << karmad.output();
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < descriptors; ++i) clients.push_back(std::make_unique<HttpClient>(port));
    for (int i = 0; i < 3; ++i) {
      const auto answer = clients[0]->request("POST", "/search", std::string(kTakeoverQuery));
      ASSERT_TRUE(answer) << descriptors << karmad.output();
      EXPECT_EQ(answer->status, 200) << descriptors << karmad.output();
    }
  }
}

/// A file with these mirrors, for `discovery = file …`.
std::string mirrors_file(const TempDir& dir, const std::string& address) {
  return dir.file("mirrors.json", fmt::format(R"([{{"address":"{}"}}])", address));
}

TEST(Takeover, KnowsTheMirrorsOfASourceThatIsAway) {
  const FakeMirror listed([](const std::string&) { return nothing_found(); });
  const FakeMirror named([](const std::string&) { return nothing_found(); });
  const TempDir dir;
  const auto file = mirrors_file(dir, listed.address());
  NameServer names;
  names.set("found.test", {"127.0.0.1"});
  Service service(
      fmt::format("table t {{\n type = distributed\n discovery = file {}\n}}\n"
                  "table n {{\n type = distributed\n agent = found.test:{}:t\n}}\n",
                  file, named.port()));
  const auto config =
      service.config(looking_up(names) + fmt::format("\n state_file = {}", service.path("state")));
  const auto serves = [&](int port) {
    EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
    EXPECT_EQ(post(port, "/search", R"({"table":"n"})").status, 200);
  };
  auto running = Service::start(config);
  auto port = serving_port(running);
  serves(port);
  std::filesystem::remove(file);
  names.mood(NameServer::Mood::silent);
  auto next = Service::successor(config);
  ASSERT_EQ(serving_port(next), port) << next.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
  serves(port);
  next.signal(SIGTERM);
  EXPECT_EQ(next.wait(), 0) << next.output();
  auto restarted = Service::start(config);
  port = serving_port(restarted);
  ASSERT_NE(port, 0) << restarted.output();
  serves(port);
  restarted.kill();
  EXPECT_EQ(restarted.wait(), -SIGKILL);
  auto third = Service::start(config);
  port = serving_port(third);
  ASSERT_NE(port, 0) << third.output();
  serves(port);
  const FakeMirror moved([](const std::string&) { return nothing_found(); });
  mirrors_file(dir, moved.address());
  EXPECT_TRUE(eventually([&] {
    post(port, "/search", kTakeoverQuery);
    return moved.requests() > 0;
  })) << "the source counts again once it answers";
}

TEST(Takeover, IsRefusedToASuccessorThatCanServeLess) {
  const FakeMirror mirror([](const std::string&) { return nothing_found(); });
  Service service(takeover_table(mirror.address()));
  auto running = Service::start(service.config());
  const auto port = serving_port(running);
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  const TempDir dir;
  const auto less = dir.file(
      "less.conf", fmt::format("searchd {{\n listen = 127.0.0.1:0\n takeover_socket = {}\n}}\n"
                               "table t {{\n type = distributed\n discovery = file {}/none\n}}\n",
                               service.socket(), dir.path()));
  auto refused = Service::successor(less);
  EXPECT_EQ(refused.wait(), 71) << refused.output();
  EXPECT_TRUE(refused.output().contains("can serve less than process")) << refused.output();
  EXPECT_TRUE(refused.output().contains("table t, shard 1: no mirror was found"))
      << refused.output();
  EXPECT_EQ(post(port, "/search", kTakeoverQuery).status, 200);
  Process forced("karmad", {"--config", less, "--takeover", "--force"});
  EXPECT_EQ(serving_port(forced), port) << forced.output();
  EXPECT_EQ(running.wait(), 0) << running.output();
}

}  // namespace
}  // namespace karmad::test
