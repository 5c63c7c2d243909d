#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balancer/discovery/found.hpp"
#include "balancer/operate/admin_call.hpp"
#include "balancer/operate/overrides.hpp"
#include "config/settings/settings.hpp"

namespace karmad {

/// The configuration in use, and where it comes from: the file, the mirrors that were found, and
/// what the operator changed. Each event makes the next configuration and leaves this one as it is:
/// it counts once a topology was built of it. A value; pure.
class Configuration {
 public:
  struct Next;

  /// The file alone, without mirrors that must be found.
  explicit Configuration(Settings file);

  /// As it was read.
  const Settings& file() const { return file_; }
  /// The file with the mirrors that were found.
  const Settings& configured() const { return configured_; }
  const Overrides& overrides() const { return overrides_; }
  /// Those in use: with the operator's changes.
  const Settings& settings() const { return settings_; }

  /// The file was read again. `found`: for its tables. Settings that a running process cannot
  /// change stay as they are.
  Next on_file(Settings file, const FoundMirrors& found) const;
  /// Names or sources have other mirrors.
  Next on_mirrors(const FoundMirrors& found) const;
  /// The operator has called; see apply().
  std::expected<Next, AdminRefusal> on_call(const AdminCall& call) const;
  /// The changes of a former process replace those of this one.
  Next on_overrides(Overrides overrides) const;
  /// The changes of a former process, at the start. They count with the next event: until mirrors
  /// were found, it is unknown what is configured for them.
  void restore(Overrides overrides) { overrides_ = std::move(overrides); }

 private:
  Configuration() = default;
  static Next make(Settings file, Settings configured, Overrides overrides);

  Settings file_;
  Settings configured_;
  Overrides overrides_;
  Settings settings_;
  std::vector<std::string> cuts_;
};

/// A configuration that an event makes, and what an operator has to know of it.
struct Configuration::Next {
  Configuration configuration;
  /// Settings of the file that take effect at the next start.
  std::vector<std::string_view> fixed{};
  /// Mirrors that are left out because a line has too many; a sentence for each that is new.
  std::vector<std::string> cuts{};
  /// Changes of the operator that end because the file has changed the same, as parts of a
  /// sentence.
  std::vector<std::string> ended{};
  /// How the mirrors of the file differ from those before, for people; empty: in nothing.
  std::string mirrors{};
};

}  // namespace karmad
