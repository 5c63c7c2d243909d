// MariaDB Connector/J: java -cp mariadb-java-client.jar Connector.java PORT TABLE PID

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Connector {
  interface Work { void run() throws Exception; }

  static final Object[] ADDED = {5001L, "Größe \"M\", it's 5\\6", 7L, 2.5, "Zest", -5L};
  static String url, table;
  static long mirror;
  static String[] columns;
  static List<List<Object>> expected = new ArrayList<>();
  static Connection connection;
  static int passed, failed;

  static Object value(String type, String cell) {
    if (type.equals("int")) return Long.parseLong(cell);
    return type.equals("float") ? (Object) Double.parseDouble(cell) : cell;
  }

  static void readExpected() throws Exception {
    List<String> lines = Files.readAllLines(Path.of("tests/clients/expected.tsv"));
    String[] heads = lines.get(0).split("\t");
    columns = Arrays.stream(heads).map(head -> head.split(":")[0]).toArray(String[]::new);
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split("\t", -1);
      List<Object> row = new ArrayList<>();
      for (int i = 0; i < cells.length; ++i) row.add(value(heads[i].split(":")[1], cells[i]));
      expected.add(row);
    }
  }

  /** Prints how the work ended; an exception in it is a failure, and the next check follows. */
  static void check(String name, Work work) {
    try {
      work.run();
      ++passed;
      System.out.println("ok " + name);
    } catch (Exception error) {
      ++failed;
      String text = String.valueOf(error).replaceAll("\\s+", " ");
      System.out.println("FAILED " + name + ": " + text.substring(0, Math.min(600, text.length())));
    }
  }

  /** Values and types are equal. */
  static void same(Object wanted, Object found) throws Exception {
    if (!wanted.equals(found)) throw new Exception(found + " instead of " + wanted);
  }

  /** Integers are longs and floats are doubles here, so that rows can be compared. */
  static List<List<Object>> read(ResultSet set) throws SQLException {
    List<List<Object>> rows = new ArrayList<>();
    while (set.next()) {
      List<Object> row = new ArrayList<>();
      for (int i = 1; i <= set.getMetaData().getColumnCount(); ++i) {
        Object cell = set.getObject(i);
        if (cell instanceof Integer) cell = ((Integer) cell).longValue();
        if (cell instanceof Float) cell = ((Float) cell).doubleValue();
        row.add(cell);
      }
      rows.add(row);
    }
    return rows;
  }

  static List<List<Object>> rows(String sql) throws SQLException {
    try (var statement = connection.createStatement(); var set = statement.executeQuery(sql)) {
      return read(set);
    }
  }

  static PreparedStatement bound(Connection to, String sql, Object... values) throws SQLException {
    PreparedStatement statement = to.prepareStatement(sql);
    for (int i = 0; i < values.length; ++i) statement.setObject(i + 1, values[i]);
    return statement;
  }

  static List<List<Object>> rows(Connection of, String sql, Object... values) throws SQLException {
    try (var statement = bound(of, sql, values); var set = statement.executeQuery()) {
      return read(set);
    }
  }

  static void fails(Work work, Integer... codes) throws Exception {
    try {
      work.run();
    } catch (SQLException error) {
      if (List.of(codes).contains(error.getErrorCode())) return;
      throw new Exception(error.getErrorCode() + " instead of " + List.of(codes));
    }
    throw new Exception("no error");
  }

  static List<List<Object>> pick(List<List<Object>> rows, int many) {
    List<List<Object>> picked = new ArrayList<>();
    for (List<Object> row : rows) picked.add(row.subList(0, many));
    return picked;
  }

  static List<List<Object>> page(int number) {
    return pick(expected.subList(4 * number, Math.min(4 * number + 4, expected.size())), 2);
  }

  static void prepares(Connection with) throws Exception {
    try (var statement = with.prepareStatement("SELECT " + String.join(", ", columns) + " FROM " + table + " WHERE id = ?")) {
      for (List<Object> row : expected) {
        statement.setLong(1, (Long) row.get(0));
        same(List.of(row), read(statement.executeQuery()));
      }
    }
    List<List<Object>> wanted = new ArrayList<>();
    for (List<Object> row : expected)
      if ((Double) row.get(3) > 3.1) wanted.add(row.subList(0, 1));
    same(wanted, rows(with, "SELECT id FROM " + table + " WHERE brand = ? AND rating > ? ORDER BY id ASC LIMIT ?", "Ironwood", 3.1, 100));
    same(List.of(), rows(with, "SELECT id FROM " + table + " WHERE brand = ?", "x' OR '1'='1"));
    for (int number = 0; number < 3; ++number)
      same(page(number), rows(with, "SELECT id, title FROM " + table + " WHERE brand = ? ORDER BY id ASC LIMIT ? OFFSET ?",
                              "Ironwood", 4, 4 * number));
  }

  public static void main(String[] arguments) throws Exception {
    url = "jdbc:mariadb://127.0.0.1:" + arguments[0] + "/shop?user=any&password=secret";
    table = arguments[1];
    mirror = Long.parseLong(arguments[2]);
    readExpected();

    check("connect", () -> {
      connection = DriverManager.getConnection(url);
      same(true, connection.isValid(5));
      same("shop", rows("SELECT DATABASE()").get(0).get(0));
    });
    check("types", () -> same(expected, rows("SELECT " + String.join(", ", columns) + " FROM " + table
        + " WHERE brand = 'Ironwood' ORDER BY id ASC")));
    check("pages", () -> {
      for (int number = 0; number < 3; ++number)
        same(page(number), rows("SELECT id, title FROM " + table + " WHERE brand = 'Ironwood' ORDER BY id ASC LIMIT 4 OFFSET "
            + 4 * number));
      same(List.of(List.of((long) expected.size())), rows("SELECT COUNT(*) FROM " + table + " WHERE brand = 'Ironwood'"));
    });
    check("prepare, emulated", () -> prepares(connection));
    check("prepare", () -> {
      try (Connection with = DriverManager.getConnection(url + "&useServerPrepStmts=true")) {
        prepares(with);
      }
    });
    check("error", () -> {
      fails(() -> rows("SELECT nothing FROM " + table), 1054, 1064);  // of MySQL, of the engine
      fails(() -> rows("SELECT id FROM nosuch"), 1146);
      fails(() -> rows(connection, "SELECT id FROM nosuch WHERE id = ?", 1), 1146);
      fails(() -> rows("SELEC id"), 1064);
      same(List.of(expected.get(0).subList(0, 1)), rows("SELECT id FROM " + table + " WHERE id = " + expected.get(0).get(0)));
    });
    check("tables", () -> {
      List<String> found = new ArrayList<>();
      try (var set = connection.getMetaData().getTables(null, null, "%", null)) {
        while (set.next()) found.add(set.getString("TABLE_NAME"));
      }
      same(true, found.contains(table));
      found.clear();
      try (var set = connection.getMetaData().getColumns(null, null, table, "%")) {
        while (set.next()) found.add(set.getString("COLUMN_NAME"));
      }
      same(true, found.containsAll(List.of(columns)));
    });
    check("change", () -> {
      String select = "SELECT id, title, price, rating, brand, stock FROM " + table + " WHERE id = ?";
      connection.setAutoCommit(false);
      try (var insert = bound(connection, "INSERT INTO " + table + " (id, title, price, rating, brand, stock) VALUES (?, ?, ?, ?, ?, ?)", ADDED)) {
        same(1, insert.executeUpdate());
      }
      connection.commit();
      connection.setAutoCommit(true);
      same(List.of(List.of(ADDED)), rows(connection, select, ADDED[0]));
      try (var update = bound(connection, "UPDATE " + table + " SET price = ? WHERE id = ?", 8, ADDED[0])) {
        same(1, update.executeUpdate());
      }
      same(8L, rows(connection, select, ADDED[0]).get(0).get(2));
      try (var statement = connection.createStatement()) {
        same(1, statement.executeUpdate("DELETE FROM " + table + " WHERE id = " + ADDED[0]));
      }
      same(List.of(), rows(connection, select, ADDED[0]));
    });
    check("mirror", () -> {
      String sql = "SELECT id, title FROM " + table + " WHERE brand = 'Ironwood' ORDER BY id ASC";
      for (int turn = 0; turn < 60; ++turn) {
        if (turn == 20) ProcessHandle.of(mirror).ifPresent(ProcessHandle::destroyForcibly);
        same(pick(expected, 2), rows(sql));
      }
      connection.close();
      connection = DriverManager.getConnection(url);
      same(pick(expected, 2), rows(sql));
    });
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }
}
