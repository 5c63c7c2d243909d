#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad {

/// Ends the process with what is broken, and the text that it is broken by.
void require(bool holds, std::string_view what, std::string_view text);

/// Bytes in a block of exactly their size, so that a sanitizer sees a look beyond the end.
class Exact {
 public:
  explicit Exact(std::string_view text)
      : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

struct Served {
  const DialectKind* kind;
  const DialectEndpoint* endpoint;
  const Dialect* dialect;
};

/// The dialect that answers at that path; nothing: none does.
std::optional<Served> served_at(std::string_view path);

struct MirrorAnswer {
  int status = 200;
  std::string body;  ///< empty: the shard has not answered
};
/// The mirrors of each shard, from 0.
using Mirrors = std::function<MirrorAnswer(std::size_t shard, const AgentRequest& request)>;

/// A client's request over so many shards, through everything that a dialect does with it and with
/// the answers: the steps of balancer/search/, without a network. Appends the client's answer, if
/// there is one, and returns its status; 0: no mirror's answer was good. Ends the process if
/// something is broken.
int run_query(const Served& served, std::size_t shards, const Mirrors& mirrors,
              const ClientRequest& request, std::string& answer);

}  // namespace karmad
