#include "balancer/core/compression.hpp"

#include <zlib.h>
#include <zstd.h>

#include <new>
#include <optional>
#include <stdexcept>

#include "agent/transport/http/http_syntax.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

/// Thousandths of the weight of an element of Accept-Encoding: `gzip;q=0.5`. 0: not accepted.
unsigned weight_of(std::string_view element) {
  const auto semicolon = element.find(';');
  if (semicolon == element.npos) return 1000;
  const auto weight = wire::trimmed(element.substr(semicolon + 1));
  if (weight.size() < 3 || (weight[0] | 0x20) != 'q' || weight[1] != '=') return 0;
  if (weight[2] == '1') return 1000;
  if (weight[2] != '0' || (weight.size() > 3 && weight[3] != '.')) return 0;
  unsigned thousandths = 0;
  for (std::size_t i = 4; i < 7; ++i) {
    const char digit = i < weight.size() ? weight[i] : '0';
    if (digit < '0' || digit > '9') return 0;
    thousandths = thousandths * 10 + static_cast<unsigned>(digit - '0');
  }
  return thousandths;
}

/// Room for the next bytes of `out`: what a piece of that size may need, and more the next time.
std::size_t room_for(std::size_t piece) {
  return std::max<std::size_t>(512, piece / 2);
}

}  // namespace

std::string_view text(Coding coding) {
  return coding == Coding::zstd ? "zstd" : coding == Coding::gzip ? "gzip" : "identity";
}

Coding wanted_coding(std::string_view accepted, Compress allowed) {
  if (allowed == Compress::off || accepted.empty()) return Coding::identity;
  std::optional<unsigned> gzip;
  std::optional<unsigned> zstd;
  std::optional<unsigned> any;
  unsigned plain = 0;
  wire::for_each_element(accepted, [&](std::string_view element) {
    const auto name = wire::trimmed(element.substr(0, element.find(';')));
    if (wire::same_word(name, "gzip") || wire::same_word(name, "x-gzip")) gzip = weight_of(element);
    if (wire::same_word(name, "zstd")) zstd = weight_of(element);
    if (wire::same_word(name, "identity")) plain = weight_of(element);
    if (name == "*") any = weight_of(element);
  });
  const auto of_gzip = gzip.value_or(any.value_or(0));
  const auto of_zstd = allowed == Compress::zstd ? zstd.value_or(any.value_or(0)) : 0;
  if (plain > std::max(of_gzip, of_zstd)) return Coding::identity;
  if (of_zstd > 0 && of_zstd >= of_gzip) return Coding::zstd;
  return of_gzip > 0 ? Coding::gzip : Coding::identity;
}

Coding wanted_coding(const Head& fields, Compress allowed) {
  if (!fields.repeats(kAcceptEncoding)) return wanted_coding(fields.find(kAcceptEncoding), allowed);
  std::string all;
  for (const auto& field : fields.all())
    if (wire::same_word(field.name, kAcceptEncoding)) all.append(field.value).push_back(',');
  return wanted_coding(all, allowed);
}

bool is_compressible(std::string_view content_type) {
  const auto type = lower(wire::trimmed(content_type.substr(0, content_type.find(';'))));
  return type.starts_with("text/") || type.find("json") != type.npos || type.ends_with("xml") ||
         type.ends_with("javascript");
}

struct Compressor::Gzip {
  z_stream z{};
  explicit Gzip(int level) {
    constexpr int kGzipHeader = 16 + MAX_WBITS;  // that of RFC 1952
    constexpr int kMemoryLevel = 8;
    if (deflateInit2(&z, level, Z_DEFLATED, kGzipHeader, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  Gzip& operator=(Gzip&&) = delete;
  ~Gzip() { deflateEnd(&z); }

  void put(std::string_view piece, Then then, std::string& out) {
    // zlib does not write there; its interface is older than `const`.
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    z.avail_in = static_cast<uInt>(piece.size());
    const int flush = then == Then::end     ? Z_FINISH
                      : then == Then::pause ? Z_SYNC_FLUSH
                                            : Z_NO_FLUSH;
    do {
      const auto have = out.size();
      const auto room = room_for(piece.size());
      out.resize(have + room);
      z.next_out = reinterpret_cast<Bytef*>(out.data() + have);
      z.avail_out = static_cast<uInt>(room);
      deflate(&z, flush);
      out.resize(have + room - z.avail_out);
    } while (z.avail_out == 0);
    if (then == Then::end) deflateReset(&z);
  }
};

struct Compressor::Zstd {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  explicit Zstd(int level) {
    if (context == nullptr) throw std::bad_alloc();
    // 64 KB, and tables of 128 KB: by itself it takes 13 MB at level 9, for each connection.
    constexpr int kWindow = 16;
    constexpr int kTable = 15;
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, kWindow);
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, kTable);
    ZSTD_CCtx_setParameter(context, ZSTD_c_chainLog, kTable);
  }
  Zstd& operator=(Zstd&&) = delete;
  ~Zstd() { ZSTD_freeCCtx(context); }

  void put(std::string_view piece, Then then, std::string& out) const {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    const auto flush = then == Then::end     ? ZSTD_e_end
                       : then == Then::pause ? ZSTD_e_flush
                                             : ZSTD_e_continue;
    for (bool more = true; more;) {
      const auto have = out.size();
      const auto room = room_for(piece.size());
      out.resize(have + room);
      ZSTD_outBuffer to{out.data() + have, room, 0};
      const auto left = ZSTD_compressStream2(context, &to, &in, flush);
      if (ZSTD_isError(left) != 0) throw std::runtime_error(ZSTD_getErrorName(left));
      out.resize(have + to.pos);
      more = then == Then::more ? in.pos < in.size : left > 0;
    }
  }
};

Compressor::Compressor(Coding coding, int level) : coding_(coding), level_(level) {
  if (coding == Coding::gzip)
    gzip_ = std::make_unique<Gzip>(level);
  else
    zstd_ = std::make_unique<Zstd>(level);
}

Compressor::~Compressor() = default;

std::size_t Compressor::memory() const {
  constexpr std::size_t kGzip = 268 << 10;  // zconf.h: (1 << 17) + (1 << 17), and its structures
  return gzip_ ? kGzip : ZSTD_sizeof_CCtx(zstd_->context);
}

void Compressor::put(std::string_view piece, Then then, std::string& out) {
  if (gzip_)
    gzip_->put(piece, then, out);
  else
    zstd_->put(piece, then, out);
}

}  // namespace karmad
