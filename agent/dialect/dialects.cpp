#include "agent/dialect/dialects.hpp"

#include "agent/dialect/manticore_json/manticore_json.hpp"
#include "agent/dialect/manticore_sql/manticore_sql.hpp"
#include "agent/dialect/manticore_update/manticore_update.hpp"

namespace karmad {

std::unique_ptr<Dialect> make_manticore_json(DialectSettings settings) {
  return std::make_unique<ManticoreJson>(settings);
}

std::unique_ptr<Dialect> make_manticore_update(const DialectSettings& settings) {
  return std::make_unique<ManticoreUpdate>(settings);
}

std::unique_ptr<Dialect> make_manticore_sql(DialectSettings settings) {
  return std::make_unique<ManticoreSql>(settings);
}

}  // namespace karmad
