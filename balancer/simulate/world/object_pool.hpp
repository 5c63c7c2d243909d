#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace karmad {

/// Objects with numbers; a number is used again, the last one first. T has a member `version`,
/// which changes when the object is returned. Objects never move.
template <class T>
class ObjectPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
      return size_++;
    }
    const auto index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) {
    ++(*this)[index].version;
    free_.push_back(index);
  }
  T& operator[](std::uint32_t index) { return blocks_[index / kBlock][index % kBlock]; }
  /// Null: the object was returned since.
  T* find(std::uint32_t index, std::uint32_t version) {
    auto& object = (*this)[index];
    return object.version == version ? &object : nullptr;
  }
  std::uint32_t size() const { return size_; }
  std::size_t in_use() const { return size_ - free_.size(); }

 private:
  static constexpr std::uint32_t kBlock = 256;

  std::vector<std::unique_ptr<T[]>> blocks_;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> free_;
};

}  // namespace karmad
