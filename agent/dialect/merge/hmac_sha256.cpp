#include "agent/dialect/merge/hmac_sha256.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace karmad {
namespace {

using Code = std::array<std::uint8_t, kCodeBytes>;
using Word = std::uint32_t;

constexpr std::size_t kBlock = 64;

constexpr std::array<Word, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint8_t byte_of(std::uint64_t number, std::size_t from_right) {
  return static_cast<std::uint8_t>(number >> 8 * from_right);
}

Word big_endian(const char* at) {
  Word word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<std::uint8_t>(at[i]);
  return word;
}

void take_block(std::array<Word, 8>& state, const char* block) {
  std::array<Word, kRounds.size()> words{};
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < words.size(); ++i) {
    const auto a = words[i - 15];
    const auto b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < kRounds.size(); ++i) {
    const auto first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                       ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
    const auto second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<Word, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

Code sha256(std::string text) {
  const auto bits = std::uint64_t{text.size()} * 8;
  text += '\x80';
  while (text.size() % kBlock != kBlock - sizeof bits) text += '\0';
  for (auto i = sizeof bits; i > 0; --i) text += static_cast<char>(byte_of(bits, i - 1));
  std::array<Word, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::size_t at = 0; at < text.size(); at += kBlock) take_block(state, text.data() + at);
  Code code{};
  for (std::size_t i = 0; i < code.size(); ++i) code[i] = byte_of(state[i / 4], 3 - i % 4);
  return code;
}

std::string text_of(const Code& code) {
  return {code.begin(), code.end()};
}

}  // namespace

Code hmac_sha256(std::string_view key, std::string_view text) {
  std::string block(key.size() > kBlock ? text_of(sha256(std::string(key))) : key);
  block.resize(kBlock);
  const auto padded = [&](char pad) {
    auto bytes = block;
    std::ranges::for_each(bytes, [pad](char& byte) { byte = static_cast<char>(byte ^ pad); });
    return bytes;
  };
  return sha256(padded('\x5c') + text_of(sha256(padded('\x36').append(text))));
}

}  // namespace karmad
