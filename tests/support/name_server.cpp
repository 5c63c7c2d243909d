#include "tests/support/name_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace karmad::test {
namespace {

constexpr std::size_t kHead = 12;
constexpr std::size_t kLargestUdp = 1232;

std::string two_bytes(unsigned value) {
  return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}

std::string encoded_name(const std::string& name) {
  std::string out;
  for (std::size_t begin = 0; begin < name.size();) {
    const auto end = std::min(name.find('.', begin), name.size());
    out += static_cast<char>(end - begin);
    out += name.substr(begin, end - begin);
    begin = end + 1;
  }
  return out + '\0';
}

int bound_socket(int type, int port) {
  const int descriptor = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

int port_of(int descriptor) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

}  // namespace

NameServer::NameServer() {
  for (int tries = 0; tries < 100 && tcp_ < 0; ++tries) {  // the same port for both
    if (udp_ >= 0) ::close(udp_);
    udp_ = bound_socket(SOCK_DGRAM, 0);
    port_ = port_of(udp_);
    tcp_ = bound_socket(SOCK_STREAM, port_);
  }
  if (tcp_ < 0 || ::listen(tcp_, 16) != 0) throw std::runtime_error("no port for a name server");
  thread_ = std::thread([this] { serve(); });
}

NameServer::~NameServer() {
  over_ = true;
  thread_.join();
  ::close(udp_);
  ::close(tcp_);
}

void NameServer::set(const std::string& name, std::vector<std::string> addresses) {
  const std::scoped_lock lock(mutex_);
  addresses_[name] = std::move(addresses);
}

void NameServer::set_srv(const std::string& name, std::vector<Srv> targets) {
  const std::scoped_lock lock(mutex_);
  srv_[name] = std::move(targets);
}

void NameServer::serve() {
  while (!over_) {
    std::array<pollfd, 2> waits{pollfd{udp_, POLLIN, 0}, pollfd{tcp_, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), 20) <= 0) continue;
    if (waits[0].revents != 0) serve_udp();
    if (waits[1].revents != 0) serve_tcp();
  }
}

void NameServer::serve_udp() {
  std::array<char, 1500> room{};
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const auto count =
      ::recvfrom(udp_, room.data(), room.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (count < static_cast<ssize_t>(kHead)) return;
  const auto reply = answer({room.data(), static_cast<std::size_t>(count)}, true);
  if (!reply.empty())
    ::sendto(udp_, reply.data(), reply.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
}

void NameServer::serve_tcp() {
  const int client = ::accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
  const timeval longest{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  std::array<char, 1500> room{};
  std::size_t size = 0;
  while (size < 2 + kHead) {
    const auto count = ::recv(client, room.data() + size, room.size() - size, 0);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size >= 2 + kHead && mood_ != Mood::truncated) {
    const auto reply = answer({room.data() + 2, size - 2}, false);
    const auto framed = two_bytes(static_cast<unsigned>(reply.size())) + reply;
    if (!reply.empty()) ::send(client, framed.data(), framed.size(), MSG_NOSIGNAL);
  }
  ::close(client);
}

/// The records of the answer section.
std::string NameServer::records_of(const std::string& name, unsigned type, unsigned& count) const {
  std::string out;
  const auto add = [&](const std::string& data) {
    out += two_bytes(0xc000 | kHead) + two_bytes(type) + two_bytes(1) + std::string(4, '\0') +
           two_bytes(static_cast<unsigned>(data.size())) + data;
    ++count;
  };
  if (const auto found = addresses_.find(name); type == 1 && found != addresses_.end())
    for (const auto& text : found->second) {
      in_addr address{};
      ::inet_pton(AF_INET, text.c_str(), &address);
      add({reinterpret_cast<const char*>(&address), sizeof address});
    }
  if (const auto found = srv_.find(name); type == 33 && found != srv_.end())
    for (const auto& [priority, weight, port, target] : found->second)
      add(two_bytes(priority) + two_bytes(weight) + two_bytes(port) + encoded_name(target));
  return out;
}

std::string NameServer::answer(const std::string& question, bool over_udp) {
  ++questions_;
  const auto mood = mood_.load();
  if (mood == Mood::silent) return {};
  if (mood == Mood::garbage) return std::string(40, '\xc0');
  std::string name;
  auto at = kHead;
  while (at < question.size() && question[at] != 0) {
    const auto size = static_cast<unsigned char>(question[at]);
    name += (name.empty() ? "" : ".") + question.substr(at + 1, size);
    at += 1 + size;
  }
  if (at + 5 > question.size()) return {};
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  const auto type = static_cast<unsigned char>(question[at + 2]);
  unsigned count = 0;
  std::string records;
  bool known = false;
  {
    const std::scoped_lock lock(mutex_);
    known = addresses_.contains(name) || srv_.contains(name);
    if (mood != Mood::fails && mood != Mood::empty) records = records_of(name, type, count);
  }
  const auto asked = question.substr(kHead, at + 5 - kHead);
  const bool truncated =
      over_udp && (mood == Mood::truncated || kHead + asked.size() + records.size() > kLargestUdp);
  if (truncated) records.clear(), count = 0;
  auto id = question.substr(0, 2);
  if (mood == Mood::wrong_id) id[1] = static_cast<char>(id[1] ^ 0x55);
  const unsigned code = mood == Mood::fails ? 2 : known ? 0 : 3;
  auto reply = id + two_bytes(0x8180 | (truncated ? 0x0200 : 0) | code) + two_bytes(1) +
               two_bytes(count) + two_bytes(0) + two_bytes(0) + asked + records;
  if (mood == Mood::broken && count > 0) reply.resize(reply.size() - 7);
  if (const auto delay = delay_.load(); delay.count() > 0) {
    const auto end = std::chrono::steady_clock::now() + delay;
    while (!over_ && std::chrono::steady_clock::now() < end) ::poll(nullptr, 0, 10);
  }
  return reply;
}

}  // namespace karmad::test
