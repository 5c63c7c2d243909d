#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace karmad {

/// The byte encoded at the beginning of `text` (`%2f`); -1 if it does not begin with an escape.
int escaped_byte(std::string_view text);

/// Decodes `%41+b` to `A b`. Invalid escapes stay unchanged.
std::string url_decoded(std::string_view text);

/// A parameter of a query string, decoded.
struct UrlParameter {
  std::string name;
  std::string value;  ///< empty also without `=`
};

/// Takes the first parameter off a query string; empty ones (`&&`) are skipped. Nothing: there is
/// none.
std::optional<UrlParameter> take_parameter(std::string_view& query);

/// Appends `text` with everything but letters, digits and `-._~` escaped.
void append_url_encoded(std::string& out, std::string_view text);

std::string base64_of(std::string_view bytes);
/// Nothing for a text that is not base64 (RFC 4648 section 4, padded).
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace karmad
