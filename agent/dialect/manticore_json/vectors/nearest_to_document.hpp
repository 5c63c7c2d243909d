#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/dialect/dialect.hpp"

namespace karmad {

/// A search for the documents nearest to one document of the table, in two rounds: the first reads
/// that document's vector, the second searches by the vector. If there is no such document, or it
/// has no vector, nothing is found, as in the search server.
class NearestToDocument : public FanOut {
 public:
  /// `search`: the plan of the second round, with any vector. `id`: of the document.
  NearestToDocument(std::unique_ptr<FanOut> search, std::string_view id, ShardLayout layout);

  bool asks(std::size_t shard) const override {
    return has_vector_ || !shard_of_document_ || *shard_of_document_ == shard;
  }
  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override;
  std::string_view content_type() const override { return search_->content_type(); }
  int refusal_status(int status, std::string_view body) const override {
    return search_->refusal_status(status, body);
  }
  unsigned merge_weight() const override { return search_->merge_weight(); }
  std::expected<bool, BadReply> begin_next_round(std::span<const ShardReply> replies) override;
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override;

 private:
  /// Writes the request for the vector.
  virtual void write_look_up(std::span<const std::string> tables, std::string& body) const = 0;
  /// The vector in a reply to it, as vector_numbers().
  virtual std::expected<std::string, std::string> vector_in(std::string_view reply) const = 0;
  virtual std::unique_ptr<FanOut> search_by(std::string_view vector) const = 0;

  std::unique_ptr<FanOut> search_;
  std::optional<std::size_t> shard_of_document_;  ///< nothing: unknown
  bool has_vector_ = false;
};

/// The numbers of a vector, with commas between them, as they stand in `value`: an array, or a
/// string of numbers. Empty for a document without a vector. The error says why it is no vector.
std::expected<std::string, std::string> vector_numbers(std::string_view value);

}  // namespace karmad
