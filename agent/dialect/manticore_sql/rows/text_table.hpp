#pragma once

#include <string>
#include <string_view>

namespace karmad {

/// Draws an answer in the form RowForm::raw, any number of result sets, as the tables of `/cli`;
/// warnings follow their table. False: it is malformed, and `out` is unchanged.
bool append_text_of(std::string_view raw_sets, std::string& out);

}  // namespace karmad
