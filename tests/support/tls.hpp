#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

namespace karmad::test {

/// A certificate authority that exists for one test.
class Authority {
 public:
  explicit Authority(const std::string& directory);
  /// Writes a certificate for these names (`DNS:a.example,IP:127.0.0.1`) with its key to one file,
  /// and returns its path. `days`: until it expires.
  std::string issue(const std::string& file, const std::string& names, int days = 30) const;
  /// The file with its own certificate.
  const std::string& root() const { return root_; }

 private:
  struct Free {
    void operator()(X509* certificate) const { ::X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
  };
  const std::string directory_;
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> certificate_;
  std::string root_;
};

/// How TlsConnection begins.
struct TlsWishes {
  std::string root = {};         ///< file; empty: any certificate
  std::string name = {};         ///< asked for (SNI)
  std::string certificate = {};  ///< file with the client's, and its key
  int version = 0;               ///< TLS1_2_VERSION …; 0: any
  std::string protocols = {};    ///< of ALPN, each behind its length
  SSL_SESSION* session = nullptr;
};

/// A connection of a client to this machine, with TLS from the start or from begin() on.
class TlsConnection {
 public:
  explicit TlsConnection(int port);
  TlsConnection(int port, const TlsWishes& wishes);
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;
  ~TlsConnection();

  /// Empty, or why the handshake failed.
  std::string begin(const TlsWishes& wishes);
  const std::string& failure() const { return failure_; }
  bool send(std::string_view bytes);
  /// On: what is sent waits, and then leaves in one piece (for 200 ms at most).
  void hold_back(bool on) const;
  /// Says that no more follows, within TLS; the connection stays open.
  void finish() const { ::SSL_shutdown(ssl_); }
  /// Up to the end of the connection.
  std::string rest();
  /// At least `size` bytes, or less at the end.
  std::string take(std::size_t size);
  /// GET on this connection; the whole answer up to the end.
  std::string get(std::string_view target);
  /// Names of the certificate that the server has shown, as OpenSSL prints its subject.
  std::string subject() const;
  std::string protocol() const;  ///< of ALPN
  bool resumed() const { return ::SSL_session_reused(ssl_) == 1; }
  SSL_SESSION* session() const { return ::SSL_get1_session(ssl_); }

 private:
  int socket_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  std::string failure_;
};

}  // namespace karmad::test
