#include "agent/json/keyed_hash.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>

namespace karmad {
namespace {

using Word = std::uint64_t;

const std::array<Word, 2>& key() {
  static const auto chosen = [] {
    std::random_device chance;
    const auto word = [&] { return Word{chance()} << 32 | chance(); };
    return std::array<Word, 2>{word(), word()};
  }();
  return chosen;
}

struct State {
  Word a, b, c, d;

  void round() noexcept {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void take(Word word) noexcept {
    d ^= word;
    round();
    a ^= word;
  }
};

/// All bytes of a text of at most seven in one word, without a loop; overlapping parts are equal.
Word packed(std::string_view text) noexcept {
  const auto size = text.size();
  if (size == 0) return 0;
  if (size < 4) {
    const auto byte = [&](std::size_t at) {
      return Word{static_cast<unsigned char>(text[at])} << 8 * at;
    };
    return byte(0) | byte(size / 2) | byte(size - 1);
  }
  std::uint32_t first = 0, last = 0;
  std::memcpy(&first, text.data(), 4);
  std::memcpy(&last, text.data() + size - 4, 4);
  return first | Word{last} << 8 * (size - 4);
}

}  // namespace

std::size_t KeyedHash::operator()(std::string_view text) const noexcept {
  const auto& [k0, k1] = key();
  State state{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
              k1 ^ 0x7465646279746573u};
  Word last = Word{text.size()} << 56;
  Word word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    state.take(word);
  }
  state.take(last | packed(text));
  state.c ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace karmad
