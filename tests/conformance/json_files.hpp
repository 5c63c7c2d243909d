#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace karmad::conformance {

using Json = rapidjson::Value;

/// One file of the specification's test data: a test case.
struct DataFile {
  std::string name;  ///< its path below the folder asked for, with `_` for what a test name may not
                     ///< contain: `ReplicaSetNoPrimary_read_Nearest`
  std::filesystem::path path;
};
void PrintTo(const DataFile& file, std::ostream* out);

/// The directory of the optional data: KARMAD_CONFORMANCE_DIR or a default (tests/README.md).
std::filesystem::path data_directory();
bool data_present();

/// The files below a folder of `mongodb/`, such as `max-staleness/tests`, in order of their names;
/// none when the data is absent.
std::vector<DataFile> files_below(std::string_view folder);

/// For INSTANTIATE_TEST_SUITE_P.
constexpr auto by_name = [](const auto& info) { return info.param.name; };

/// The file's content. Throws what is wrong when it cannot be read, is not an object, or has a
/// top-level field that is not among the known ones: a new kind of case must not pass unseen.
rapidjson::Document read(const DataFile& file, std::initializer_list<std::string_view> known);

/// The field of that name, or nullptr. `object` may be anything.
const Json* field(const Json& object, std::string_view name);
/// The same, and throws when there is none.
const Json& required(const Json& object, std::string_view name);
/// The elements of the array of that name; none when there is no such field.
std::vector<const Json*> elements(const Json& object, std::string_view name);

/// Numbers may be plain or extended JSON: `{"$numberLong": "125002"}`. Throws when it is none.
double number(const Json& value);
std::int64_t whole(const Json& value);
/// The lower-case hex digits of `{"$oid": "…"}`, or of the plain string.
std::string object_id(const Json& value);
/// Throws when it is no string.
std::string text(const Json& value);

}  // namespace karmad::conformance
