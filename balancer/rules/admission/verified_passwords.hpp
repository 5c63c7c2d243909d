#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <set>
#include <string_view>

namespace karmad {

/// Passwords whose slow hash was verified, each as a hash with a random key of this process: so
/// that the next request of the client need not be verified again. A limited number; beyond it the
/// one that was added first is forgotten. One thread.
class VerifiedPasswords {
 public:
  using Key = std::array<unsigned char, 32>;

  /// Of a password that matches `hash`, the slow hash of that user: with another hash it is no
  /// longer found. Any thread.
  static Key key_of(std::string_view user, std::string_view hash, std::string_view password);

  bool contains(const Key& key) const { return keys_.contains(key); }
  /// Remembers it, and at most so many in total.
  void add(const Key& key, std::size_t most);
  std::size_t size() const { return keys_.size(); }

 private:
  std::set<Key> keys_;
  std::deque<Key> order_;  ///< as they were added
};

}  // namespace karmad
