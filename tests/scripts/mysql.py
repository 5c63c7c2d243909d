"""PyMySQL against karmad: python3 mysql.py PORT"""
import sys

import pymysql


def connect(user, **options):
    return pymysql.connect(host='127.0.0.1', port=int(sys.argv[1]), user=user, password='secret', database='shop',
                           **options)


def code_of(work):
    try:
        work()
    except pymysql.MySQLError as error:
        return error.args[0]
    return 0


client = connect('any')  # sends SET AUTOCOMMIT = 0
cursor = client.cursor()
cursor.execute('SELECT id FROM products WHERE id=%s', (7,))
assert cursor.fetchall() == ((7,),)
cursor.execute('SELECT @@autocommit, DATABASE()')
assert cursor.fetchall() == ((0, 'shop'),)
client.commit()
client.rollback()
client.autocommit(True)
client.select_db('market')
assert code_of(lambda: cursor.execute('SELECT id FROM nope')) == 1146
assert code_of(lambda: connect('other').kill(client.thread_id())) == 1095
connect('any').kill(client.thread_id())
assert code_of(lambda: cursor.execute('SELECT 1')) != 0
