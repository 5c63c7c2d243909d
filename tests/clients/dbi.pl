# DBI with DBD::mysql or DBD::MariaDB: perl dbi.pl DRIVER PORT TABLE PID
use strict;
use warnings;
use utf8;
use DBI qw(:sql_types);
use FindBin;

my ($driver, $port, $table, $mirror) = @ARGV;
my ($passed, $failed) = (0, 0);
my @added = (5001, 'Größe "M", it\'s 5\\6', 7, 2.5, 'Zest', -5);
binmode STDOUT, ':utf8';

open my $file, '<:encoding(UTF-8)', "$FindBin::Bin/expected.tsv" or die "expected.tsv: $!";
chomp(my @lines = <$file>);
my @heads = map { [split /:/] } split /\t/, shift @lines;
my @columns = map { $_->[0] } @heads;
my @kinds = map { $_->[1] } @heads;
my @expected = map { [split /\t/, $_, -1] } @lines;

# Prints how the block ended; an exception in it is a failure, and the next check follows.
sub check {
  my ($name, $work) = @_;
  if (eval { $work->(); 1 }) {
    ++$passed;
    print "ok $name\n";
  } else {
    ++$failed;
    print "FAILED $name: ", substr($@ =~ s/\s+/ /gr, 0, 600), "\n";
  }
}

# Values are equal; Perl has no types of numbers, so 5.0 and 5 are.
sub same {
  my ($wanted, $found) = map { my $rows = $_; ref $rows ? join ' | ', map { join ', ', map { shown($_) } @$_ } @$rows : shown($rows) } @_;
  die "$found instead of $wanted\n" if $wanted ne $found;
}

sub shown {
  my $value = shift;
  return 'nothing' unless defined $value;
  return $value =~ /^-?\d+\.\d*$/ ? $value + 0 : $value;
}

sub connection {
  my %decoded = $driver eq 'mysql' ? (mysql_enable_utf8mb4 => 1) : ();    # the other driver always decodes
  return DBI->connect("dbi:$driver:host=127.0.0.1;port=$port;database=shop", 'any', 'secret',
                      {RaiseError => 1, PrintError => 0, %decoded});
}

my $db;
sub rows { my ($sql, @values) = @_; return $db->selectall_arrayref($sql, undef, @values) }
sub fails {
  my ($sql, @codes) = @_;
  die "no error: $sql\n" if eval { rows($sql); 1 };
  die $db->err . " instead of @codes\n" unless grep { $_ == $db->err } @codes;
}
sub titles { return [map { [@$_[0, 1]] } @_] }
sub page {
  my $from = 4 * shift;
  return titles(@expected[$from .. ($from + 3 < $#expected ? $from + 3 : $#expected)]);
}

check('connect', sub { $db = connection(); same([['shop']], rows('SELECT DATABASE()')); $db->ping or die "no answer to a ping\n" });
check('types', sub {
  my $statement = $db->prepare("SELECT @{[join ', ', @columns]} FROM $table WHERE brand = 'Ironwood' ORDER BY id ASC");
  $statement->execute;
  my %kind = (SQL_BIGINT, 'int', SQL_INTEGER, 'int', SQL_REAL, 'float', SQL_FLOAT, 'float', SQL_DOUBLE, 'float', SQL_CHAR, 'text', SQL_VARCHAR, 'text',
              SQL_LONGVARBINARY, 'text');    # the last is TEXT of other servers
  same([\@kinds], [[map { $kind{$_} // $_ } @{$statement->{TYPE}}]]);
  same(\@expected, $statement->fetchall_arrayref);
});
check('pages', sub {
  for my $number (0 .. 2) {
    my $statement = $db->prepare("SELECT id, title FROM $table WHERE brand = ? ORDER BY id ASC LIMIT ? OFFSET ?");
    $statement->bind_param(1, 'Ironwood');
    $statement->bind_param(2, 4, SQL_INTEGER);
    $statement->bind_param(3, 4 * $number, SQL_INTEGER);
    $statement->execute;
    same(page($number), $statement->fetchall_arrayref);
  }
  same([[scalar @expected]], rows("SELECT COUNT(*) FROM $table WHERE brand = 'Ironwood'"));
});
for my $on_server (0, 1) {
  check($on_server ? 'prepare' : 'prepare, emulated', sub {
    $db->{$driver eq 'mysql' ? 'mysql_server_prepare' : 'mariadb_server_prepare'} = $on_server;
    my $statement = $db->prepare("SELECT @{[join ', ', @columns]} FROM $table WHERE id = ?");
    for my $row (@expected) {
      $statement->bind_param(1, $row->[0], SQL_BIGINT);
      $statement->execute;
      same([$row], $statement->fetchall_arrayref);
    }
    my @wanted = map { [$_->[0]] } grep { $_->[3] > 3.1 } @expected;
    $statement = $db->prepare("SELECT id FROM $table WHERE brand = ? AND rating > ? ORDER BY id ASC LIMIT 100");
    $statement->bind_param(1, 'Ironwood');
    $statement->bind_param(2, 3.1, SQL_DOUBLE);
    $statement->execute;
    same(\@wanted, $statement->fetchall_arrayref);
    same([], rows("SELECT id FROM $table WHERE brand = ?", q(x' OR '1'='1)));
  });
}
check('texts', sub {    # values without a type are texts
  my ($id, $title) = @{$expected[0]};
  same([[$id, $title]], rows("SELECT id, title FROM $table WHERE id = ?", $id));
});
check('error', sub {
  fails("SELECT nothing FROM $table", 1054, 1064);    # of MySQL, of the engine
  fails('SELECT id FROM nosuch', 1146);
  fails('SELEC id', 1064);
  same([[$expected[0][0]]], rows("SELECT id FROM $table WHERE id = $expected[0][0]"));
});
check('change', sub {
  my $select = "SELECT id, title, price, rating, brand, stock FROM $table WHERE id = $added[0]";
  my $insert = $db->prepare("INSERT INTO $table (id, title, price, rating, brand, stock) VALUES (?, ?, ?, ?, ?, ?)");
  my @types = (SQL_BIGINT, SQL_VARCHAR, SQL_INTEGER, SQL_DOUBLE, SQL_VARCHAR, SQL_BIGINT);
  $insert->bind_param($_ + 1, $added[$_], $types[$_]) for 0 .. $#added;
  $db->begin_work;
  same(1, $insert->execute);
  $db->commit;
  same([\@added], rows($select));
  same(1, $db->do("UPDATE $table SET price = 8 WHERE id = $added[0]"));
  same(8, rows($select)->[0][2]);
  same(1, $db->do("DELETE FROM $table WHERE id = $added[0]"));
  same([], rows($select));
});
check('mirror', sub {
  my $ask = sub { same(titles(@expected), rows("SELECT id, title FROM $table WHERE brand = ? ORDER BY id ASC", 'Ironwood')) };
  for my $turn (0 .. 59) {
    kill 'KILL', $mirror if $turn == 20;
    $ask->();
  }
  $db->disconnect;
  $db = connection();
  $ask->();
});
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
