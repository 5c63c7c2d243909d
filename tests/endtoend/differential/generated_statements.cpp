#include "tests/endtoend/differential/generated_statements.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace karmad::test {
namespace {

using Form = GeneratedStatement::Form;

constexpr std::string_view kKindNames[] = {
    "columns",         "all columns",    "expressions",  "conditions",
    "MATCH",           "several keys",   "a hidden key", "a JSON key",
    "an expression",   "distance",       "pages",        "max_matches",
    "default order",   "nearest",        "groups",       "several groups",
    "JSON groups",     "groups of MVA",  "aggregates",   "one group",
    "COUNT(DISTINCT)", "GROUP_CONCAT",   "HAVING",       "WITHIN GROUP",
    "GROUP n BY",      "values counted", "extremes",     "same names",
    "facets",          "facet options",  "HIGHLIGHT",    "without FROM",
    "scripts",         "SHOW META",      "SHOW",         "CALL",
    "mistakes"};

constexpr std::string_view kWord[] = {"lamp",    "chair",  "table",   "kettle", "oak",
                                      "steel",   "small",  "blue",    "café",   "zinc",
                                      "nowhere", "garden", "kitchen", "keeps",  "the"};
constexpr std::string_view kColumn[] = {"title", "price",      "rating",     "brand", "tags",
                                        "meta",  "meta.color", "ts",         "stock", "seller",
                                        "lat",   "meta.n",     "meta.size.w"};
constexpr std::string_view kExpression[] = {"price*2+1 AS e1",
                                            "price/7 AS e2",
                                            "(price-10)*rating AS e3",
                                            "price%7 AS e4",
                                            "price>100 AND rating<3 AS e5",
                                            "NOT price>100 AS e6",
                                            "ABS(price-200) AS e7",
                                            "FLOOR(rating) AS e8",
                                            "CEIL(rating*1.5) AS e9",
                                            "IF(price>100,1,0) AS e10",
                                            "IN(price,19,49,99) AS e11",
                                            "INTERVAL(price,10,50,100,250) AS e12",
                                            "LENGTH(tags) AS e13",
                                            "GREATEST(tags) AS e14",
                                            "LEAST(price,100) AS e15",
                                            "BIGINT(price)*1000000000 AS e16",
                                            "DOUBLE(rating)/3 AS e17",
                                            "TO_STRING(price) AS e18",
                                            "INTEGER(meta.n)+1 AS e19",
                                            "YEAR(ts) AS e20",
                                            "MONTH(ts) AS e21",
                                            "WEIGHT() AS e22",
                                            "CRC32(brand) AS e23",
                                            "IN(meta.color,'red','blue') AS e24",
                                            "GEODIST(lat,lon,52.5,13.4,{in=degrees,out=km}) AS e25",
                                            "price+1",
                                            "SNIPPET(title,'lamp') AS e26"};
constexpr std::string_view kSortColumn[] = {"price",  "rating", "brand", "ts",      "stock",
                                            "seller", "title",  "id",    "WEIGHT()"};
constexpr std::string_view kJsonKey[] = {"meta.n",      "meta.color",  "meta.s",       "meta.flag",
                                         "meta.size.w", "meta.size.h", "meta['color']"};
constexpr std::string_view kGroup[] = {"brand", "rating", "seller", "price", "ts"};
/// Sellers differ in capitals only, weights in digits that are not shown.
constexpr std::string_view kCounted[] = {"seller", "weight", "brand", "rating", "meta.color"};
constexpr std::string_view kAggregate[] = {
    "COUNT(*) AS n",    "SUM(price) AS sp",  "MIN(price) AS lp",    "MAX(rating) AS hr",
    "AVG(price) AS ap", "AVG(rating) AS ar", "SUM(rating) AS sr",   "MIN(ts) AS lt",
    "MAX(stock) AS hs", "COUNT(*)",          "SUM(price*2) AS sp2", "MIN(stock) AS ls"};
constexpr std::string_view kFacet[] = {
    "brand",  "seller",     "rating",        "price",  "tags",
    "meta.n", "meta.color", "price AS cost", "meta.s", "INTERVAL(price,50,100,200) AS band"};
constexpr std::string_view kShow[] = {
    "SHOW CREATE TABLE $T", "SHOW TABLE $T STATUS", "SHOW TABLE $T SETTINGS", "SHOW VARIABLES",
    "SHOW WARNINGS",        "SET autocommit=1",     "SET NAMES utf8"};
constexpr std::string_view kCall[] = {"CALL KEYWORDS('small lamp','$T')",
                                      "CALL KEYWORDS('oak table nowhere','$T',1)",
                                      "CALL SNIPPETS('a small lamp of oak','$T','lamp')",
                                      "CALL SNIPPETS(('a lamp','the oak'),'$T','oak lamp')",
                                      "CALL SUGGEST('lamb','$T',100 AS limit)",
                                      "CALL QSUGGEST('small kettl','$T',100 AS limit)"};
constexpr std::string_view kMistake[] = {"SELECT nothing FROM $T",
                                         "SELECT id FROM $T WHERE nothing=1",
                                         "SELECT id FROM $T WHERE MATCH('\"open')",
                                         "SELECT id FROM $T ORDER BY tags ASC",
                                         "SELECT COUNT(*) FROM $T ORDER BY nothing ASC",
                                         "SELECT COUNT(*) FROM $T ORDER BY rand()",
                                         "SELECT id FROM $T WHERE",
                                         "SELECT id FROM $T LIMIT",
                                         "SELEC id FROM $T",
                                         "SELECT id FROM $T WHERE price !",
                                         "SELECT id, FROM $T",
                                         "SELECT id FROM $T GROUP price",
                                         "SELECT id FROM nowhere",
                                         "SELECT ((((id FROM $T"};

}  // namespace

