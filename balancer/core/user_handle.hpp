#pragma once

#include <functional>
#include <span>

#include "agent/transport/loop/task.hpp"

namespace karmad {

struct Answer;
struct Query;
class Next;

/// A step that an application adds to the processing of every query. It may change the request,
/// answer itself, or call `next` and change that answer. Data that it puts into the request must
/// live as long as the query (Query::keep). All workers call it concurrently; it must not block,
/// and its captures live as long as the server. A long answer may have a `rest`: content() is then
/// only the beginning, and a handle that changes the body or `reply` must drop the rest.
using UserHandle = std::function<Task<Answer>(Query&, Next next)>;

/// The next step after a user handle: the next handle, or the rest of the pipeline.
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
