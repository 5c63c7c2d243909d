#include "balancer/rules/admission/verified_passwords.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <stdexcept>
#include <string>

namespace karmad {
namespace {

using PasswordKey = std::array<unsigned char, 32>;

const PasswordKey& password_key() {
  static const PasswordKey key = [] {
    PasswordKey bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
      throw std::runtime_error("no random bytes");
    return bytes;
  }();
  return key;
}

}  // namespace

VerifiedPasswords::Key VerifiedPasswords::key_of(std::string_view user, std::string_view hash,
                                                 std::string_view password) {
  std::string input;
  input.reserve(user.size() + hash.size() + password.size() + 2);
  for (const auto part : {user, hash, password}) input.append(part).append(1, '\0');
  Key key{};
  unsigned size = 0;
  const auto& secret = password_key();
  const auto* const made =
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(input.data()), input.size(), key.data(), &size);
  OPENSSL_cleanse(input.data(), input.size());
  if (made == nullptr || size != key.size()) throw std::runtime_error("HMAC-SHA256 failed");
  return key;
}

void VerifiedPasswords::add(const Key& key, std::size_t most) {
  if (!keys_.insert(key).second) return;
  order_.push_back(key);
  while (order_.size() > most) {
    keys_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace karmad
