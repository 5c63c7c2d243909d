// MariaDB Connector/J against karmad: java -cp CONNECTOR Mysql.java PORT
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

public class Mysql {
  static void check(boolean right, String what) {
    if (right) return;
    System.err.println("wrong: " + what);
    System.exit(1);
  }

  public static void main(String[] arguments) throws Exception {
    for (String options : new String[] {"", "?useServerPrepStmts=true", "?useCompression=true",
                                        "?sessionVariables=wait_timeout=100", "?usePipelineAuth=false"}) {
      String url = "jdbc:mariadb://127.0.0.1:" + arguments[0] + "/shop" + options;
      try (Connection client = DriverManager.getConnection(url, "any", "secret")) {
        Statement statement = client.createStatement();
        statement.setMaxRows(3);
        int rows = 0;
        for (ResultSet set = statement.executeQuery("SELECT id FROM products"); set.next();) ++rows;
        check(rows == 3, "rows " + options);
        client.setAutoCommit(false);
        PreparedStatement prepared = client.prepareStatement("SELECT id FROM products WHERE id=?");
        prepared.setInt(1, 7);
        ResultSet set = prepared.executeQuery();
        check(set.next() && set.getLong(1) == 7, "prepared " + options);
        client.rollback();
        client.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        check(client.getTransactionIsolation() == Connection.TRANSACTION_SERIALIZABLE, "isolation");
        client.commit();
        client.setAutoCommit(true);
        check(client.isValid(5), "isValid " + options);
        try {
          statement.executeQuery("SELECT id FROM nope");
          check(false, "no error");
        } catch (SQLException error) {
          check(error.getErrorCode() == 1146, "code " + error.getErrorCode());
        }
      }
    }
  }
}
