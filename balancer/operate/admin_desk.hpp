#pragma once

#include <functional>
#include <string>

#include "balancer/operate/admin_call.hpp"

namespace karmad {

/// The answer to an admin call: JSON.
struct AdminResult {
  int status = 200;
  std::string body;
};

/// Does what operators ask for. Any thread may call; `done` is called once, on any thread, when
/// every worker uses the change.
class AdminDesk {
 public:
  using Done = std::move_only_function<void(AdminResult)>;

  /// `who`: the operator's address, for the log.
  virtual void call(AdminCall call, std::string who, Done done) = 0;
  /// The effective settings with their sources, the expected shares, and what the operator changed.
  virtual void describe(Done done) = 0;

 protected:
  ~AdminDesk() = default;
};

}  // namespace karmad
