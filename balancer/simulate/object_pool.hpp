#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace karmad {

/// Objects with numbers; a number is used again, the last one first. T has a member `version`,
/// which changes when the object is returned. Objects never move.
template <class T>
class ObjectPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      objects_.emplace_back();
      return static_cast<std::uint32_t>(objects_.size() - 1);
    }
    const auto index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) {
    ++objects_[index].version;
    free_.push_back(index);
  }
  T& operator[](std::uint32_t index) { return objects_[index]; }
  const T& operator[](std::uint32_t index) const { return objects_[index]; }
  /// Null: the object was returned since.
  T* find(std::uint32_t index, std::uint32_t version) {
    auto& object = objects_[index];
    return object.version == version ? &object : nullptr;
  }
  std::size_t size() const { return objects_.size(); }
  std::size_t in_use() const { return objects_.size() - free_.size(); }

 private:
  std::deque<T> objects_;
  std::vector<std::uint32_t> free_;
};

}  // namespace karmad
