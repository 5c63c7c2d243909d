#include "agent/json/keyed_hash.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

namespace karmad {
namespace {

using Word = std::uint64_t;
__extension__ using TwoWords = unsigned __int128;

const std::array<Word, 2>& key() {
  static const auto chosen = [] {
    std::random_device chance;
    const auto word = [&] { return Word{chance()} << 32 | chance(); };
    return std::array<Word, 2>{word(), word()};
  }();
  return chosen;
}

Word folded(Word a, Word b) noexcept {
  const auto product = TwoWords{a} * b;
  return static_cast<Word>(product) ^ static_cast<Word>(product >> 64);
}

template <class Bytes>
Word read(const char* at) noexcept {
  Bytes bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

}  // namespace

std::size_t KeyedHash::operator()(std::string_view text) const noexcept {
  const auto& [first_key, second_key] = key();
  auto state = first_key ^ text.size();
  for (; text.size() > 16; text.remove_prefix(16))
    state = folded(read<Word>(text.data()) ^ second_key, read<Word>(text.data() + 8) ^ state);
  // Two words have all bytes of the rest, some twice.
  const auto* const begin = text.data();
  const auto* const end = begin + text.size();
  Word first = 0, last = 0;
  if (text.size() >= sizeof(Word)) {
    first = read<Word>(begin);
    last = read<Word>(end - sizeof(Word));
  } else if (text.size() >= sizeof(std::uint32_t)) {
    first = read<std::uint32_t>(begin);
    last = read<std::uint32_t>(end - sizeof(std::uint32_t));
  } else if (!text.empty()) {
    first = read<std::uint8_t>(begin) << 8 | read<std::uint8_t>(begin + text.size() / 2);
    last = read<std::uint8_t>(end - 1);
  }
  return folded(folded(first ^ second_key, last ^ state), first_key | 1);
}

}  // namespace karmad
