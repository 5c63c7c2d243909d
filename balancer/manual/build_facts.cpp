#include "balancer/manual/manual.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <rapidjson/rapidjson.h>
#include <spdlog/version.h>
#include <zlib.h>
#include <zstd.h>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <cstddef>

/// A function of jemalloc; null in programs without it.
extern "C" int mallctl(const char* name, void* old, std::size_t* old_size, void* value,
                       std::size_t value_size) __attribute__((weak));

namespace karmad {

namespace {

/// The allocator that the process uses, which is not always the one of the build.
std::string allocator_in_use() {
  const char* version = nullptr;
  auto size = sizeof version;
  if (mallctl != nullptr && mallctl("version", &version, &size, nullptr, 0) == 0)
    return fmt::format("jemalloc {}",
                       std::string_view(version).substr(0, std::string_view(version).find('-')));
  return "that of the C library";
}

/// The words of the build's options, set by CMake for this file.
std::string build_options() {
  std::string out = KARMAD_BUILD_TYPE;
  if (out.empty()) out = "no build type";
  if (KARMAD_BUILD_LTO) out += ", link-time optimization";
  out +=
      std::string_view(KARMAD_BUILD_PROFILE) == "use" ? ", with a profile" : ", without a profile";
  if (*KARMAD_BUILD_SANITIZE != '\0') out += ", sanitizers " KARMAD_BUILD_SANITIZE;
  return out;
}

#ifdef __clang__
constexpr auto kCompiler = "clang " __clang_version__;
#else
constexpr auto kCompiler = "g++ " __VERSION__;
#endif

}  // namespace

std::string version_text(std::string_view commit) {
  return fmt::format(
      "karmad {}\ncommit: {}\ncompiler: {}, C++23\nbuild: {}\nallocator: {}\n"
      "libraries: Boost {}.{}.{}, CLI11 {}, fmt {}.{}.{}, RapidJSON {}, spdlog {}.{}.{}, zlib {}, "
      "zstd {}\n"
      "TLS: {}",
      KARMAD_VERSION, commit.empty() ? "unknown" : commit, kCompiler, build_options(),
      allocator_in_use(), BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100,
      CLI11_VERSION, FMT_VERSION / 10'000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
      RAPIDJSON_VERSION_STRING, SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH,
      ::zlibVersion(), ::ZSTD_versionString(), ::OpenSSL_version(OPENSSL_VERSION));
}

}  // namespace karmad
