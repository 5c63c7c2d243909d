#pragma once

#include <expected>
#include <string>
#include <vector>

namespace karmad {

/// A descriptor that systemd has opened for this process (socket activation).
struct PassedDescriptor {
  int fd = -1;
  std::string name;  ///< FileDescriptorName= of the socket unit; empty: unknown
  bool operator==(const PassedDescriptor&) const = default;
};

/// The values of LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; null: unset.
struct ListenVariables {
  const char* pid = nullptr;
  const char* fds = nullptr;
  const char* names = nullptr;
};

/// The descriptors they name: none if they are for another process. The error says which variable
/// is wrong.
std::expected<std::vector<PassedDescriptor>, std::string> passed_descriptors(
    const ListenVariables& variables, int own_pid);

}  // namespace karmad
