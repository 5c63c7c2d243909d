#include "config/manual_page.hpp"

#include <fmt/format.h>

#include "config/agent_options.hpp"
#include "config/reference.hpp"
#include "config/text/roff.hpp"

namespace karmad {

namespace {

constexpr auto kFileManual = R"(.SH NAME
karmad.conf \- configuration of karmad, a balancer in front of search servers
.SH DESCRIPTION
A file has sections with lines of the form \fIkey\fR \fB=\fR \fIvalue\fR. \fBsearchd {\fR ... \fB}\fR
is about the process, \fBtable\fR \fINAME\fR \fB{\fR ... \fB}\fR about one table; \fBindex\fR is a
synonym of \fBtable\fR. A file of a Manticore or Sphinx server with a distributed table can be read
unchanged; settings without a meaning here are named once and ignored.
.PP
\fBkarmad \-\-config\fR \fIFILE\fR \fB\-\-check\fR reports every mistake with its line and column,
\fB\-\-dump\-config\fR the effective values, each with its source.
.TP
.B Comments
from \fB#\fR to the end of the line. A \fB\e\fR before the end of a line joins the next one to it.
.TP
.B Environment
\fB${\fR\fINAME\fR\fB}\fR is the value of a variable, \fB${\fR\fINAME\fR\fB:\-\fR\fIdefault\fR\fB}\fR
has a default. \fB\e#\fR, \fB\e{\fR, \fB\e}\fR and \fB\e$\fR are the characters themselves.
.TP
.B Inheritance
\fBtable b : a {\fR ... \fB}\fR inherits everything of table a, which must be defined before it.
.TP
.B Including
\fBinclude = conf.d/*.conf\fR outside of sections reads the files in the order of their names.
.TP
.B Times
a whole number and \fBus\fR, \fBms\fR, \fBs\fR, \fBm\fR, \fBh\fR, \fBd\fR or \fBw\fR. A bare number
counts in the unit of its key.
.TP
.B Sizes
a whole number of bytes, or with \fBk\fR, \fBm\fR, \fBg\fR or \fBt\fR in powers of 1024.
.SH AGENT LINES
One line \fBagent\fR is one shard. Its mirrors are separated by \fB|\fR:
.PP
.nf
agent = HOST[:PORT][:TABLE][[OPTIONS]] | /SOCKET[:TABLE][[OPTIONS]] ... [[OPTIONS OF THE LINE]]
.fi
.PP
Options are \fIname\fR\fB=\fR\fIvalue\fR, separated by commas, in brackets. Options directly behind a
mirror are about that mirror, a bracket at the end of the line is about all of them. A mirror without
a table has the table of the next mirror that names one; the last one that of the distributed table.
.PP
)";

constexpr auto kFileManualEnd = R"(.SH FILES
.TP
.I /etc/karmad/karmad.conf
read by the service of the Debian package.
.SH EXAMPLES
.nf
searchd {
    listen = 127.0.0.1:9308
    ha_strategy = adaptive
}
table products {
    type = distributed
    agent = 10.0.0.1:9308|10.0.0.2:9308:products_0
    agent = 10.0.0.3:9308|10.0.0.4:9308:products_1
}
.fi
.SH SEE ALSO
.BR karmad (8)
)";

std::string entries(const std::vector<KeyText>& keys) {
  std::string out;
  for (const auto& key : keys) {
    out += fmt::format(".TP\n.B {}\n{}\n.br\nValue: {}", roff(key.name), roff(key.meaning),
                       roff(key.value));
    if (!key.range.empty()) out += fmt::format("; {}", roff(key.range));
    if (!key.fallback.empty()) out += fmt::format(". Default: {}", roff(key.fallback));
    out += ".\n";
  }
  return out;
}

}  // namespace

std::string configuration_manual_page() {
  return fmt::format(
      ".TH KARMAD.CONF 5 \"\" \"karmad {}\" \"karmad\"\n{}Options of a mirror: {}. "
      "Options of the line: {}.\n.SH SETTINGS IN SEARCHD\n{}.SH SETTINGS IN A TABLE\n{}{}",
      KARMAD_VERSION, kFileManual, fmt::join(mirror_option_names(), ", "),
      fmt::join(line_option_names(), ", "), entries(searchd_key_texts()),
      entries(table_key_texts()), kFileManualEnd);
}

}  // namespace karmad
