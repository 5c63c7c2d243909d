#include "balancer/manual/generated_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "balancer/manual/command_text.hpp"
#include "balancer/manual/completions.hpp"
#include "balancer/manual/program_page.hpp"
#include "config/manual_page.hpp"

namespace karmad {

namespace {

struct GeneratedFile {
  std::string_view name;
  std::string (*write)(const CommandText&);
};

constexpr std::array kGeneratedFiles{
    GeneratedFile{"karmad.8", program_manual_page},
    GeneratedFile{"karmad.conf.5", [](const CommandText&) { return configuration_manual_page(); }},
    GeneratedFile{"karmad.bash", bash_completion},
    GeneratedFile{"_karmad", zsh_completion},
    GeneratedFile{"karmad.fish", fish_completion},
};

}  // namespace

std::string generated_file_names() {
  std::string names;
  for (const auto& file : kGeneratedFiles)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", file.name);
  return names;
}

std::optional<std::string> generated_file(std::string_view name, const CLI::App& app) {
  const auto* const file = std::ranges::find(kGeneratedFiles, name, &GeneratedFile::name);
  if (file == kGeneratedFiles.end()) return std::nullopt;
  return file->write(command_text(app, "karmad"));
}

}  // namespace karmad
