#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/http_client.hpp"

namespace karmad::test {

/// Lines for `searchd`, and `more`. One worker, so that what it shows is what it chooses by; pings
/// as often as may be; mirrors are near each other however busy the machine is; and who waits for a
/// mirror waits, unless `more` has a `selection_timeout`.
std::string choosing(const std::string& more = {});

/// Finds something in the one table of `table_of`.
inline constexpr std::string_view kFindAll = R"({"table":"t","query":{"match_all":{}}})";

/// A demo agent with a small catalogue, that says of itself what `role` and `tags` are.
DemoAgent copy_of_all(const std::string& role, const std::string& tags = {}, int port = 0);

/// The table `t` with these agent lines; `settings`: further lines.
std::string table_of(const std::vector<std::string>& lines, const std::string& settings = {});
/// An agent line of these mirrors, all with the demo agents' table.
std::string line_of(const std::vector<std::string>& addresses);

/// A master of the table `t`, with words for what tests ask of that table's first shard. Like every
/// master it has to be at rest at its end.
class RestingMaster : public Master {
 public:
  using Master::Master;

  /// What GET /agents says of a mirror of the first table's first shard.
  double number_of(std::size_t mirror, const std::string& what) const;
  std::string word_of(std::size_t mirror, const std::string& what) const;
  /// Waits until the mirrors of that shard show these roles, in this order.
  bool shows(const std::vector<std::string>& roles) const;
  /// Waits until so many selections wait.
  bool has_waiting(std::int64_t selections) const;

  /// A search with a read preference in its header; none when empty.
  Response find(std::string_view preference = {}, std::string_view fields = {}) const;
  /// Searches this often; how many attempts each mirror got. Fails the test unless all succeed.
  std::vector<int> spread(int searches, std::string_view preference = {}) const;
};

/// A request that is sent and whose answer is waited for later, or never.
class Pending {
 public:
  Pending(const Master& master, std::string_view target, std::string_view body,
          std::string_view fields = {});
  static Pending search(const Master& master, std::string_view preference,
                        std::string_view fields = {});
  Response answer();

 private:
  std::unique_ptr<HttpClient> client_;
};

/// `X-Read-Preference: …`, ended by CRLF.
std::string preferring(std::string_view preference);

/// What a JSON text has at this pointer: a string, else what it looks like as JSON; empty: nothing.
std::string at(const std::string& json, const std::string& pointer);

}  // namespace karmad::test
