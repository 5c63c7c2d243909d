#pragma once

#include "agent/dialect/kinds/dialect_kind.hpp"

namespace karmad::test {

/// A dialect made up for a test. The body of each request is the name of a table, then the text for
/// the mirror. `POST /toy/count` is answered with `{"count":N}`; the counts of several shards are
/// added. `POST /toy/add` changes a table of one shard; mirrors that are alike tell each other.
/// `POST /toy/ask` takes a statement. A body that ends in `throws in STEP`, with parse, plan or
/// judge, or a reply with merge, meets a defect there.
extern const DialectKind kToy;

}  // namespace karmad::test
