#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/mysql/messages.hpp"

namespace karmad::mysql {

/// A prepared statement. Its parameters are put into the text when it is executed.
struct PreparedStatement {
  std::string text;                  ///< without a semicolon at its end
  std::vector<std::size_t> places;   ///< of the question marks that are parameters
  std::vector<std::uint16_t> types;  ///< as the client sent them last: type, flag of unsigned
  bool got_long_data = false;        ///< COM_STMT_SEND_LONG_DATA, which is not supported

  /// Its memory in bytes, that of the types included before they are known.
  std::size_t size() const {
    return sizeof(*this) + text.capacity() + places.capacity() * sizeof(std::size_t) +
           places.size() * sizeof(std::uint16_t);
  }
};

inline constexpr std::size_t kMostParameters = 4096;

/// Finds the question marks outside of quotes and comments. The error says why the text cannot be
/// prepared.
std::expected<PreparedStatement, Error> prepare_statement(std::string_view statement);

/// The statement with the values of a COM_STMT_EXECUTE (`payload`: what follows the number of the
/// statement) as literals: numbers, or texts in quotes with quotes and backslashes escaped. At most
/// `most` bytes. Keeps the types in `prepared`.
std::expected<std::string, Error> bind_values(PreparedStatement& prepared, std::string_view payload,
                                              std::size_t most);

}  // namespace karmad::mysql
