<?php
// PDO: php pdo.php PORT TABLE PID
require __DIR__ . '/checks.php';

function connect() {
  global $port;
  return new PDO("mysql:host=127.0.0.1;port=$port;dbname=shop", 'any', 'secret');
}

function rows($sql, $values = []) {
  global $pdo;
  $statement = $pdo->prepare($sql);
  foreach ($values as $i => $value)
    $statement->bindValue($i + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
  $statement->execute();
  return $statement->fetchAll(PDO::FETCH_ASSOC);
}

$pdo = null;
check('connect', function () {
  global $pdo;
  $pdo = connect();
  same('shop', $pdo->query('SELECT DATABASE()')->fetchColumn());
  same(true, is_string($pdo->getAttribute(PDO::ATTR_SERVER_VERSION)));
});
check('types', function () {
  global $table, $columns, $expected;
  same($expected, rows('SELECT ' . implode(', ', $columns) . " FROM $table WHERE brand = 'Ironwood' ORDER BY id ASC"));
});
foreach ([true, false] as $emulated) {
  if ($pdo) $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulated);
  check($emulated ? 'pages' : 'pages, prepared', function () {
    global $table, $expected;
    $sql = "SELECT id, title FROM $table WHERE brand = ? ORDER BY id ASC LIMIT ? OFFSET ?";
    foreach ([0, 1, 2] as $number) same(page($number), rows($sql, ['Ironwood', 4, 4 * $number]));
    same([['n' => count($expected)]], rows("SELECT COUNT(*) AS n FROM $table WHERE brand = ?", ['Ironwood']));
  });
  check($emulated ? 'prepare, emulated' : 'prepare', function () {
    global $table, $columns, $expected;
    foreach ($expected as $row)
      same([$row], rows('SELECT ' . implode(', ', $columns) . " FROM $table WHERE id = ?", [$row['id']]));
    same(well_rated(), rows("SELECT id FROM $table WHERE brand = ? AND rating > 3.1 ORDER BY id ASC LIMIT ?", ['Ironwood', 100]));
    same([], rows("SELECT id FROM $table WHERE brand = ?", ["x' OR '1'='1"]));
  });
}
check('texts', function () {  // execute() takes all values for texts
  global $pdo, $table, $expected;
  $statement = $pdo->prepare("SELECT id, title FROM $table WHERE id = ? LIMIT ?");
  $statement->execute([$expected[0]['id'], 1]);
  same(pick([$expected[0]], ['id', 'title']), $statement->fetchAll(PDO::FETCH_ASSOC));
});
check('error', function () {
  global $table, $expected, $unknown_column;
  fails(fn() => rows("SELECT nothing FROM $table"), ...$unknown_column);
  fails(fn() => rows('SELECT id FROM nosuch'), 1146);
  fails(fn() => rows('SELEC id'), 1064);
  same([['id' => $expected[0]['id']]], rows("SELECT id FROM $table WHERE id = ?", [$expected[0]['id']]));
});
check('change', function () {
  global $pdo, $table, $added;
  $names = implode(', ', array_keys($added));
  $select = "SELECT $names FROM $table WHERE id = ?";
  // A float is a text for PDO, which the engine would refuse: it stands in the statement.
  $insert = $pdo->prepare("INSERT INTO $table ($names) VALUES (?, ?, ?, 2.5, ?, ?)");
  foreach (array_values(array_diff_key($added, ['rating' => 0])) as $i => $value)
    $insert->bindValue($i + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
  $pdo->beginTransaction();
  $insert->execute();
  same(1, $insert->rowCount());
  $pdo->commit();
  same([$added], rows($select, [$added['id']]));
  same(1, $pdo->exec("UPDATE $table SET price = 8 WHERE id = {$added['id']}"));
  same(8, rows($select, [$added['id']])[0]['price']);
  same(1, $pdo->exec("DELETE FROM $table WHERE id = {$added['id']}"));
  same([], rows($select, [$added['id']]));
});
check('mirror', function () {
  global $pdo, $table, $expected;
  $wanted = pick($expected, ['id', 'title']);
  $ask = fn() => same($wanted, rows("SELECT id, title FROM $table WHERE brand = ? ORDER BY id ASC", ['Ironwood']));
  asks_while_a_mirror_ends($ask);
  $pdo = connect();
  $ask();
});
finish();