std::string_view name_of(StatementKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::string GeneratedStatement::with_table(std::string_view table) const {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "$T") == 0) {
      out += table;
      at += 2;
    } else {
      out += text[at++];
    }
  }
  return out;
}

template <class List>
std::string StatementGenerator::some(const List& list, std::size_t most) {
  std::vector<std::string> out;
  for (auto count = 1 + below(most); count > 0; --count)
    if (auto one = pick(list); std::ranges::find(out, one) == out.end())
      out.push_back(std::move(one));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string StatementGenerator::match() {
  switch (below(5)) {
    case 0:
      return fmt::format("MATCH('{} {}')", pick(kWord), pick(kWord));
    case 1:
      return fmt::format("MATCH('{} | {}')", pick(kWord), pick(kWord));
    case 2:
      return fmt::format("MATCH('@title {}')", pick(kWord));
    case 3:
      return fmt::format("MATCH('{} -{}')", pick(kWord), pick(kWord));
    default:
      return fmt::format("MATCH('{}')", pick(kWord));
  }
}

std::string StatementGenerator::condition() {
  switch (below(13)) {
    case 0:
      return fmt::format("price>{}", below(300));
    case 1:
      return fmt::format("price BETWEEN {} AND {}", below(100), 100 + below(300));
    case 2:
      return fmt::format("price IN (19,49,{})", below(500));
    case 3:
      return "brand='aurora'";
    case 4:
      return fmt::format("ANY(tags)={}", 1 + below(12));
    case 5:
      return fmt::format("ALL(tags)>{}", below(6));
    case 6:
      return "meta.color='red'";
    case 7:
      return fmt::format("meta.n<={}", below(10));
    case 8:
      return fmt::format("(rating>={}.5 OR price<{})", 1 + below(4), below(80));
    case 9:
      return fmt::format("id NOT IN ({},{})", 1 + below(1000), 1 + below(1000));
    case 10:
      return "brand NOT IN ('lumen','Kestrel')";
    case 11:
      return fmt::format("ANY(tags) IN ({},{})", 1 + below(12), 1 + below(12));
    default:
      return fmt::format("NOT price<{}", below(200));
  }
}

std::string StatementGenerator::few() {
  switch (below(4)) {
    case 0:
      return fmt::format("id={}", 1 + below(1000));
    case 1:
      return fmt::format("id IN ({},{},{})", 1 + below(900), 1 + below(900), 1 + below(900));
    case 2:
      return fmt::format("price={} AND ANY(tags)={}", 20 + below(300), 1 + below(12));
    default:
      return fmt::format("id<{} AND MATCH('{}')", 5 + below(60), pick(kWord));
  }
}

std::string StatementGenerator::where(bool always) {
  if (!always && one_in(3)) return {};
  if (one_in(4)) return " WHERE " + few();
  auto out = one_in(3) ? match() : condition();
  if (one_in(2)) out += " AND " + condition();
  return " WHERE " + out;
}

std::string StatementGenerator::limit() {
  switch (below(5)) {
    case 0:
      return {};
    case 1:
      return fmt::format(" LIMIT {},{}", below(60), 1 + below(30));
    case 2:
      return fmt::format(" LIMIT {} OFFSET {}", 1 + below(30), below(60));
    default:
      return fmt::format(" LIMIT {}", 1 + below(40));
  }
}

std::string StatementGenerator::aggregates() {
  return some(kAggregate, 4);
}

std::string StatementGenerator::facet(bool options) {
  auto item = pick(kFacet);
  if (!options) return " FACET " + item + " LIMIT 1000";
  switch (below(6)) {
    case 0:
      return " FACET " + item + " ORDER BY COUNT(*) DESC LIMIT 5";
    case 1:
      return " FACET " + item + " ORDER BY FACET() ASC LIMIT 7";
    case 2:
      return " FACET brand DISTINCT seller ORDER BY brand ASC LIMIT 1000";
    case 3:
      return " FACET price BY brand ORDER BY COUNT(*) DESC LIMIT 1000";
    case 4:
      return " FACET brand, rating ORDER BY brand ASC, rating DESC LIMIT 3,20";
    default:
      return " FACET " + item + " LIMIT 2,6";
  }
}

std::string StatementGenerator::documents(StatementKind kind) {
  auto list = "id, " + some(kColumn, 4);
  std::string order;
  auto page = limit();
  auto filter = where(kind == StatementKind::conditions);
  std::string behind;
  const auto by = [&](const std::string& key) { order = " ORDER BY " + key + direction(); };
  if (kind == StatementKind::all_columns) list = one_in(2) ? "*" : "*, price*2 AS twice";
  if (kind == StatementKind::expressions) list = "id, " + some(kExpression, 5);
  if (kind == StatementKind::match) filter = " WHERE " + match() + " AND " + condition();
  if (kind == StatementKind::match) list = "id, WEIGHT() AS w";
  if (kind == StatementKind::columns) by("id");
  if (kind == StatementKind::columns && one_in(4)) list += ", id, meta.s AS s, meta.size";
  if (kind == StatementKind::all_columns || kind == StatementKind::expressions)
    by(pick(kSortColumn));
  if (kind == StatementKind::several_keys)
    order = fmt::format(" ORDER BY {}{}, {}{}, id{}", pick(kGroup), direction(), pick(kJsonKey),
                        direction(), direction());
  if (kind == StatementKind::hidden_key) {
    list = "title";
    by(pick(kSortColumn));
  }
  if (kind == StatementKind::json_key) by(pick(kJsonKey));
  if (kind == StatementKind::expression_key) {
    list = fmt::format("id, (price-{})*rating AS e, price+e AS f", below(200));
    filter = one_in(2) ? fmt::format(" WHERE e>{}", below(300)) : filter;
    by(one_in(2) ? "e" : "f");
  }
  if (kind == StatementKind::distance) {
    list = fmt::format("id, GEODIST(lat,lon,{},{}.25,{{in=degrees,out={}}}) AS d", 40 + below(15),
                       below(15), one_in(2) ? "km" : "m");
    filter = one_in(2) ? " WHERE d<900000" : "";
    by("d");
  }
  if (kind == StatementKind::pages) page = fmt::format(" LIMIT {},{}", below(1000), below(25));
  if (kind == StatementKind::max_matches) {
    const auto most = 1 + below(40);
    behind = fmt::format(" OPTION max_matches={}", most);
    if (one_in(2)) behind += ", ranker=bm25";
    page = fmt::format(" LIMIT {},{}", below(most), 1 + below(most));
    by(pick(kSortColumn));
  }
  if (kind == StatementKind::nearest) {
    list = "id, price, KNN_DIST() AS d";
    const auto position = 1 + below(800);  // every sixteenth id is a large one
    const auto of = one_in(2)
                        ? fmt::format("(0.{},-0.{},0.5,0.{})", below(10), below(10), below(10))
                        : fmt::to_string(position % 16 == 0 ? position + (1ULL << 53) : position);
    filter = fmt::format(" WHERE KNN(embedding, {}, {})", 1 + below(40), of);
    if (one_in(2)) filter += " AND " + condition();
    if (one_in(2)) by(pick(kSortColumn));
    if (one_in(4)) by("d");
    if (one_in(6)) by("knn_dist()");
  }
  if (kind == StatementKind::facets || kind == StatementKind::facet_options) {
    by(pick(kSortColumn));
    for (auto more = 1 + below(3); more > 0; --more)
      behind += facet(kind == StatementKind::facet_options);
  }
  if (kind == StatementKind::highlight) {
    list = "id, HIGHLIGHT() AS marked, SNIPPET(body,'oak') AS cut";
    filter = " WHERE " + match();
  }
  return "SELECT " + list + " FROM $T" + filter + order + page + behind;
}

/// Groups that merging has to look at more closely.
std::string StatementGenerator::closer(StatementKind kind) {
  if (kind == StatementKind::values_counted) {
    switch (below(5)) {
      case 0:
        return "SELECT COUNT(DISTINCT tags) AS d FROM $T" + where();
      case 1:
        return "SELECT COUNT(DISTINCT brand) AS d, AVG(price) FROM $T WHERE id=99999999";
      case 2:
        return "SELECT brand, COUNT(DISTINCT tags) AS d FROM $T" + where() +
               " GROUP BY brand ORDER BY " + (one_in(2) ? "d DESC" : "brand ASC") + limit();
      case 3:
        return "SELECT id FROM $T" + where() + " LIMIT 0 FACET tags DISTINCT " + pick(kGroup) +
               " ORDER BY " + (one_in(2) ? "FACET() ASC" : "COUNT(*) DESC") + limit();
      default:
        return "SELECT GROUPBY() AS g, COUNT(*) AS n, COUNT(DISTINCT " +
               std::string(one_in(3) ? "tags" : pick(kGroup)) + ") AS d FROM $T" + where() +
               " GROUP BY tags ORDER BY " + (one_in(2) ? "n DESC" : "g ASC") + limit();
    }
  }
  if (kind == StatementKind::extremes) {
    if (one_in(3)) return "SELECT MAX(title), MIN(title), MIN(meta) FROM $T" + where();
    return "SELECT brand, MAX(title) AS hi, MIN(seller) AS lo FROM $T" + where() +
           " GROUP BY brand ORDER BY " + (one_in(2) ? "hi DESC" : "brand ASC") + limit();
  }
  if (one_in(4)) return "SELECT AVG(price) AS price, COUNT(DISTINCT brand) AS brand FROM $T";
  const bool by_price = one_in(2);
  return std::string("SELECT brand, ") +
         (by_price ? "AVG(price) AS price, COUNT(*) AS n" : "AVG(rating) AS a, SUM(price) rating") +
         " FROM $T" + (one_in(2) ? " WHERE " + match() : "") + " GROUP BY brand" +
         (by_price && one_in(2) ? fmt::format(" HAVING price>{}", 100 + below(80)) : "") +
         " ORDER BY " + (by_price ? "price" : "rating") + direction() + limit();
}

std::string StatementGenerator::groups(StatementKind kind) {
  if (kind == StatementKind::values_counted || kind == StatementKind::extremes ||
      kind == StatementKind::same_names)
    return closer(kind);
  auto key = pick(kGroup);
  std::string of = " GROUP BY ";
  std::string columns = "COUNT(*) AS n";
  std::string within;
  std::string having;
  std::string order = one_in(2) ? " ORDER BY n DESC" : "";
  auto page = limit();
  if (kind == StatementKind::several_groups)
    key = one_in(2) ? "brand, rating" : "seller, meta.color, brand";
  if (kind == StatementKind::json_groups) key = pick(kJsonKey);
  if (kind == StatementKind::groups_of_values) {
    key = "tags";
    columns = "GROUPBY() AS tag, COUNT(*) AS n";
  }
  if (kind == StatementKind::aggregates) columns = "COUNT(*) AS n, " + aggregates();
  if (kind == StatementKind::one_group)
    return "SELECT COUNT(*) AS n, " + aggregates() + " FROM $T" + where();
  if (kind == StatementKind::distinct) {
    if (one_in(2))
      return "SELECT COUNT(DISTINCT " + pick(kCounted) + ") AS d, COUNT(*) FROM $T" + where();
    key = pick(kGroup);
    columns = "COUNT(DISTINCT " + pick(kCounted) + ") AS d, COUNT(*) AS n";
    order = " ORDER BY " + key + direction();
  }
  if (kind == StatementKind::concat) columns = "COUNT(*) AS n, GROUP_CONCAT(id) AS ids";
  if (kind == StatementKind::having) having = fmt::format(" HAVING n>{}", 1 + below(60));
  if (kind == StatementKind::having && one_in(2)) having = " HAVING COUNT(*)<100";
  if (kind == StatementKind::within_group)
    within = fmt::format(" WITHIN GROUP ORDER BY {}{}, id{}", one_in(2) ? "price" : "rating",
                         direction(), direction());
  if (kind == StatementKind::rows_of_groups) {
    of = fmt::format(" GROUP {} BY ", 2 + below(3));
    key = one_in(2) ? "brand" : "rating";
    within = one_in(2) ? " WITHIN GROUP ORDER BY price DESC" : "";
    columns = "id, COUNT(*) AS n";
    order = " ORDER BY " + key + " ASC";
  }
  // A list of values, and the spelling of equal strings, are those of any document of the group.
  const auto shown = kind == StatementKind::groups_of_values ? std::string("COUNT(*)")
                     : key.find('[') == std::string::npos    ? key
                                                             : std::string("meta.color");
  if (kind == StatementKind::groups && one_in(2)) columns = "id, price, " + columns;
  auto behind =
      one_in(4) && kind != StatementKind::distinct ? std::string(" OPTION max_matches=2000") : "";
  return "SELECT " + shown + ", " + columns + " FROM $T" + where() + of + key + within + having +
         order + page + behind;
}

std::string StatementGenerator::others(StatementKind kind) {
  if (kind == StatementKind::without_table)
    return one_in(2) ? "SELECT 1+1, 7/2, 'x' AS x" : "SELECT ABS(-3) AS a, 2*3";
  if (kind == StatementKind::script)
    return documents(StatementKind::columns) + "; " + groups(StatementKind::aggregates) +
           "; SHOW WARNINGS";
  if (kind == StatementKind::meta)
    return (one_in(2) ? documents(StatementKind::match) : groups(StatementKind::groups)) +
           "; SHOW META";
  if (kind == StatementKind::show) return pick(kShow);
  if (kind == StatementKind::call) return pick(kCall);
  return pick(kMistake);
}

GeneratedStatement StatementGenerator::next() {
  GeneratedStatement out;
  out.kind = static_cast<StatementKind>(drawn_++ % static_cast<std::size_t>(StatementKind::count));
  if (out.kind < StatementKind::groups || out.kind == StatementKind::facets ||
      out.kind == StatementKind::facet_options || out.kind == StatementKind::highlight) {
    out.text = documents(out.kind);
  } else if (out.kind < StatementKind::facets) {
    out.text = groups(out.kind);
  } else {
    out.text = others(out.kind);
  }
  constexpr Form kForms[] = {Form::raw, Form::cli_json, Form::raw_form, Form::cli, Form::hits};
  const bool several =
      out.kind >= StatementKind::without_table && out.kind != StatementKind::mistake;
  out.form = kForms[below(several ? 4 : 5)];
  return out;
}

}  // namespace karmad::test
