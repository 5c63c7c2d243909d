#pragma once

#include <sys/types.h>

#include <cerrno>
#include <chrono>
#include <compare>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/environment.hpp"

// TLS by OpenSSL 3: versions 1.2 and 1.3, with the ciphers that the system's OpenSSL has as its
// default (RFC 9325). Renegotiation and compression are off.

struct bio_st;
struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;

namespace karmad {

struct SslCloser {
  void operator()(ssl_st* ssl) const;
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_session_st* session) const;
};

/// For a connection of a client: the name or IP address that the server's certificate must have;
/// a name is asked for (SNI).
void set_peer_name(ssl_st* ssl, const std::string& name);
/// Why the certificate of the peer was not accepted; empty: it was, or there was none.
std::string tls_refusal(const ssl_st* ssl);

/// The encryption of one connected, non-blocking socket. The handshake happens in the first calls;
/// one error ends it. One thread.
class Tls {
 public:
  /// `keeps`: lives as long.
  Tls(ssl_ctx_st* context, int socket, std::shared_ptr<const void> keeps);

  /// Takes bytes without waiting: their number, 0 at the end, or minus `errno`, which is EPROTO for
  /// whatever is wrong with TLS (failure()). Fewer than `room` only if no more have arrived.
  ssize_t receive(char* into, std::size_t room);
  /// Sends a part of `bytes` without waiting; repeat a call that returned -EAGAIN with the same
  /// bytes. Otherwise as receive().
  ssize_t send(std::string_view bytes);
  /// 1: bytes have arrived; 0: the end; or minus `errno`. Takes none.
  ssize_t peek();
  /// Bytes were read from the socket that receive() has not returned.
  bool has_pending() const;
  /// receive() has something to tell, and no event of the socket will: bytes, the end, or an error.
  bool is_ready() const { return has_pending() || ended_ || failed() != 0; }
  /// The end has arrived, behind bytes that receive() has returned.
  bool has_ended() const { return ended_; }

  /// Continues the handshake: 0 if it is complete, -EAGAIN if it waits, or minus `errno`.
  int shake_hands();
  /// What the handshake waits for, after -EAGAIN: to send, or else to receive.
  bool wants_to_send() const;
  bool is_established() const;
  bool is_server() const;
  /// The first receive() or send() begins the handshake as the server.
  void accept();
  /// Bytes of TLS that were read from the socket before: they come first.
  void put_back(std::string bytes);

  /// Tells the peer that no more follows, as far as that needs no wait.
  void say_end();
  /// Encrypted bytes given to the socket so far.
  std::uint64_t written() const;
  /// What is wrong with TLS, in words for an operator; empty: nothing.
  const std::string& failure() const { return failure_; }
  /// The handshake failed because the peer's certificate was not accepted.
  bool is_untrusted() const { return untrusted_; }
  /// The failure is that the peer does not speak TLS but HTTP.
  bool is_plain_http() const { return plain_http_; }
  ssl_st* native() { return ssl_.get(); }

 private:
  void watch_reads(bio_st* socket);
  ssize_t outcome(int result);
  template <class Read>
  ssize_t past_empty_records(unsigned& reads, Read read);
  /// Minus `errno` if an error has ended it; else 0.
  ssize_t failed() const { return !failure_.empty() ? -EPROTO : -broken_; }

  const std::shared_ptr<const void> keeps_;
  std::unique_ptr<ssl_st, SslCloser> ssl_;
  std::string failure_;
  int broken_ = 0;        ///< `errno` with which the connection has broken off
  bool waits_ = false;    ///< the last read from the socket has found nothing
  bool drained_ = false;  ///< or it has taken all there was
  bool ended_ = false;
  bool untrusted_ = false;
  bool plain_http_ = false;
};

/// What a server shows its clients, and what it demands of them.
struct TlsServerRules {
  /// Files in PEM: the certificate with those between it and its root, and its private key. A
  /// client gets the first pair whose names include the one it asks for (SNI), else the first.
  struct Pair {
    std::string certificate;
    std::string key;
    bool operator==(const Pair&) const = default;
  };
  std::vector<Pair> pairs;
  std::string client_ca;  ///< file with roots: clients need a certificate of one; empty: none
  /// One of them must be a name of the client's certificate; empty: any.
  std::vector<std::string> client_names;
  bool operator==(const TlsServerRules&) const = default;
};

/// Why a file cannot be used.
struct TlsFileError {
  enum class Role : std::uint8_t { certificate, key, roots };
  Role role = Role::certificate;
  std::string why;  ///< names the file and says what is wrong with it
};

/// The certificates of a server. Any thread.
class TlsServer {
 public:
  /// Reads all files, which must be regular and have at most 4 MB.
  static std::expected<std::shared_ptr<TlsServer>, TlsFileError> make(TlsServerRules rules);

  /// For a connection that a client has opened.
  std::unique_ptr<Tls> accept(int socket) const;
  const TlsServerRules& rules() const { return rules_; }

  enum class Reread : std::uint8_t { unchanged, changed };
  /// Reads the files again if one has changed; connections that are open keep what they have. On
  /// failure the former stay, and the same error is returned once only.
  std::expected<Reread, std::string> reread();
  /// Why the files as they are now are not in use; empty: they are.
  std::string refused_files() const;
  struct Expiry {
    std::chrono::system_clock::time_point at = std::chrono::system_clock::time_point::max();
    std::string_view file;
  };
  /// Of the certificate that expires first.
  Expiry expires() const;

 private:
  struct Contexts;
  explicit TlsServer(TlsServerRules rules);
  static std::expected<std::shared_ptr<const Contexts>, TlsFileError> read(
      const TlsServerRules& rules);
  static std::vector<FileStamp> stamps(const TlsServerRules& rules);

  const TlsServerRules rules_;
  std::vector<FileStamp> stamps_;  ///< of the files that were read last
  mutable std::mutex mutex_;
  std::shared_ptr<const Contexts> contexts_;
  std::string refused_files_;
};

/// How TLS to a server is done.
struct TlsClientRules {
  std::string ca;           ///< file with roots; empty: those of the system
  std::string name;         ///< which the certificate must have; empty: that of the address
  std::string certificate;  ///< file with what is shown to the server, and its key; empty: none
  bool verify = true;
  bool operator==(const TlsClientRules&) const = default;
  auto operator<=>(const TlsClientRules&) const = default;
};

/// Opens TLS to one server, and resumes the last session with it. Any thread.
class TlsClient : public std::enable_shared_from_this<TlsClient> {
 public:
  using Context = std::shared_ptr<ssl_ctx_st>;
  /// Reads the files, which is slow: for all servers with the same rules. They must be regular and
  /// have at most 4 MB.
  static std::expected<Context, TlsFileError> read(const TlsClientRules& rules);

  /// `host`: a name or an address.
  TlsClient(Context context, TlsClientRules rules, const std::string& host);
  /// For a connection to that server.
  std::unique_ptr<Tls> connect(int socket) const;
  const TlsClientRules& rules() const { return rules_; }

 private:
  void keep(ssl_session_st* session) const;

  const Context context_;
  const TlsClientRules rules_;
  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<ssl_session_st, SslCloser> session_;
};

}  // namespace karmad
