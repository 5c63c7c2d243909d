#include "tests/support/tls.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace karmad::test {
namespace {

X509* new_certificate(EVP_PKEY* key, const std::string& common_name, int days) {
  static long serial = 1;
  auto* certificate = ::X509_new();
  ::X509_set_version(certificate, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), serial++);
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate), -3600L * 24 * 60);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate), 3600L * 24 * days);
  ::X509_set_pubkey(certificate, key);
  ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                               0);
  return certificate;
}

void add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  auto* extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  ::X509_add_ext(to, extension, -1);
  ::X509_EXTENSION_free(extension);
}

void write(const std::string& path, X509* certificate, EVP_PKEY* key) {
  auto* file = std::fopen((path + ".new").c_str(), "w");
  ::PEM_write_X509(file, certificate);
  if (key != nullptr) ::PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  std::rename((path + ".new").c_str(), path.c_str());
}

}  // namespace

Authority::Authority(const std::string& directory)
    : directory_(directory), key_(EVP_EC_gen("P-256")), root_(directory + "/root.pem") {
  certificate_.reset(new_certificate(key_.get(), "root of a test", 30));
  ::X509_set_issuer_name(certificate_.get(), ::X509_get_subject_name(certificate_.get()));
  add_extension(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  ::X509_sign(certificate_.get(), key_.get(), ::EVP_sha256());
  write(root_, certificate_.get(), nullptr);
}

std::string Authority::issue(const std::string& file, const std::string& names, int days) const {
  const std::unique_ptr<EVP_PKEY, Free> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free> made(new_certificate(
      key.get(), names.substr(names.find(':') + 1, names.find(',') - names.find(':') - 1), days));
  ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(certificate_.get()));
  add_extension(made.get(), certificate_.get(), NID_subject_alt_name, names);
  ::X509_sign(made.get(), key_.get(), ::EVP_sha256());
  auto path = directory_ + "/" + file;
  write(path, made.get(), key.get());
  return path;
}

TlsConnection::TlsConnection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    failure_ = "connect";
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

TlsConnection::TlsConnection(int port, const TlsWishes& wishes) : TlsConnection(port) {
  begin(wishes);
}

TlsConnection::~TlsConnection() {
  ::SSL_free(ssl_);
  ::SSL_CTX_free(context_);
  ::close(socket_);
}

std::string TlsConnection::begin(const TlsWishes& wishes) {
  ::ERR_clear_error();
  context_ = ::SSL_CTX_new(::TLS_client_method());
  ::SSL_CTX_set_options(context_, SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (wishes.version != 0) {
    ::SSL_CTX_set_security_level(context_, 0);
    ::SSL_CTX_set_min_proto_version(context_, wishes.version);
    ::SSL_CTX_set_max_proto_version(context_, wishes.version);
  }
  if (!wishes.root.empty()) {
    ::SSL_CTX_load_verify_file(context_, wishes.root.c_str());
    ::SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  }
  if (!wishes.certificate.empty()) {
    ::SSL_CTX_use_certificate_chain_file(context_, wishes.certificate.c_str());
    ::SSL_CTX_use_PrivateKey_file(context_, wishes.certificate.c_str(), SSL_FILETYPE_PEM);
  }
  ssl_ = ::SSL_new(context_);
  ::SSL_set_fd(ssl_, socket_);
  if (!wishes.name.empty()) {
    ::SSL_set_tlsext_host_name(ssl_, wishes.name.c_str());
    ::SSL_set1_host(ssl_, wishes.name.c_str());
  }
  if (!wishes.protocols.empty())
    ::SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(wishes.protocols.data()),
                          static_cast<unsigned>(wishes.protocols.size()));
  if (wishes.session != nullptr) ::SSL_set_session(ssl_, wishes.session);
  if (::SSL_connect(ssl_) == 1) return {};
  const auto* why = ::ERR_reason_error_string(::ERR_peek_error());
  return failure_ = why != nullptr ? why : "the connection has ended";
}

bool TlsConnection::send(std::string_view bytes) {
  std::size_t sent = 0;
  if (ssl_ == nullptr)
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  return ::SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent) == 1 && sent == bytes.size();
}

void TlsConnection::hold_back(bool on) const {
  const int value = on ? 1 : 0;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

std::string TlsConnection::take(std::size_t size) {
  std::string got;
  std::array<char, 16384> bytes{};
  while (got.size() < size) {
    std::size_t some = 0;
    if (ssl_ != nullptr) {
      if (::SSL_read_ex(ssl_, bytes.data(), bytes.size(), &some) != 1) break;
    } else {
      const auto count = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (count <= 0) break;
      some = static_cast<std::size_t>(count);
    }
    got.append(bytes.data(), some);
  }
  return got;
}

std::string TlsConnection::rest() {
  return take(std::string::npos);
}

std::string TlsConnection::get(std::string_view target) {
  std::string request("GET ");
  request.append(target).append(" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return send(request) ? rest() : std::string();
}

std::string TlsConnection::subject() const {
  auto* certificate = ::SSL_get1_peer_certificate(ssl_);
  if (certificate == nullptr) return {};
  std::array<char, 256> text{};
  ::X509_NAME_oneline(::X509_get_subject_name(certificate), text.data(), text.size());
  ::X509_free(certificate);
  return text.data();
}

std::string TlsConnection::protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(ssl_, &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

}  // namespace karmad::test
