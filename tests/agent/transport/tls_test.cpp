#include "agent/transport/tls.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <functional>

#include "agent/transport/stream.hpp"
#include "tests/agent/transport/on_loop.hpp"
#include "tests/support/process.hpp"
#include "tests/support/tls.hpp"

namespace karmad::test {
namespace {

/// Two ends of TLS. What they send lies between them until it is passed on.
class TlsEnds : public testing::Test {
 protected:
  TlsEnds() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, of_client_.data()), 0);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, of_server_.data()), 0);
    const auto file = Authority(directory_.path()).issue("server.pem", "IP:127.0.0.1");
    const auto made = TlsServer::make({.pairs = {{file, file}}});
    EXPECT_TRUE(made);
    server_ = (*made)->accept(of_server_[0]);
    const TlsClientRules rules{.verify = false};
    client_ = std::make_shared<TlsClient>(*TlsClient::read(rules), rules, "127.0.0.1")
                  ->connect(of_client_[0]);
    for (int round = 0; round < 4; ++round) {
      client_->shake_hands();
      to_server(waiting(of_client_[1]));
      server_->shake_hands();
      to_client(from_server());
    }
    EXPECT_TRUE(client_->is_established());
    EXPECT_TRUE(server_->is_established());
  }
  ~TlsEnds() override {
    for (const auto& pair : {of_client_, of_server_})
      for (const int socket : pair) ::close(socket);
  }

  /// Records without data, as the client sends them.
  std::string key_updates(int times) {
    std::string records;
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(::SSL_key_update(client_->native(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      EXPECT_EQ(::SSL_do_handshake(client_->native()), 1);
      records += sent();  // the kernel takes no more than some hundred at a time
    }
    return records;
  }
  /// What the client has sent, encrypted.
  std::string sent() { return waiting(of_client_[1]); }
  std::string from_server() { return waiting(of_server_[1]); }
  void to_client(std::string_view bytes) {
    EXPECT_EQ(::write(of_client_[1], bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  /// The end of what the client gets, without TLS saying so.
  void leave_client() { EXPECT_EQ(::shutdown(of_client_[1], SHUT_WR), 0); }
  void to_server(std::string_view bytes) {
    EXPECT_EQ(::write(of_server_[1], bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  /// What the server receives: bytes, or minus `errno`.
  std::pair<ssize_t, std::string> received(std::size_t room = 64 << 10) {
    std::string bytes(room, '\0');
    const auto got = server_->receive(bytes.data(), room);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return {got, bytes};
  }

  std::unique_ptr<Tls> client_;
  std::unique_ptr<Tls> server_;

 private:
  static std::string waiting(int socket) {
    std::string bytes(256 << 10, '\0');
    const auto got = ::read(socket, bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

  TempDir directory_;
  std::array<int, 2> of_client_{};
  std::array<int, 2> of_server_{};
};

TEST_F(TlsEnds, ReceiveWhatHasArrivedInSeveralRecords) {
  const std::string text(40'000, 'x');
  for (std::size_t at = 0; at < text.size();)
    at += static_cast<std::size_t>(client_->send(std::string_view(text).substr(at)));
  to_server(sent());
  EXPECT_EQ(received().second, text);
  EXPECT_EQ(received().first, -EAGAIN);
}

TEST_F(TlsEnds, ReceiveNoMoreThanThereIsRoomForAndKeepTheRest) {
  EXPECT_EQ(client_->send("one two"), 7);
  to_server(sent());
  EXPECT_EQ(received(4).second, "one ");
  EXPECT_TRUE(server_->has_pending());
  EXPECT_EQ(received(4).second, "two");
  EXPECT_FALSE(server_->has_pending());
  EXPECT_EQ(received(4).first, -EAGAIN);
}

TEST_F(TlsEnds, WaitForTheRestOfARecord) {
  EXPECT_EQ(client_->send("one"), 3);
  EXPECT_EQ(client_->send("two"), 3);
  const auto bytes = sent();
  for (const std::size_t cut : {3UZ, 11UZ}) {
    to_server(bytes.substr(cut == 3 ? 0 : 3, cut == 3 ? 3 : 8));
    EXPECT_EQ(received().first, -EAGAIN) << cut;
  }
  to_server(bytes.substr(11, bytes.size() - 12));
  EXPECT_EQ(received().second, "one");
  to_server(bytes.substr(bytes.size() - 1));
  EXPECT_EQ(received().second, "two");
}

TEST_F(TlsEnds, PassOverRecordsWithoutData) {
  const auto before = key_updates(3);
  EXPECT_EQ(client_->send("after them"), 10);
  to_server(before + sent());
  EXPECT_EQ(received().second, "after them");
}

TEST_F(TlsEnds, EndAfterTooManyRecordsWithoutData) {
  to_server(key_updates(3300));
  EXPECT_EQ(received().first, -EPROTO);
  EXPECT_EQ(server_->failure(), "the peer sends records without data");
}

TEST_F(TlsEnds, SayWhatIsWrongBehindTheHandshake) {
  EXPECT_EQ(client_->send("some text"), 9);
  auto record = sent();
  record.back() = static_cast<char>(record.back() ^ 1);
  to_server(record);
  EXPECT_EQ(received().first, -EPROTO);
  EXPECT_EQ(server_->failure(), "decryption failed or bad record mac");
  to_client(from_server());
  std::array<char, 100> bytes{};
  EXPECT_EQ(client_->receive(bytes.data(), bytes.size()), -EPROTO);
  EXPECT_EQ(client_->failure(), "sslv3 alert bad record mac");
}

TEST_F(TlsEnds, TakeAConnectionThatJustEndsForOneThatBreaks) {
  leave_client();
  std::array<char, 100> bytes{};
  EXPECT_EQ(client_->receive(bytes.data(), bytes.size()), -ECONNRESET);
  EXPECT_EQ(client_->failure(), "");
}

TEST_F(TlsEnds, SeeTheEndBehindTheLastBytes) {
  EXPECT_EQ(client_->send("bye"), 3);
  client_->say_end();
  to_server(sent());
  EXPECT_EQ(received().second, "bye");
  EXPECT_EQ(received().first, 0);
  EXPECT_TRUE(server_->has_ended());
}

/// A connection whose client has begun its handshake.
struct Begun {
  Begun(Loop& loop, const TlsServer& server, const std::shared_ptr<TlsClient>& of_client)
      : socket(loop.io.get_executor()) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    socket.assign(Protocol(AF_UNIX, 0), ends[0]);
    tls = server.accept(ends[0]);
    client_socket = ends[1];
    client = of_client->connect(client_socket);
    EXPECT_EQ(client->shake_hands(), -EAGAIN);
  }
  ~Begun() { ::close(client_socket); }
  bool is_answered() const {
    char byte = 0;
    return ::recv(client_socket, &byte, 1, MSG_PEEK) == 1;
  }

  Socket socket;
  std::unique_ptr<Tls> tls;
  int client_socket = -1;
  std::unique_ptr<Tls> client;
};

TEST(Handshakes, LetOtherWorkPassBetweenThem) {
  Loop loop{0, 1 << 20, 1};
  const TempDir directory;
  const auto file = Authority(directory.path()).issue("server.pem", "IP:127.0.0.1");
  const auto server = TlsServer::make({.pairs = {{file, file}}});
  ASSERT_TRUE(server);
  const TlsClientRules rules{.verify = false};
  const auto client = std::make_shared<TlsClient>(*TlsClient::read(rules), rules, "127.0.0.1");
  constexpr std::size_t kAtOnce = 5;
  std::vector<std::unique_ptr<Begun>> all;
  for (std::size_t i = 0; i < kAtOnce; ++i)
    all.push_back(std::make_unique<Begun>(loop, **server, client));
  for (const auto& begun : all)
    spawn([](Loop& on, Begun& of) -> Task<void> {
      co_await Stream::shake_hands(on.turn, of.socket, *of.tls);
    }(loop, *begun));

  std::size_t answered = 0;
  std::size_t most = 0;
  std::function<void()> other_work = [&] {
    const auto now = static_cast<std::size_t>(
        std::ranges::count_if(all, [](const auto& begun) { return begun->is_answered(); }));
    most = std::max(most, now - std::exchange(answered, now));
    if (answered < kAtOnce) asio::post(loop.io, other_work);
  };
  asio::post(loop.io, other_work);
  EXPECT_TRUE(turn_until(loop, [&] { return answered == kAtOnce; }));
  EXPECT_EQ(most, 1U);
  for (const auto& begun : all) begun->socket.close();
  loop.io.restart();
  loop.io.poll();
}

}  // namespace
}  // namespace karmad::test
