#include "balancer/endpoints/gunzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "agent/transport/loop/buffers.hpp"

namespace karmad {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // for inflateInit2: only the header of RFC 1952

}  // namespace

struct Gunzip::State {
  z_stream z{};
  State() {
    if (inflateInit2(&z, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { inflateEnd(&z); }
};

Gunzip::Gunzip(std::string_view packed, std::size_t most)
    : packed_(packed), most_(most), state_(std::make_unique<State>()) {}

Gunzip::~Gunzip() = default;

std::size_t Gunzip::bytes_read() const {
  return passed_bytes_ - state_->z.avail_in;
}

std::optional<ClientError> Gunzip::step(std::string& plain) {
  auto& z = state_->z;
  if (z.avail_in == 0) {
    const auto piece = packed_.substr(passed_bytes_, kStep);
    // zlib does not write there; its interface is older than `const`.
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    z.avail_in = static_cast<uInt>(piece.size());
    passed_bytes_ += piece.size();
  }
  const auto before = plain.size();
  // One byte beyond the limit shows that there is more.
  const auto room = std::min({plain.capacity() - before, kStep, most_ + 1 - before});
  resize_for_reading(plain, before + room);
  z.next_out = reinterpret_cast<Bytef*>(plain.data() + before);
  z.avail_out = static_cast<uInt>(room);
  const int result = inflate(&z, Z_NO_FLUSH);
  plain.resize(before + room - z.avail_out);
  return check_step(result, plain.size());
}

std::optional<ClientError> Gunzip::check_step(int result, std::size_t plain_size) {
  auto& z = state_->z;
  const auto wrong = [&](std::string_view what) {
    return ClientError{400,
                       fmt::format("the body is not valid gzip: {} (Content-Encoding), byte {} "
                                   "of {}",
                                   what, bytes_read(), packed_.size())};
  };
  if (plain_size > most_)
    return ClientError{413, fmt::format("the request's body is larger than max_packet_size ({}) "
                                        "once it is unpacked",
                                        most_)};
  if (plain_size > kFreely + kMostRatio * bytes_read())
    return ClientError{400, fmt::format("the body grows to more than {} times its size when it is "
                                        "unpacked; send it without Content-Encoding",
                                        kMostRatio)};
  switch (result) {
    case Z_STREAM_END:
      done_ = bytes_read() == packed_.size();
      if (!done_ && inflateReset(&z) != Z_OK) return wrong("it cannot be read");
      return std::nullopt;
    case Z_OK:
    case Z_BUF_ERROR:  // no room for output, or no input left
      if (z.avail_in == 0 && passed_bytes_ == packed_.size() && z.avail_out != 0)
        return wrong("it ends too early");
      return std::nullopt;
    case Z_MEM_ERROR:
      throw std::bad_alloc();
    default:
      return wrong(z.msg != nullptr ? z.msg : "it is damaged");
  }
}

}  // namespace karmad
