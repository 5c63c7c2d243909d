<?php
// What the clients in PHP share: the arguments, the expected rows, one line for each check.

[, $port, $table, $mirror] = $argv;
$added = ['id' => 5001, 'title' => 'Größe "M", it\'s 5\\6', 'price' => 7, 'rating' => 2.5, 'brand' => 'Zest', 'stock' => -5];
$unknown_column = [1054, 1064];  // of MySQL, of the engine
$passed = 0;
$failed = 0;

$lines = file(__DIR__ . '/expected.tsv', FILE_IGNORE_NEW_LINES);
$heads = array_map(fn($head) => explode(':', $head), explode("\t", array_shift($lines)));
$columns = array_column($heads, 0);
$readers = ['int' => intval(...), 'float' => floatval(...), 'text' => strval(...)];
$expected = [];
foreach ($lines as $line) {
  $row = [];
  foreach (explode("\t", $line) as $i => $cell) $row[$columns[$i]] = $readers[$heads[$i][1]]($cell);
  $expected[] = $row;
}

// Prints how $work ended; an exception in it is a failure, and the next check follows.
function check($name, $work) {
  global $passed, $failed;
  try {
    $work();
    ++$passed;
    echo "ok $name\n";
  } catch (Throwable $error) {
    ++$failed;
    echo "FAILED $name: ", substr(preg_replace('/\s+/', ' ', $error->getMessage()), 0, 600), "\n";
  }
}

// Values and types are equal.
function same($wanted, $found) {
  if ($wanted === $found) return;
  throw new Exception(json_encode($found) . ' instead of ' . json_encode($wanted));
}

// The columns $names of each row.
function pick($rows, $names) {
  return array_map(fn($row) => array_combine($names, array_map(fn($name) => $row[$name], $names)), $rows);
}

// The ids and titles of a page of four rows.
function page($number) {
  global $expected;
  return pick(array_slice($expected, 4 * $number, 4), ['id', 'title']);
}

// Ids of the rows with a rating above 3.1.
function well_rated() {
  global $expected;
  return pick(array_values(array_filter($expected, fn($row) => $row['rating'] > 3.1)), ['id']);
}

function fails($work, ...$codes) {
  try {
    $work();
  } catch (PDOException $error) {
    $code = $error->errorInfo[1];
  } catch (mysqli_sql_exception $error) {
    $code = $error->getCode();
  }
  if (in_array($code ?? 0, $codes, true)) return;
  if (isset($code)) throw new Exception("$code instead of " . implode(' or ', $codes));
  throw new Exception('no error');
}

// $ask is called before and after the end of a mirror.
function asks_while_a_mirror_ends($ask) {
  global $mirror;
  for ($turn = 0; $turn < 60; ++$turn) {
    if ($turn === 20) posix_kill((int)$mirror, 9);
    $ask();
  }
}

function finish() {
  global $passed, $failed;
  echo "$passed passed, $failed failed\n";
  exit($failed ? 1 : 0);
}
