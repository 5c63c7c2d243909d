#include "balancer/mysql/mysql_session.hpp"

namespace karmad::mysql {
std::expected<std::uint16_t, Error> SessionState::carry_out(const SessionStatement& statement,
                                                            const ConnectionFacts& facts) {
  using Is = SessionStatement::Is;
  std::uint16_t warnings = 0;
  switch (statement.is) {
    case Is::use:
      if (statement.text.empty())
        return std::unexpected(Error{1064, "42000", "syntax error: USE needs a name"});
      database = statement.text.substr(0, kLongestName);
      break;
    case Is::set: {
      const bool before = variables.autocommit();
      if (auto refused = variables.set(statement.settings, facts))
        return std::unexpected(*std::move(refused));
      if (!before && variables.autocommit()) end(false);
      break;
    }
    case Is::begin:
      end(true);
      reads_only_ = statement.read_only || variables.read_only();
      break;
    case Is::rollback:
      warnings = warn_of_changes();
      end(statement.chain);
      break;
    case Is::commit:
      end(statement.chain);
      break;
    case Is::undo:
      warnings = warn_of_changes();
      break;
    default:
      break;
  }
  return warnings;
}

/// Returns the number of warnings.
std::uint16_t SessionState::warn_of_changes() {
  if (!changed_) return 0;
  warning = {"Warning", 1196,
             "Some non-transactional changed tables couldn't be rolled back: each statement takes "
             "effect at once"};
  return 1;
}

/// Ends the transaction; with `chain` another one begins, which reads only if that one did.
void SessionState::end(bool chain) {
  in_transaction_ = chain;
  changed_ = false;
}

std::uint16_t SessionState::status() const {
  const auto autocommit = variables.autocommit() ? status_flag::kAutocommit : std::uint16_t{};
  return in_transaction_ ? autocommit | status_flag::kInTransaction : autocommit;
}

}  // namespace karmad::mysql
