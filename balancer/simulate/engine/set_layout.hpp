#pragma once

namespace karmad {

/// How simulated mirrors are divided into sets of at most 64, as equal as possible. Mirrors and
/// sets are counted from 0.
class SetLayout {
 public:
  explicit SetLayout(unsigned mirrors)
      : mirrors_(mirrors), sets_((mirrors + kMostInSet - 1) / kMostInSet) {}
  unsigned mirrors() const { return mirrors_; }
  unsigned sets() const { return sets_; }
  /// The first mirror of a set; for `sets()` the number of mirrors.
  unsigned first(unsigned set) const { return set * mirrors_ / sets_; }
  unsigned size(unsigned set) const { return first(set + 1) - first(set); }
  unsigned set_of(unsigned mirror) const {
    auto set = mirror * sets_ / mirrors_;
    while (first(set + 1) <= mirror) ++set;
    return set;
  }

 private:
  static constexpr unsigned kMostInSet = 64;
  unsigned mirrors_;
  unsigned sets_;
};

}  // namespace karmad
