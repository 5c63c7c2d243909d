#pragma once

#include <functional>
#include <span>

#include "agent/transport/loop/task.hpp"

namespace karmad {

struct Answer;
struct Query;
class Next;

/// An application's own step of every query's way. It may look at the request and change it, answer
/// itself, or ask `next` and look at the answer and change that. What it has the request point to
/// must live as long as the query does: Query::keep. Every worker calls it, maybe at the same time;
/// it must not block, and what it captured lives as long as the server. A long answer may have a
/// `rest` that is still to come: content() is its beginning then, and who changes `reply` or the
/// body has to drop the rest.
using UserHandle = std::function<Task<Answer>(Query&, Next next)>;

/// What comes behind a user handle: the others, and then the pipeline's own next.
class Next {
 public:
  template <class Last>
  Next(std::span<const UserHandle> handles, const Last& last)
      : handles_(handles), last_(&last), ask_last_([](const void* handle, Query& query) {
          return (*static_cast<const Last*>(handle))(query);
        }) {}

  Task<Answer> operator()(Query& query) const;

 private:
  std::span<const UserHandle> handles_;
  const void* last_;
  Task<Answer> (*ask_last_)(const void*, Query&);
};

}  // namespace karmad
