#include "agent/dialect/dialect.hpp"

#include <fmt/format.h>

namespace karmad {

std::expected<std::string, ClientError> Dialect::statement(const ClientRequest&) const {
  return std::unexpected(ClientError{400, "there is no statement"});
}

std::expected<std::unique_ptr<FanOut>, ClientError> Dialect::fan_out(const ClientRequest&,
                                                                     const Parsed& parsed,
                                                                     ShardLayout layout) const {
  return std::unexpected(ClientError{
      501, fmt::format("table {} has {} shards, and their answers to this request cannot be merged",
                       parsed.table, layout.shards)});
}

}  // namespace karmad
