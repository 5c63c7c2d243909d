#include "agent/transport/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace karmad {

void SslCloser::operator()(ssl_st* ssl) const {
  ::SSL_free(ssl);
}
void SslCloser::operator()(ssl_ctx_st* context) const {
  ::SSL_CTX_free(context);
}
void SslCloser::operator()(ssl_session_st* session) const {
  ::SSL_SESSION_free(session);
}

namespace {

using Context = std::unique_ptr<ssl_ctx_st, SslCloser>;

/// The oldest error that OpenSSL has noted in this thread, in its words.
std::string noted_error() {
  const auto code = ::ERR_peek_error();
  if (code == 0) return "unknown error";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const auto* reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("error {:x}", code);
}

/// What an operator can do about the commonest errors; else OpenSSL's words.
std::string failure_text(const ssl_st* ssl) {
  if (auto refusal = tls_refusal(ssl); !refusal.empty()) return refusal;
  switch (ERR_GET_REASON(::ERR_peek_error())) {
    case SSL_R_HTTP_REQUEST:
      return "the peer speaks plain HTTP";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNEXPECTED_MESSAGE:
      return "the peer does not speak TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL:
      return "the peer wants a version of TLS below 1.2";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "the peer has shown no certificate";
    default:
      return noted_error();
  }
}

/// Of the certificate's names, as a browser compares them: DNS names, and IP addresses.
bool has_name(X509* certificate, const std::string& name) {
  return ::X509_check_host(certificate, name.data(), name.size(), 0, nullptr) == 1 ||
         ::X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
}

void set_common_options(ssl_ctx_st* context) {
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION
#ifdef SSL_OP_ENABLE_KTLS
                                     | SSL_OP_ENABLE_KTLS
#endif
  );
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
  // One call would otherwise go on as long as records without data come.
  ::SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  // Otherwise each record is read with two calls of the system: its head, and the rest.
  ::SSL_CTX_set_read_ahead(context, 1);
}

using Role = TlsFileError::Role;
using Loaded = std::expected<void, TlsFileError>;

std::unexpected<TlsFileError> file_error(Role role, const std::string& file,
                                         std::string_view what) {
  return std::unexpected(TlsFileError{role, fmt::format("{}: {}", file, what)});
}

std::unexpected<TlsFileError> noted_file_error(Role role, const std::string& file,
                                               std::string_view what) {
  return file_error(role, file, fmt::format("{}: {}", what, noted_error()));
}

/// OpenSSL would wait for the writer of a pipe, and read a device without an end. Of a file that is
/// not there it says so.
Loaded check_file(Role role, const std::string& file) {
  constexpr std::int64_t kMostBytes = 4 << 20;  // a bundle of the system has a quarter of a MB
  const auto size = stamp_of(file).size;
  if (size < 0 && ::access(file.c_str(), F_OK) == 0)
    return file_error(role, file, "it is not a regular file");
  if (size > kMostBytes)
    return file_error(role, file, fmt::format("it is larger than {} bytes", kMostBytes));
  return {};
}

/// Loads a certificate with its key into the context.
Loaded load_pair(ssl_ctx_st* context, const TlsServerRules::Pair& pair) {
  if (auto checked = check_file(Role::certificate, pair.certificate); !checked) return checked;
  if (auto checked = check_file(Role::key, pair.key); !checked) return checked;
  ::ERR_clear_error();
  // Without it OpenSSL would ask for the password of a key at the terminal.
  ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (::SSL_CTX_use_certificate_chain_file(context, pair.certificate.c_str()) != 1)
    return noted_file_error(Role::certificate, pair.certificate,
                            "no certificate in PEM can be read");
  if (::SSL_CTX_use_PrivateKey_file(context, pair.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return noted_file_error(Role::key, pair.key,
                            "no private key in PEM, without a password, that fits the "
                            "certificate can be read");
  if (::SSL_CTX_check_private_key(context) != 1)
    return noted_file_error(Role::key, pair.key,
                            fmt::format("the key is not that of {}", pair.certificate));
  return {};
}

Loaded load_roots(ssl_ctx_st* context, const std::string& file) {
  if (auto checked = check_file(Role::roots, file); !checked) return checked;
  ::ERR_clear_error();
  if (::SSL_CTX_load_verify_file(context, file.c_str()) != 1)
    return noted_file_error(Role::roots, file, "no certificates in PEM can be read");
  return {};
}

/// HTTP/1.1 if the client offers it; one that offers HTTP/2 alone would not understand the answers.
int choose_protocol(ssl_st*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  constexpr std::string_view kHttp1("\x08http/1.1");
  constexpr std::string_view kHttp2("\x02h2");
  unsigned char* found = nullptr;
  const auto* wanted = reinterpret_cast<const unsigned char*>(kHttp1.data());
  const auto selected =
      ::SSL_select_next_proto(&found, size, wanted, kHttp1.size(), offered, offered_size);
  if (selected == OPENSSL_NPN_NEGOTIATED) {
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
  }
  const std::string_view all(reinterpret_cast<const char*>(offered), offered_size);
  return all == kHttp2 ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

void set_peer_name(ssl_st* ssl, const std::string& name) {
  if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), name.c_str()) == 1) return;
  ::SSL_set_tlsext_host_name(ssl, name.c_str());
  ::SSL_set1_host(ssl, name.c_str());
}

