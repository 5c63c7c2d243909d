#include "tests/support/gzip.hpp"

#include <zlib.h>
#include <zstd.h>

namespace karmad::test {

std::string gzip(std::string_view plain, int level) {
  z_stream z{};
  deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&z, plain.size()) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

std::string unpacked(std::string_view packed) {
  std::string out;
  char piece[16 << 10];
  if (packed.starts_with("\x28\xb5\x2f\xfd")) {
    auto* const context = ZSTD_createDCtx();
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    for (std::size_t got = 1; got > 0;) {
      ZSTD_outBuffer to{piece, sizeof piece, 0};
      if (ZSTD_isError(ZSTD_decompressStream(context, &to, &in)) != 0) break;
      out.append(piece, got = to.pos);
    }
    ZSTD_freeDCtx(context);
    return out;
  }
  z_stream z{};
  inflateInit2(&z, 16 + MAX_WBITS);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  for (int result = Z_OK; result == Z_OK;) {
    z.next_out = reinterpret_cast<Bytef*>(piece);
    z.avail_out = sizeof piece;
    result = inflate(&z, Z_SYNC_FLUSH);
    out.append(piece, sizeof piece - z.avail_out);
  }
  inflateEnd(&z);
  return out;
}

}  // namespace karmad::test
