#include "balancer/pipeline/handles.hpp"

namespace karmad {

std::span<const UserHandle> user_handles(const Query& query) {
  return query.worker.process.user_handles;
}

Task<Answer> Next::operator()(Query& query) const {
  if (handles_.empty()) return ask_last_(last_, query);
  query.waited = true;  // the handles may wait
  auto rest = *this;
  rest.handles_ = handles_.subspan(1);
  return handles_.front()(query, rest);
}

}  // namespace karmad
