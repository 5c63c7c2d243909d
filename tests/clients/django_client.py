"""Django's ORM with PyMySQL: python3 django_client.py PORT TABLE PID"""

import django
import pymysql
from django.conf import settings

from checks import (
    added, asks_while_a_mirror_ends, check, columns, expected, finish, one_of, page, port, same, table, unknown_column)

pymysql.install_as_MySQLdb()
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.mysql", "HOST": "127.0.0.1", "PORT": port, "USER": "any", "PASSWORD": "secret",
    "NAME": "shop"}}, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField")
django.setup()

from django.core.paginator import Paginator  # noqa: E402
from django.db import connection, models, transaction  # noqa: E402
from django.db.utils import DatabaseError  # noqa: E402


class Product(models.Model):
    id = models.BigIntegerField(primary_key=True)
    title = models.TextField()
    price = models.PositiveIntegerField()
    rating = models.FloatField()
    brand = models.TextField()
    tags = models.TextField(default="")
    meta = models.TextField(default="{}")
    ts = models.BigIntegerField(default=0)
    stock = models.BigIntegerField()

    class Meta:
        app_label = "shop"
        db_table = table
        managed = False


def of_brand():
    return Product.objects.filter(brand="Ironwood").order_by("id")


def values(product, names=columns):
    return tuple(getattr(product, name) for name in names)


def fails(sql, *codes):
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
    except DatabaseError as error:
        one_of(codes, error.args[0])
    else:
        raise AssertionError(f"no error: {sql}")


with check("connect"):
    with connection.cursor() as cursor:
        cursor.execute("SELECT DATABASE()")
        same(("shop",), cursor.fetchone())
with check("types"):
    same(expected, [values(product) for product in of_brand()])
with check("pages"):
    same([row[:2] for row in page(1)], list(of_brand().values_list("id", "title")[4:8]))
    pages = Paginator(of_brand(), 4)
    same(len(expected), pages.count)
    for number in range(3):
        same(page(number), [values(product) for product in pages.page(number + 1)])
with check("groups"):
    groups = {row["brand"]: row["n"] for row in Product.objects.values("brand").annotate(n=models.Count("id"))}
    same((12, len(expected)), (len(groups), groups["Ironwood"]))
    same({"most": max(row[2] for row in expected)}, of_brand().aggregate(most=models.Max("price")))
with check("prepare"):
    for row in expected:
        same(row, values(Product.objects.get(pk=row[0])))
    wanted = [row[0] for row in expected if row[3] > 3.1]
    same(wanted, list(of_brand().filter(rating__gt=3.1).values_list("id", flat=True)))
    same(wanted, [one.id for one in of_brand().filter(rating__gt=3.1).exclude(price__lt=0)])
    same(True, of_brand().filter(id__in=[expected[0][0], expected[1][0]]).exists())
    same(False, Product.objects.filter(brand="x' OR '1'='1").exists())
with check("error"):
    fails(f"SELECT nothing FROM {table}", *unknown_column)
    fails("SELECT id FROM nosuch", 1146)
    same(expected[0][1], Product.objects.get(pk=expected[0][0]).title)
with check("tables"):
    same(True, table in connection.introspection.table_names())
    with connection.cursor() as cursor:
        found = {column.name: connection.introspection.get_field_type(column.type_code, column)
                 for column in connection.introspection.get_table_description(cursor, table)}
    same({"id": "BigIntegerField", "brand": "CharField", "rating": "FloatField"},
         {name: found[name] for name in ("id", "brand", "rating")})
with check("change"):
    names = ("id", "title", "price", "rating", "brand", "stock")
    with transaction.atomic(), transaction.atomic():  # the inner one is a savepoint
        product = Product.objects.create(**dict(zip(names, added)))
    same(added, values(Product.objects.get(pk=added[0]), names))
    same(1, Product.objects.filter(pk=added[0]).update(price=8))
    same(8, Product.objects.get(pk=added[0]).price)
    product.price = 9
    product.save(update_fields=["price"])
    same(9, Product.objects.get(pk=added[0]).price)
    product.delete()
    same(False, Product.objects.filter(pk=added[0]).exists())
with check("mirror"):
    asks_while_a_mirror_ends(lambda: same(expected, [values(product) for product in of_brand()]))
    connection.close()
    same(len(expected), of_brand().count())
finish()
