<?php
// PDO and mysqli against karmad: php mysql.php PORT

function same($wanted, $is, $what) {
  if ($wanted === $is) return;
  fwrite(STDERR, "$what: " . json_encode($is) . ' instead of ' . json_encode($wanted) . "\n");
  exit(1);
}

$dsn = "mysql:host=127.0.0.1;port={$argv[1]};dbname=shop;charset=utf8mb4";
foreach ([true, false] as $emulated) {
  $what = $emulated ? 'emulated' : 'native';
  $pdo = new PDO($dsn, 'any', 'secret', [PDO::ATTR_EMULATE_PREPARES => $emulated, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
  $keys = $pdo->query('SHOW AGENT STATUS')->fetchAll(PDO::FETCH_COLUMN);
  same(true, in_array('ag_1_hostname', $keys, true), "$what: SHOW AGENT STATUS");
  same('products', $pdo->query('SHOW TABLES')->fetchColumn(), "$what: SHOW TABLES");
  $select = $pdo->prepare('SELECT id, price FROM products WHERE id=? LIMIT ?');
  foreach ([7, 8] as $id) {
    $select->bindValue(1, $id, PDO::PARAM_INT);
    $select->bindValue(2, 1, PDO::PARAM_INT);
    $select->execute();
    same($id, $select->fetch(PDO::FETCH_ASSOC)['id'], "$what: SELECT");
    $select->closeCursor();
  }
  $none = $pdo->prepare('SELECT id FROM products WHERE brand=:brand');
  $none->execute([':brand' => "x' OR '1'='1"]);
  same([], $none->fetchAll(), "$what: a quote");
  $pdo->beginTransaction();
  same(true, $pdo->rollBack(), "$what: ROLLBACK");
  $pdo->setAttribute(PDO::ATTR_AUTOCOMMIT, false);
  try {
    $pdo->query('SELECT id FROM nope');
    same('an error', 'none', $what);
  } catch (PDOException $error) {
    same(1146, $error->errorInfo[1], "$what: an unknown table");
  }
}
$several = $pdo->query('SELECT id FROM products WHERE id=7; SHOW TABLES');
same([[7]], $several->fetchAll(PDO::FETCH_NUM), 'the first statement');
same(true, $several->nextRowset(), 'a second result');
same('products', $several->fetchColumn(), 'the second statement');
