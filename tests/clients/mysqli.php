<?php
// mysqli: php mysqli.php PORT TABLE PID
require __DIR__ . '/checks.php';

function connect() {
  global $port;
  return new mysqli('127.0.0.1', 'any', 'secret', 'shop', (int)$port);
}

// Without values the text is sent and numbers come as texts; with values the statement is prepared.
function rows($sql, $values = null) {
  global $connection;
  return ($values === null ? $connection->query($sql) : $connection->execute_query($sql, $values))->fetch_all(MYSQLI_ASSOC);
}

function change($sql, $values = null) {
  global $connection;
  $connection->execute_query($sql, $values);
  same(1, $connection->affected_rows);
}

$connection = null;
check('connect', function () {
  global $connection;
  $connection = connect();
  same([['DATABASE()' => 'shop']], rows('SELECT DATABASE()'));
  same(true, $connection->set_charset('utf8mb4'));
});
check('types', function () {
  global $table, $columns, $expected;
  $sql = 'SELECT ' . implode(', ', $columns) . " FROM $table WHERE brand = 'Ironwood' ORDER BY id ASC";
  same($expected, rows($sql, []));
  same(array_map(fn($row) => array_map(strval(...), $row), pick($expected, ['id', 'price', 'brand', 'stock'])),
       pick(rows($sql), ['id', 'price', 'brand', 'stock']));
});
check('pages', function () {
  global $table, $expected;
  global $connection;
  $statement = $connection->prepare("SELECT id, title FROM $table WHERE brand = ? ORDER BY id ASC LIMIT ? OFFSET ?");
  [$brand, $limit] = ['Ironwood', 4];
  foreach ([0, 1, 2] as $number) {
    $offset = 4 * $number;
    $statement->bind_param('sii', $brand, $limit, $offset);
    $statement->execute();
    same(page($number), $statement->get_result()->fetch_all(MYSQLI_ASSOC));
  }
  same([['n' => count($expected)]], rows("SELECT COUNT(*) AS n FROM $table WHERE brand = ?", ['Ironwood']));
});
check('prepare', function () {
  global $connection, $table, $columns, $expected;
  $statement = $connection->prepare('SELECT ' . implode(', ', $columns) . " FROM $table WHERE id = ?");
  foreach ($expected as $row) {
    $id = $row['id'];
    $statement->bind_param('i', $id);
    $statement->execute();
    same([$row], $statement->get_result()->fetch_all(MYSQLI_ASSOC));
  }
  $statement->close();
  $statement = $connection->prepare("SELECT id FROM $table WHERE brand = ? AND rating > ? ORDER BY id ASC LIMIT ?");
  [$brand, $least, $limit] = ['Ironwood', 3.1, 100];
  $statement->bind_param('sdi', $brand, $least, $limit);
  $statement->execute();
  $statement->bind_result($id);
  $ids = [];
  while ($statement->fetch()) $ids[] = ['id' => $id];
  same(well_rated(), $ids);
  $statement->close();
  same([], rows("SELECT id FROM $table WHERE brand = ?", ["x' OR '1'='1"]));
});
check('texts', function () {  // execute_query() takes all values for texts
  global $table, $expected;
  same(pick([$expected[0]], ['id', 'title']),
       rows("SELECT id, title FROM $table WHERE id = ? LIMIT ?", [$expected[0]['id'], 1]));
});
check('error', function () {
  global $table, $expected, $unknown_column;
  fails(fn() => rows("SELECT nothing FROM $table"), ...$unknown_column);
  fails(fn() => rows('SELECT id FROM nosuch'), 1146);
  fails(fn() => rows('SELECT id FROM nosuch WHERE id = ?', [1]), 1146);
  fails(fn() => rows('SELEC id'), 1064);
  same([['id' => (string)$expected[0]['id']]], rows("SELECT id FROM $table WHERE id = {$expected[0]['id']}"));
});
check('change', function () {
  global $connection, $table, $added;
  $names = implode(', ', array_keys($added));
  $select = "SELECT $names FROM $table WHERE id = {$added['id']}";
  $connection->begin_transaction();
  $insert = $connection->prepare("INSERT INTO $table ($names) VALUES (?, ?, ?, ?, ?, ?)");
  $values = array_values($added);
  $insert->bind_param('isidsi', ...$values);
  $insert->execute();
  same(1, $insert->affected_rows);
  $connection->commit();
  same([$added], rows($select, []));
  $update = $connection->prepare("UPDATE $table SET price = ? WHERE id = ?");
  [$price, $id] = [8, $added['id']];
  $update->bind_param('ii', $price, $id);
  $update->execute();
  same(1, $update->affected_rows);
  same(8, rows($select, [])[0]['price']);
  change("DELETE FROM $table WHERE id = {$added['id']}");
  same([], rows($select));
});
check('mirror', function () {
  global $connection, $table, $expected;
  $wanted = pick($expected, ['id', 'title']);
  $ask = fn() => same($wanted, rows("SELECT id, title FROM $table WHERE brand = ? ORDER BY id ASC", ['Ironwood']));
  asks_while_a_mirror_ends($ask);
  $connection->close();
  $connection = connect();
  $ask();
});
finish();
