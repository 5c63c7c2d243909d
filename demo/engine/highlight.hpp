#pragma once

#include <span>
#include <string>
#include <string_view>

#include "demo/language/request.hpp"

namespace karmad::demo {

/// Appends `,"highlight":{"title":["…"],…}` for a document: each chosen field with the words
/// marked, a long one is cut to the text around its first marked word.
void append_highlight(std::string& out, const Document& document, const Highlight& how,
                      std::span<const std::string> words);

/// `text` with the words marked, cut like a field of `append_highlight`.
std::string marked_text(std::string_view text, const Highlight& how,
                        std::span<const std::string> words);

}  // namespace karmad::demo
