"""SQLAlchemy with PyMySQL: python3 sqlalchemy_client.py PORT TABLE PID"""

from sqlalchemy import BigInteger, Column, Float, Integer, Text, create_engine, func, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, declarative_base

from checks import (
    added, asks_while_a_mirror_ends, check, columns, expected, finish, one_of, page, port, same, table, unknown_column)

Base = declarative_base()


class Product(Base):
    __tablename__ = table
    id = Column(BigInteger, primary_key=True)
    title = Column(Text)
    price = Column(Integer)
    rating = Column(Float)
    brand = Column(Text)
    tags = Column(Text)
    meta = Column(Text)
    ts = Column(Integer)
    stock = Column(BigInteger)


class Nothing(Base):
    __tablename__ = "nosuch"
    id = Column(BigInteger, primary_key=True)


def of_brand():
    return select(Product).where(Product.brand == "Ironwood").order_by(Product.id)


def values(product, names=columns):
    return tuple(getattr(product, name) for name in names)


engine = create_engine(f"mysql+pymysql://any:secret@127.0.0.1:{port}/shop")
with check("connect"):
    with engine.connect() as connection:
        same("shop", connection.execute(text("SELECT DATABASE()")).scalar())
with check("types"), Session(engine) as session:
    same(expected, [values(product) for product in session.scalars(of_brand())])
with check("pages"), Session(engine) as session:
    for number in range(3):
        products = session.scalars(of_brand().limit(4).offset(4 * number))
        same([row[:2] for row in page(number)], [values(product, ("id", "title")) for product in products])
    same(len(expected), session.scalar(select(func.count()).select_from(Product).where(Product.brand == "Ironwood")))
with check("groups"), Session(engine) as session:
    query = select(Product.brand, func.count(Product.id)).group_by(Product.brand).order_by(Product.brand)
    groups = [tuple(row) for row in session.execute(query)]
    same((12, True), (len(groups), ("Ironwood", len(expected)) in groups))
    query = select(func.max(Product.price), func.avg(Product.price)).where(Product.brand == "Ironwood")
    same(max(row[2] for row in expected), session.execute(query).one()[0])
with check("prepare"), Session(engine) as session:
    for row in expected:
        same(row, values(session.get(Product, row[0])))
    wanted = [row[0] for row in expected if row[3] > 3.1]
    query = select(Product.id).where(Product.brand == "Ironwood", Product.rating > 3.1).order_by(Product.id)
    same(wanted, list(session.scalars(query)))
with check("error"), Session(engine) as session:
    for statement, codes in ((text(f"SELECT nothing FROM {table}"), unknown_column), (select(Nothing), (1146,))):
        try:
            session.execute(statement)
        except DBAPIError as error:
            one_of(codes, error.orig.args[0])
            session.rollback()
        else:
            raise AssertionError(f"no error: {statement}")
    same(expected[0][1], session.get(Product, expected[0][0]).title)
with check("tables"):
    seen = inspect(engine)
    same(True, table in seen.get_table_names())
    same(True, seen.has_table(table))
    same(False, seen.has_table("nosuch"))
with check("change"), Session(engine) as session:
    names = ("id", "title", "price", "rating", "brand", "stock")
    product = Product(**dict(zip(names, added)))
    session.add(product)
    session.commit()
    same(added, values(product, names))
    product.price = 8
    session.commit()
    same(8, product.price)
    session.delete(product)
    session.commit()
    same(None, session.get(Product, added[0]))
with check("mirror"):
    def ask():
        with Session(engine) as session:
            same(expected, [values(product) for product in session.scalars(of_brand())])

    asks_while_a_mirror_ends(ask)
    engine.dispose()
    ask()
finish()
