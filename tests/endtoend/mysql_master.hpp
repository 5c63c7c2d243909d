#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"
#include "tests/support/mysql_client.hpp"

namespace karmad::test {

using Rows = std::vector<std::string>;

inline constexpr std::string_view kMysqlRows =
    R"([{"columns":[{"id":{"type":"long long"}},{"title":{"type":"string"}}],
"data":[{"id":1,"title":"a \"b\""},{"id":2,"title":null}],"total":2,"error":"","warning":""}])";

inline constexpr std::string_view kOneChanged = R"([{"total":1,"error":"","warning":""}])";

inline std::string body_in(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

/// karmad with a table `t` of one mirror, and with a MySQL listener.
class MysqlMaster {
 public:
  explicit MysqlMaster(const FakeMirror& mirror, const std::string& searchd = "",
                       const std::string& protocol = "mysql", const std::string& more_of_table = "",
                       const std::string& second_mirror = "")
      : listen_(fmt::format(" listen = 127.0.0.1:0:{}\n ha_ping_interval = 0\n", protocol)),
        table_(fmt::format("table t {{\n type = distributed\n agent = {}{}:t\n {}\n}}\n",
                           mirror.address(), second_mirror.empty() ? "" : "|" + second_mirror,
                           more_of_table)),
        master_(listen_ + searchd, table_) {
    const auto line = master_.process().wait_for(":" + protocol);
    if (line) port_ = port_in(line->substr(0, line->rfind(':')));
  }
  int port() const { return port_; }
  Master& master() { return master_; }
  bool reload(const std::string& searchd) { return master_.reload(listen_ + searchd, table_); }

 private:
  const std::string listen_;
  const std::string table_;
  Master master_;
  int port_ = 0;
};

inline FakeMirror::React rows_for_all() {
  return [](const std::string&) { return json(kMysqlRows); };
}

}  // namespace karmad::test
