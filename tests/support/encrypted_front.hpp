#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/cluster.hpp"
#include "tests/support/tls.hpp"

namespace karmad::test {

/// What makes a plain server one for TLS: a karmad before it.
struct EncryptedFront {
  explicit EncryptedFront(const std::string& server, const std::string& searchd = {})
      : certificate(authority.issue("c.pem", "IP:127.0.0.1")),
        master(fmt::format("listen = 127.0.0.1:0:https\n tls_certificate = {}\n "
                           "ha_ping_interval = 0\n {}",
                           certificate, searchd),
               fmt::format("table f {{\n type = distributed\n dialect = http\n route = /\n agent = "
                           "{}\n}}\n",
                           server)) {
    const auto line = master.process().wait_for(":https");
    EXPECT_TRUE(line);
    if (line) address = line->substr(line->find("127.0.0.1:"));
    address.resize(address.find(":https"));
  }

  TempDir dir;
  Authority authority{dir.path()};
  std::string certificate;
  Master master;
  std::string address;
};

}  // namespace karmad::test
