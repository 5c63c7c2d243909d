"""PyMySQL: python3 pymysql_client.py PORT TABLE PID"""

import pymysql

from checks import (
    added, asks_while_a_mirror_ends, check, columns, expected, finish, one_of, page, port, same, table, unknown_column)


def connect():
    return pymysql.connect(host="127.0.0.1", port=port, user="any", password="secret", database="shop")


def rows(sql, values=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def fails(sql, *codes):
    try:
        rows(sql)
    except pymysql.MySQLError as error:
        one_of(codes, error.args[0])
    else:
        raise AssertionError(f"no error: {sql}")


def change(sql, values=None):
    with connection.cursor() as cursor:
        same(1, cursor.execute(sql, values))
    connection.commit()


with check("connect"):
    connection = connect()
    same([("shop",)], rows("SELECT DATABASE()"))
with check("types"):
    same(expected, rows(f"SELECT {', '.join(columns)} FROM {table} WHERE brand = 'Ironwood' ORDER BY id ASC"))
with check("pages"):
    for number in range(3):
        wanted = [(row[0], row[1]) for row in page(number)]
        sql = f"SELECT id, title FROM {table} WHERE brand = %s ORDER BY id ASC LIMIT %s OFFSET %s"
        same(wanted, rows(sql, ("Ironwood", 4, 4 * number)))
    same([(len(expected),)], rows(f"SELECT COUNT(*) FROM {table} WHERE brand = 'Ironwood'"))
with check("prepare"):  # this driver writes the values into the text
    for row in expected:
        same([row[:4]], rows(f"SELECT id, title, price, rating FROM {table} WHERE id = %s", (row[0],)))
    wanted = [(row[0],) for row in expected if row[3] > 3.1]
    sql = f"SELECT id FROM {table} WHERE brand = %s AND rating > %s ORDER BY id ASC LIMIT %s"
    same(wanted, rows(sql, ("Ironwood", 3.1, 100)))
    same([], rows(f"SELECT id FROM {table} WHERE brand = %s", ("x' OR '1'='1",)))
with check("error"):
    fails(f"SELECT nothing FROM {table}", *unknown_column)
    fails("SELECT id FROM nosuch", 1146)
    fails("SELEC id", 1064)
    same([(expected[0][0],)], rows(f"SELECT id FROM {table} WHERE id = {expected[0][0]}"))
with check("change"):
    change(f"INSERT INTO {table} (id, title, price, rating, brand, stock) VALUES (%s, %s, %s, %s, %s, %s)", added)
    select = f"SELECT id, title, price, rating, brand, stock FROM {table} WHERE id = %s"
    same([added], rows(select, (added[0],)))
    change(f"UPDATE {table} SET price = %s WHERE id = %s", (8, added[0]))
    same(8, rows(select, (added[0],))[0][2])
    change(f"DELETE FROM {table} WHERE id = %s", (added[0],))
    same([], rows(select, (added[0],)))
    connection.rollback()
with check("mirror"):
    wanted = [row[:2] for row in expected]
    asks_while_a_mirror_ends(
        lambda: same(wanted, rows(f"SELECT id, title FROM {table} WHERE brand = 'Ironwood' ORDER BY id ASC")))
    connection.close()
    connection = connect()
    same(wanted[:1], rows(f"SELECT id, title FROM {table} WHERE id = {expected[0][0]}"))
finish()
