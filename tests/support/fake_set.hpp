#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fake_mirror.hpp"
#include "tests/support/role_set.hpp"

namespace karmad::test {

/// A mirror that always does the same.
FakeMirror::React always(Reaction reaction);

/// An error answer with further header fields, each ended by CRLF.
Reaction refused(int status, std::string_view fields, std::string_view body = "{}");
/// An answer to an insert that worked.
Reaction inserted();

/// The mirrors of one shard that live in the test, and the table `t` that has them.
class FakeSet {
 public:
  explicit FakeSet(std::size_t count, const Reaction& reaction = nothing_found());

  FakeMirror& operator[](std::size_t mirror) { return *mirrors_[mirror]; }
  /// All of them do that from now on.
  void react(const Reaction& reaction);
  /// `settings`: further lines of the table; `roles`: of the mirrors, in their order.
  std::string table(const std::string& settings = {}, const std::vector<std::string>& roles = {},
                    const std::string& line_options = {}) const;
  /// Requests that reached them.
  std::size_t requests() const;
  /// How many of them got any.
  std::size_t asked() const;
  /// Waits until karmad has no connection to this mirror any more.
  bool is_left(std::size_t mirror) const;

 private:
  std::vector<std::unique_ptr<FakeMirror>> mirrors_;
};

/// Lines for `searchd`, and `more`: mirrors take turns, there are no pings, and pauses and timeouts
/// do not matter unless the test sets them.
std::string taking_turns(const std::string& more = {});

/// The field that asks for the trace.
inline constexpr std::string_view kTraced = "X-Karmad-Trace: 1\r\n";

/// An insert into the table `t`.
Response insert(const Master& master, std::string_view fields = {});

}  // namespace karmad::test
