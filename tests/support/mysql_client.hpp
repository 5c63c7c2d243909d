#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace karmad::test {

/// What a MySQL client got for a command: packets in the words of a reader. `rows` as texts, NULL
/// as `NULL`, values divided by `|`.
struct MysqlReply {
  int error = 0;  ///< code; -1: the connection ended, or the bytes make no sense
  std::string text;
  std::uint64_t affected = 0;
  std::uint64_t last_insert_id = 0;
  unsigned status = 0;  ///< flags of the connection
  bool more = false;    ///< further results follow
  unsigned warnings = 0;
  std::vector<std::string> columns;
  std::vector<std::string> types;  ///< of the columns: number, `U` behind an unsigned one
  std::vector<std::string> rows;
};

/// A client of the MySQL protocol that knows packets and little else. Reads wait at most five
/// seconds.
class MysqlClient {
 public:
  static constexpr std::uint32_t kMultiStatements = 1U << 16;
  static constexpr std::uint32_t kDeprecateEof = 1U << 24;

  /// Connects and says hello. `more`: further capabilities. `plugin`: of authentication. `before`:
  /// what a proxy sends first.
  explicit MysqlClient(int port, std::uint32_t more = 0,
                       std::string_view plugin = "mysql_native_password",
                       std::string_view before = {});
  /// Connects and answers the greeting with these bytes; next_packet() has what comes.
  MysqlClient(int port, std::string_view bytes);
  MysqlClient(const MysqlClient&) = delete;
  MysqlClient& operator=(const MysqlClient&) = delete;
  ~MysqlClient();

  /// The answer to the handshake, or what came instead of the greeting.
  const MysqlReply& welcome() const { return welcome_; }
  const std::string& version() const { return version_; }
  MysqlReply command(char command, std::string_view rest = {});
  MysqlReply query(std::string_view statement) { return command(3, statement); }
  /// Number of the prepared statement; 0: refused.
  std::uint32_t prepare(std::string_view statement);
  /// With texts as its parameters; columns of the answer must be texts or numbers of 8 bytes.
  MysqlReply execute(std::uint32_t id, const std::vector<std::string>& values);
  /// The next result, after one with `more`; or a packet that comes by itself.
  MysqlReply next_result(bool binary = false);
  bool send(std::string_view bytes);
  /// Closes the sending half.
  void end_sending();
  /// The number and the payload of the next packet; empty: none came.
  std::string next_packet();
  /// A packet with its header.
  static std::string packet_of(std::string_view payload, std::uint8_t sequence);
  const std::string& greeting() const { return greeting_; }
  /// Whether the server closes the connection.
  bool closed();

 private:
  void connect(int port, std::string_view before = {});
  std::string read(std::size_t size);
  /// The payload of the next packet; empty: none came.
  std::string packet();
  void send_packet(std::string_view payload, std::uint8_t sequence);

  int socket_ = -1;
  std::uint32_t capabilities_ = 0;
  std::string greeting_;
  std::string version_;
  MysqlReply welcome_;
};

}  // namespace karmad::test