std::string tls_refusal(const ssl_st* ssl) {
  const auto result = ::SSL_get_verify_result(ssl);
  if (::SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE || result == X509_V_OK) return {};
  return fmt::format("the certificate of the peer is not accepted: {}",
                     ::X509_verify_cert_error_string(result));
}

// ---- a connection

Tls::Tls(ssl_ctx_st* context, int socket, std::shared_ptr<const void> keeps)
    : keeps_(std::move(keeps)), ssl_(::SSL_new(context)) {
  if (!ssl_ || ::SSL_set_fd(ssl_.get(), socket) != 1) throw std::bad_alloc();
  watch_reads(::SSL_get_rbio(ssl_.get()));
}

/// Notes how each read from the socket has ended.
void Tls::watch_reads(bio_st* socket) {
  BIO_set_callback_arg(socket, reinterpret_cast<char*>(this));
  ::BIO_set_callback_ex(socket,
                        [](BIO* bio, int operation, const char*, std::size_t asked, int, long,
                           int result, std::size_t* got) -> long {  // NOLINT: OpenSSL's type
                          if (operation != (BIO_CB_READ | BIO_CB_RETURN)) return result;
                          auto& tls = *reinterpret_cast<Tls*>(BIO_get_callback_arg(bio));
                          tls.waits_ = result <= 0;
                          // The kernel's TLS returns one record at a time.
                          tls.drained_ = tls.waits_ || (*got < asked && !BIO_get_ktls_recv(bio));
                          return result;
                        });
}

void Tls::accept() {
  ::SSL_set_accept_state(ssl_.get());
}

void Tls::put_back(std::string bytes) {
  if (bytes.empty()) return;
  auto* const before = ::BIO_new(::BIO_f_buffer());
  if (before == nullptr ||
      BIO_set_buffer_read_data(before, bytes.data(), static_cast<long>(bytes.size())) != 1)
    throw std::bad_alloc();
  auto* const socket = ::BIO_new_socket(::SSL_get_fd(ssl_.get()), 0);
  watch_reads(socket);
  ::SSL_set0_rbio(ssl_.get(), ::BIO_push(before, socket));
}

