#include "tests/support/mysql_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <utility>

#include "tests/support/process.hpp"

namespace karmad::test {
namespace {

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string little(std::uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string_view taken(std::string_view& from, std::size_t size) {
  const auto text = from.substr(0, size);
  from.remove_prefix(text.size());
  return text;
}

std::uint64_t taken_length(std::string_view& from) {
  const auto first = number(taken(from, 1));
  if (first < 0xfb) return first;
  return number(taken(from, first == 0xfc ? 2 : first == 0xfd ? 3 : 8));
}

std::string_view taken_text(std::string_view& from) {
  const auto size = taken_length(from);
  return taken(from, static_cast<std::size_t>(size));
}

constexpr unsigned kMore = 8;
constexpr std::uint64_t kUnsigned = 32;
constexpr int kLong64 = 8;

}  // namespace

void MysqlClient::connect(int port, std::string_view before) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval longest{.tv_sec = kSoon.count(), .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  welcome_.error = -1;
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
  send(before);
  greeting_ = packet();
}

MysqlClient::MysqlClient(int port, std::string_view bytes) {
  connect(port);
  send(bytes);
}

MysqlClient::MysqlClient(int port, std::uint32_t more, std::string_view plugin,
                         std::string_view before) {
  connect(port, before);
  if (greeting_.empty()) return;
  if (greeting_[0] != 10) {
    welcome_ = {.error = static_cast<int>(number(std::string_view(greeting_).substr(1, 2))),
                .text = greeting_.substr(9)};
    return;
  }
  version_ = greeting_.c_str() + 1;
  constexpr std::uint32_t kUsual = 1U << 9 | 1U << 15 | 1U << 17 | 1U << 19;
  capabilities_ = kUsual | more;
  send_packet(little(capabilities_, 4) + little(1 << 24, 4) + little(45, 1) +
                  std::string(23, '\0') + "reader" + '\0' + '\x14' + std::string(20, 's') +
                  std::string(plugin) + '\0',
              1);
  auto answer = packet();
  if (!answer.empty() && answer[0] == '\xfe') {  // another way of authentication
    send_packet(std::string(20, 's'), 3);
    answer = packet();
  } else if (answer == "\1\3") {
    answer = packet();
  }
  if (answer.empty()) return;
  welcome_.error =
      answer[0] == 0 ? 0 : static_cast<int>(number(std::string_view(answer).substr(1, 2)));
  if (welcome_.error != 0) welcome_.text = answer.substr(9);
}

MysqlClient::~MysqlClient() {
  if (socket_ >= 0) ::close(socket_);
}

void MysqlClient::end_sending() {
  ::shutdown(socket_, SHUT_WR);
}

bool MysqlClient::send(std::string_view bytes) {
  return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

void MysqlClient::send_packet(std::string_view payload, std::uint8_t sequence) {
  send(packet_of(payload, sequence));
}

std::string MysqlClient::packet_of(std::string_view payload, std::uint8_t sequence) {
  return little(payload.size(), 3) + static_cast<char>(sequence) + std::string(payload);
}

std::string MysqlClient::read(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const auto got = ::recv(socket_, out.data() + have, size - have, 0);
    if (got <= 0) return {};
    have += static_cast<std::size_t>(got);
  }
  return out;
}

std::string MysqlClient::next_packet() {
  const auto header = read(4);
  if (header.empty()) return {};
  return header.back() +
         read(static_cast<std::size_t>(number(std::string_view(header).substr(0, 3))));
}

std::string MysqlClient::packet() {
  const auto packet = next_packet();
  return packet.empty() ? packet : packet.substr(1);
}

bool MysqlClient::closed() {
  char byte = 0;
  return ::recv(socket_, &byte, 1, 0) <= 0;
}

MysqlReply MysqlClient::command(char command, std::string_view rest) {
  send_packet(command + std::string(rest), 0);
  return next_result();
}

std::uint32_t MysqlClient::prepare(std::string_view statement) {
  send_packet('\x16' + std::string(statement), 0);
  const auto answer = packet();
  if (answer.size() != 12 || answer[0] != 0) return 0;
  const auto parameters = number(std::string_view(answer).substr(7, 2));
  const bool has_end = parameters != 0 && (capabilities_ & kDeprecateEof) == 0;
  for (std::uint64_t i = 0; i < parameters + (has_end ? 1 : 0); ++i) packet();
  return static_cast<std::uint32_t>(number(std::string_view(answer).substr(1, 4)));
}

MysqlReply MysqlClient::execute(std::uint32_t id, const std::vector<std::string>& values) {
  auto payload = '\x17' + little(id, 4) + '\0' + little(1, 4);
  if (!values.empty()) payload += std::string((values.size() + 7) / 8, '\0') + '\1';
  for (std::size_t i = 0; i < values.size(); ++i) payload += little(0xfd, 2);
  for (const auto& value : values)
    payload += static_cast<char>(value.size()) + value;  // shorter than 251 bytes
  send_packet(payload, 0);
  return next_result(true);
}

MysqlReply MysqlClient::next_result(bool binary) {
  MysqlReply reply;
  reply.error = -1;
  const auto first = packet();
  if (first.empty()) return reply;
  std::string_view rest(first);
  const auto mark = number(taken(rest, 1));
  if (mark == 0xff) {
    reply.error = static_cast<int>(number(taken(rest, 2)));
    reply.text = rest.substr(6);
    return reply;
  }
  const auto read_status = [&](std::string_view status, bool eof) {
    auto flags = static_cast<unsigned>(number(taken(status, 2)));
    auto warnings = static_cast<unsigned>(number(taken(status, 2)));
    if (eof) std::swap(flags, warnings);
    reply.status = flags & ~kMore;
    reply.more = (flags & kMore) != 0;
    reply.warnings = warnings;
  };
  if (mark == 0 || mark == 0xfe) {  // OK, or an empty list
    reply.error = 0;
    if (mark == 0xfe && first.size() == 5) {
      read_status(rest, true);
      return reply;
    }
    reply.affected = taken_length(rest);
    reply.last_insert_id = taken_length(rest);
    read_status(rest, false);
    return reply;
  }
  std::vector<int> types;
  for (std::uint64_t i = 0; i < mark; ++i) {
    const auto column = packet();
    std::string_view fields(column);
    for (int skipped = 0; skipped < 4; ++skipped) taken_text(fields);
    reply.columns.emplace_back(taken_text(fields));
    taken_text(fields);
    taken(fields, 1 + 2 + 4);
    types.push_back(static_cast<int>(number(taken(fields, 1))));
    const bool is_unsigned = (number(taken(fields, 2)) & kUnsigned) != 0;
    reply.types.push_back(std::to_string(types.back()) + (is_unsigned ? "U" : ""));
  }
  if ((capabilities_ & kDeprecateEof) == 0) packet();
  for (;;) {
    const auto row = packet();
    if (row.empty()) return reply;
    std::string_view fields(row);
    if (row[0] == '\xff') {
      reply.error = static_cast<int>(number(fields.substr(1, 2)));
      return reply;
    }
    if (row[0] == '\xfe' && row.size() < 9) {
      reply.error = 0;
      taken(fields, (capabilities_ & kDeprecateEof) == 0 ? 1 : 3);
      read_status(fields, (capabilities_ & kDeprecateEof) == 0);
      return reply;
    }
    std::string text;
    std::string_view nulls;
    if (binary) {
      taken(fields, 1);
      nulls = taken(fields, (types.size() + 9) / 8);
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i != 0) text += '|';
      const bool null = binary ? (nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1) != 0
                               : !fields.empty() && fields[0] == '\xfb';
      if (null) {
        text += "NULL";
        if (!binary) taken(fields, 1);
      } else if (binary && types[i] == kLong64) {
        text += std::to_string(static_cast<std::int64_t>(number(taken(fields, 8))));
      } else {
        text += taken_text(fields);
      }
    }
    reply.rows.push_back(std::move(text));
  }
}

}  // namespace karmad::test
