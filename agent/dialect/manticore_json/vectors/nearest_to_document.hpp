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
  /// `search`: the plan of the second round, with any vector. `attribute`, `id`: the vector is that
  /// attribute of that document.
  NearestToDocument(std::unique_ptr<FanOut> search, std::string attribute, std::string id,
                    ShardLayout layout);

  bool asks(std::size_t shard) const override {
    return has_vector_ || !shard_of_document_ || *shard_of_document_ == shard;
  }
  bool needs_reply() const override { return has_vector_ || !shard_of_document_; }
  void write(std::size_t shard, std::span<const std::string> tables,
             std::string& body) const override;
  std::string_view content_type() const override { return search_->content_type(); }
  int refusal_status(int status, std::string_view body) const override {
    return search_->refusal_status(status, body);
  }
  unsigned merge_weight() const override { return search_->merge_weight(); }
  NextRound begin_next_round(std::span<const ShardReply> replies) override;
  std::optional<BadReply> merge(std::span<const ShardReply> replies, const MergeNotes& notes,
                                std::string& out) const override;

 protected:
  const std::string& attribute() const { return attribute_; }
  const std::string& id() const { return id_; }

 private:
  /// Writes the request for the vector.
  virtual void write_look_up(std::span<const std::string> tables, std::string& body) const = 0;
  /// The JSON value of the attribute in a reply to it, empty if the document has no such attribute;
  /// nothing: there is no such document. The error says why the reply cannot be read.
  virtual std::expected<std::optional<std::string_view>, std::string> vector_in(
      std::string_view reply) const = 0;
  /// Plans the second round; refuses what is too long with the vector.
  virtual std::expected<std::unique_ptr<FanOut>, ClientError> search_by(
      std::string_view vector) const = 0;

  std::unique_ptr<FanOut> search_;
  const std::string attribute_;
  const std::string id_;
  std::optional<std::size_t> shard_of_document_;  ///< nothing: unknown
  bool has_vector_ = false;
};

/// The numbers of a vector, with commas between them, as they stand in the JSON `value`: an array,
/// or a string of numbers. Empty for a document without a vector. Nothing: it is no vector, or
/// longer than kLongestVector bytes.
std::optional<std::string> vector_numbers(std::string_view value);
/// Every shard gets the vector: longer ones than any model makes are refused.
inline constexpr std::size_t kLongestVector = 1 << 20;

}  // namespace karmad