/// The result of a call of OpenSSL that has moved no bytes.
ssize_t Tls::outcome(int result) {
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      return 0;
    case SSL_ERROR_SYSCALL:
      if (errno != 0) return -(broken_ = errno);
      ended_ = true;
      return 0;
    default: {
      // An error puts OpenSSL into a handshake again, but not this state.
      const bool was_established = ::SSL_get_state(ssl_.get()) == TLS_ST_OK;
      // The end was not sent by the peer's TLS but may be an attacker's: a message up to it is not
      // whole.
      if (ERR_GET_REASON(::ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING &&
          was_established)
        return -(broken_ = ECONNRESET);
      if (failure_.empty()) failure_ = was_established ? noted_error() : failure_text(ssl_.get());
      plain_http_ = ERR_GET_REASON(::ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      untrusted_ = !tls_refusal(ssl_.get()).empty();
      return -EPROTO;
    }
  }
}

/// What `read` returns, which is called again behind records without data. These cost the peer
/// little and this thread much, so they have a limit. A call takes all that were read from the
/// socket with one call of the system: 16 KB, some hundred.
template <class Read>
ssize_t Tls::past_empty_records(unsigned& reads, Read read) {
  constexpr unsigned kMostEmptyReads = 4;
  for (;;) {
    waits_ = false;
    ::ERR_clear_error();
    errno = 0;
    const auto result = read();
    if (result == 1) return 1;
    const auto nothing = outcome(result);
    if (nothing != -EAGAIN || waits_ || wants_to_send()) return nothing;
    if (++reads <= kMostEmptyReads) continue;
    failure_ = "the peer sends records without data";
    return -EPROTO;
  }
}

ssize_t Tls::receive(char* into, std::size_t room) {
  std::size_t got = 0;
  unsigned empty_reads = 0;
  while (got < room && !ended_) {
    if (!failure_.empty() || broken_ != 0) return got != 0 ? static_cast<ssize_t>(got) : failed();
    std::size_t some = 0;
    const auto result = past_empty_records(
        empty_reads, [&] { return ::SSL_read_ex(ssl_.get(), into + got, room - got, &some); });
    if (result == 1) {
      got += some;
      if (drained_ && !has_pending()) break;
      continue;
    }
    if (got == 0) return result;
    break;  // an error is kept for the next call
  }
  return static_cast<ssize_t>(got);
}

ssize_t Tls::send(std::string_view bytes) {
  if (const auto error = failed(); error != 0) return error;
  std::size_t sent = 0;
  ::ERR_clear_error();
  errno = 0;
  const auto result = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
  if (result == 1) return static_cast<ssize_t>(sent);
  const auto nothing = outcome(result);
  return nothing == 0 ? -EPIPE : nothing;
}

ssize_t Tls::peek() {
  if (const auto error = failed(); error != 0) return error;
  if (ended_) return 0;
  char byte = 0;
  std::size_t got = 0;
  unsigned empty_reads = 0;
  return past_empty_records(empty_reads, [&] { return ::SSL_peek_ex(ssl_.get(), &byte, 1, &got); });
}

bool Tls::has_pending() const {
  // The second: what was put back, and what its buffer has read ahead of OpenSSL.
  return ::SSL_has_pending(ssl_.get()) == 1 || BIO_pending(::SSL_get_rbio(ssl_.get())) > 0;
}

int Tls::shake_hands() {
  ::ERR_clear_error();
  errno = 0;
  const auto result = ::SSL_do_handshake(ssl_.get());
  if (result == 1) return 0;
  const auto nothing = outcome(result);
  if (nothing == 0) failure_ = "the peer has closed the connection within the handshake";
  return nothing == 0 ? -EPROTO : static_cast<int>(nothing);
}

bool Tls::wants_to_send() const {
  return SSL_want_write(ssl_.get());
}

bool Tls::is_established() const {
  return ::SSL_is_init_finished(ssl_.get()) == 1;
}

bool Tls::is_server() const {
  return ::SSL_is_server(ssl_.get()) == 1;
}

void Tls::say_end() {
  if (failed() != 0 || !is_established()) return;
  ::ERR_clear_error();
  ::SSL_shutdown(ssl_.get());
}

std::uint64_t Tls::written() const {
  return ::BIO_number_written(::SSL_get_wbio(ssl_.get()));
}

// ---- a server

struct TlsServer::Contexts {
  std::vector<Context> all;  ///< in the order of the pairs
  std::vector<std::string> client_names;

  /// Gives a client that asks for a name the certificate that has it.
  static int choose(ssl_st* ssl, int*, void* contexts) {
    const auto* name = ::SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr) return SSL_TLSEXT_ERR_OK;
    for (const auto& context : static_cast<const Contexts*>(contexts)->all)
      if (has_name(::SSL_CTX_get0_certificate(context.get()), name)) {
        ::SSL_set_SSL_CTX(ssl, context.get());
        break;
      }
    return SSL_TLSEXT_ERR_OK;
  }

  /// Takes a client's certificate if its roots do and it has one of the names.
  static int verify(int accepted, X509_STORE_CTX* store) {
    if (accepted != 1 || ::X509_STORE_CTX_get_error_depth(store) != 0) return accepted;
    const auto* ssl = static_cast<const ssl_st*>(
        ::X509_STORE_CTX_get_ex_data(store, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
    const auto* names =
        static_cast<const std::vector<std::string>*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
    auto* certificate = ::X509_STORE_CTX_get_current_cert(store);
    if (names->empty() ||
        std::ranges::any_of(*names, [&](const auto& name) { return has_name(certificate, name); }))
      return 1;
    ::X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
  }
};

TlsServer::TlsServer(TlsServerRules rules) : rules_(std::move(rules)) {}

std::expected<std::shared_ptr<const TlsServer::Contexts>, TlsFileError> TlsServer::read(
    const TlsServerRules& rules) {
  auto contexts = std::make_shared<Contexts>();
  contexts->client_names = rules.client_names;
  for (const auto& pair : rules.pairs) {
    auto& context = contexts->all.emplace_back(::SSL_CTX_new(::TLS_server_method()));
    set_common_options(context.get());
    // Many clients just close; nothing is lost with the end of a request.
    ::SSL_CTX_set_options(context.get(),
                          SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Sessions are resumed by tickets, which need no memory here.
    ::SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    constexpr std::string_view kId = "karmad";
    ::SSL_CTX_set_session_id_context(
        context.get(), reinterpret_cast<const unsigned char*>(kId.data()), kId.size());
    if (auto loaded = load_pair(context.get(), pair); !loaded)
      return std::unexpected(std::move(loaded.error()));
    ::SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    SSL_CTX_set_app_data(context.get(), &contexts->client_names);
    if (rules.client_ca.empty()) continue;
    if (auto loaded = load_roots(context.get(), rules.client_ca); !loaded)
      return std::unexpected(std::move(loaded.error()));
    ::SSL_CTX_set_client_CA_list(context.get(), ::SSL_load_client_CA_file(rules.client_ca.c_str()));
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                         Contexts::verify);
  }
  auto* const first = contexts->all.front().get();
  ::SSL_CTX_set_tlsext_servername_callback(first, Contexts::choose);
  ::SSL_CTX_set_tlsext_servername_arg(first, contexts.get());
  return contexts;
}

std::vector<FileStamp> TlsServer::stamps(const TlsServerRules& rules) {
  std::vector<FileStamp> all{stamp_of(rules.client_ca)};
  for (const auto& [certificate, key] : rules.pairs) {
    all.push_back(stamp_of(certificate));
    all.push_back(stamp_of(key));
  }
  return all;
}

std::expected<std::shared_ptr<TlsServer>, TlsFileError> TlsServer::make(TlsServerRules rules) {
  auto stamps = TlsServer::stamps(rules);  // before: a change while reading is noticed later
  auto contexts = read(rules);
  if (!contexts) return std::unexpected(std::move(contexts.error()));
  std::shared_ptr<TlsServer> server(new TlsServer(std::move(rules)));
  server->stamps_ = std::move(stamps);
  server->contexts_ = *std::move(contexts);
  return server;
}

std::unique_ptr<Tls> TlsServer::accept(int socket) const {
  auto contexts = [this] {
    const std::scoped_lock lock(mutex_);
    return contexts_;
  }();
  auto* const first = contexts->all.front().get();
  auto tls = std::make_unique<Tls>(first, socket, std::move(contexts));
  tls->accept();
  return tls;
}

std::expected<TlsServer::Reread, std::string> TlsServer::reread() {
  auto now = stamps(rules_);
  if (now == stamps_) return Reread::unchanged;
  stamps_ = std::move(now);
  auto contexts = read(rules_);
  const std::scoped_lock lock(mutex_);
  refused_files_ = contexts ? std::string() : contexts.error().why;
  if (!contexts) return std::unexpected(refused_files_);
  contexts_ = *std::move(contexts);
  return Reread::changed;
}

std::string TlsServer::refused_files() const {
  const std::scoped_lock lock(mutex_);
  return refused_files_;
}

TlsServer::Expiry TlsServer::expires() const {
  const std::scoped_lock lock(mutex_);
  Expiry first;
  for (std::size_t i = 0; i < contexts_->all.size(); ++i) {
    std::tm tm{};
    const auto* end = ::X509_get0_notAfter(::SSL_CTX_get0_certificate(contexts_->all[i].get()));
    if (::ASN1_TIME_to_tm(end, &tm) != 1) continue;
    const auto at = std::chrono::system_clock::from_time_t(::timegm(&tm));
    if (at < first.at) first = {.at = at, .file = rules_.pairs[i].certificate};
  }
  return first;
}

// ---- a client

std::expected<TlsClient::Context, TlsFileError> TlsClient::read(const TlsClientRules& rules) {
  Context made(::SSL_CTX_new(::TLS_client_method()), SslCloser());
  auto* const context = made.get();
  set_common_options(context);
  if (!rules.certificate.empty())
    if (auto loaded = load_pair(context, {rules.certificate, rules.certificate}); !loaded)
      return std::unexpected(std::move(loaded.error()));
  ::SSL_CTX_set_verify(context, rules.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!rules.ca.empty()) {
    if (auto loaded = load_roots(context, rules.ca); !loaded)
      return std::unexpected(std::move(loaded.error()));
  } else if (rules.verify) {
    ::SSL_CTX_set_default_verify_paths(context);
  }
  ::SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  ::SSL_CTX_sess_set_new_cb(context, [](ssl_st* ssl, ssl_session_st* session) {
    const auto* const client = static_cast<const TlsClient*>(SSL_get_app_data(ssl));
    if (client == nullptr) return 0;
    client->keep(session);
    return 1;  // it is ours now
  });
  return made;
}

TlsClient::TlsClient(Context context, TlsClientRules rules, const std::string& host)
    : context_(std::move(context)),
      rules_(std::move(rules)),
      name_(rules_.name.empty() ? host : rules_.name) {}

void TlsClient::keep(ssl_session_st* session) const {
  const std::scoped_lock lock(mutex_);
  session_.reset(session);
}

std::unique_ptr<Tls> TlsClient::connect(int socket) const {
  auto tls = std::make_unique<Tls>(context_.get(), socket, shared_from_this());
  auto* const ssl = tls->native();
  set_peer_name(ssl, name_);
  SSL_set_app_data(ssl, const_cast<TlsClient*>(this));
  {
    const std::scoped_lock lock(mutex_);
    if (session_) ::SSL_set_session(ssl, session_.get());
  }
  ::SSL_set_connect_state(ssl);
  return tls;
}

}  // namespace karmad
