#include "agent/dialect/fronts/elastic/translate.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "agent/dialect/request/document_ids.hpp"
#include "agent/dialect/request/parsed.hpp"
#include "agent/dialect/write/write_hits.hpp"
#include "agent/json/json_cursor.hpp"
#include "agent/json/json_line.hpp"
#include "agent/json/json_text.hpp"
#include "agent/transport/http/http_syntax.hpp"
#include "agent/transport/http/url_encoding.hpp"
#include "config/text/source_text.hpp"

namespace karmad {

namespace {

constexpr std::string_view kDecimals = "0123456789";

std::string json_quoted(std::string_view text) {
  std::string json;
  JsonLine(json).add_quoted(text);
  return json;
}

std::optional<std::string> count_text(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  const bool counts =
      !text.empty() && text.size() <= kMostDigits && text.find_first_not_of(kDecimals) == text.npos;
  if (!counts) return std::nullopt;
  return std::string(text.substr(std::min(text.find_first_not_of('0'), text.size() - 1)));
}

std::optional<std::string> query_string(std::string_view text) {
  return fmt::format(R"({{"query_string":{}}})", json_quoted(text));
}

/// `price:desc,id` as `[{"price":"desc"},"id"]`; a name without an order stays one.
std::optional<std::string> sort_keys(std::string_view keys) {
  std::string json = "[";
  while (!keys.empty()) {
    auto order = take_until(keys, ',');
    const auto name = take_until(order, ':');
    if (name.empty() || (!order.empty() && order != "asc" && order != "desc")) return std::nullopt;
    if (json.size() > 1) json += ',';
    json +=
        order.empty() ? json_quoted(name) : fmt::format(R"({{{}:"{}"}})", json_quoted(name), order);
  }
  return json + ']';
}

constexpr std::string_view kNoSource = R"({"excludes":["*"]})";

/// `true` and `false` are known to Elasticsearch only.
std::string_view own_source(std::string_view source) {
  return source == "true" ? "[]" : source == "false" ? kNoSource : source;
}

std::string name_list(std::string_view names) {
  std::string json = "[";
  while (!names.empty())
    json.append(json.size() == 1 ? "" : ",").append(json_quoted(take_until(names, ',')));
  return json + ']';
}

std::optional<std::string> source_names(std::string_view names) {
  if (names.empty()) return std::nullopt;
  if (names == "true" || names == "false") return std::string(own_source(names));
  return name_list(names);
}

std::optional<std::string> included(std::string_view names) {
  return fmt::format(R"({{"includes":{}}})", name_list(names));
}
std::optional<std::string> excluded(std::string_view names) {
  return fmt::format(R"({{"excludes":{}}})", name_list(names));
}

/// A parameter of the URL that is a member of a search in the engine's own JSON.
struct UrlParameter {
  std::string_view key;
  std::string_view name;   ///< of the member
  std::string_view alias;  ///< the other name that the body may have for it; empty: none
  std::optional<std::string> (*value)(std::string_view text);  ///< JSON; nothing: it is no value
};
constexpr UrlParameter kUrlParameters[] = {{"q", "query", {}, query_string},
                                           {"size", "limit", "size", count_text},
                                           {"from", "offset", "from", count_text},
                                           {"sort", "sort", {}, sort_keys},
                                           {"_source", "_source", {}, source_names},
                                           {"_source_includes", "_source", {}, included},
                                           {"_source_excludes", "_source", {}, excluded}};

struct UrlMember {
  const UrlParameter* parameter;
  std::string value;
};

/// The parameter `filter_path`; empty: there is none.
OrError<std::string> filter_path_in(std::string_view parameters) {
  std::string paths;
  while (auto parameter = take_parameter(parameters))
    if (parameter->name == "filter_path") paths = std::move(parameter->value);
  if (paths.starts_with('-') || paths.contains(",-"))
    return refused("filter_path names what an answer has; '-' before a path is not supported");
  return paths;
}

OrError<std::vector<UrlMember>> read_url_search(std::string_view parameters) {
  std::vector<UrlMember> members;
  while (!parameters.empty()) {
    auto given = take_until(parameters, '&');
    const auto key = url_decoded(take_until(given, '='));
    const auto text = url_decoded(given);
    if (key == "scroll")
      return refused(
          "the parameter 'scroll' is not supported; page with \"options\": {\"scroll\": true} in "
          "the body of /search");
    if (key == "source")
      return refused("the parameter 'source' is not supported; send the search in the body");
    const auto* const known = std::ranges::find(kUrlParameters, key, &UrlParameter::key);
    if (known == std::end(kUrlParameters)) continue;
    auto value = known->value(text);
    if (!value)
      return refused(
          "the parameter '{}={}' cannot be read; expected were q=text, size=10, from=20, "
          "sort=price:desc,id or _source=title,price",
          key, text.substr(0, 100));
    const auto same_name = [known](const UrlMember& each) {
      return each.parameter->name == known->name;
    };
    const auto other = std::ranges::find_if(members, same_name);
    if (other != members.end() &&
        (other->parameter == known || !is_object(other->value) || !is_object(*value)))
      return refused("the parameter '{}' is given twice", key);
    if (other != members.end())  // both lists of `_source`
      other->value.replace(other->value.size() - 1, 1, "," + value->substr(1));
    else
      members.push_back({known, *std::move(value)});
  }
  return members;
}

/// The JSON object that the body is; `{}` for an empty body. Nothing: the body is something else.
std::optional<std::string_view> elastic_object(std::string_view body) {
  if (body.find_first_not_of(kJsonSpace) == body.npos) return "{}";
  return whole_object(body);
}

/// `{"price":5}` and `{"price":{"value":5}}` as `{"price":5}`, if it is one number; a boolean is 1
/// or 0, which a server compares. Else nothing.
std::string exact_value(std::string_view term) {
  PassedMembers fields(term);
  const auto field = fields.next();
  if (!field || fields.next()) return {};
  auto value = field->value;
  if (is_object(value)) value = last_member(value, "value");
  if (value.empty() || is_string(value) || is_object(value) || is_array(value) || value == "null")
    return {};
  if (value == "true") value = "1";
  if (value == "false") value = "0";
  return fmt::format(R"({{"{}":{}}})", field->name, value);
}

/// `"in":{"price":[5,7]}` for `{"price":[5,7],"boost":1}`, if these are numbers and there is no
/// more in it. A server takes no fractions there: each is compared then. Else nothing.
std::string listed_numbers(std::string_view terms) {
  PassedMembers fields(terms);
  const auto field = fields.next();
  if (!field || !is_array(field->value)) return {};
  while (const auto other = fields.next())
    if (other->name != "boost") return {};
  bool fractions = false;
  std::string each;
  const bool whole = visit_elements(field->value, [&](std::string_view value) {
    if (is_string(value) || is_object(value) || is_array(value)) return false;
    fractions |= value.find_first_of(".eE") != value.npos && value != "true" && value != "false";
    each.append(each.empty() ? "" : ",");
    each.append(fmt::format(R"({{"equals":{{"{}":{}}}}})", field->name, value));
    return true;
  });
  if (!whole || each.empty()) return {};
  return fractions ? fmt::format(R"("bool":{{"should":[{}]}})", each)
                   : fmt::format(R"("in":{{"{}":{}}})", field->name, field->value);
}

/// The text with `brand` for `brand.keyword`, as Elasticsearch names the whole of a text: in the
/// value of each `field`, and, in a query, in names of members.
enum class KeywordNames : std::uint8_t { of_fields, of_members };
std::string without_keyword(std::string_view json, KeywordNames names) {
  constexpr std::string_view kSuffix = ".keyword";
  std::string out(json);
  const auto without_space = [](std::string_view text) {
    return text.substr(0, text.find_last_not_of(kJsonSpace) + 1);
  };
  for (std::size_t at = 0; (at = out.find(".keyword\"", at)) != out.npos; ++at) {
    const auto behind = out.find_first_not_of(kJsonSpace, at + kSuffix.size() + 1);
    const bool is_name = behind != out.npos && out[behind] == ':';
    auto before = without_space(std::string_view(out).substr(0, out.rfind('"', at)));
    const bool is_value = before.ends_with(':');
    if (is_value) before = without_space(before.substr(0, before.size() - 1));
    if (is_name ? names == KeywordNames::of_members : is_value && before.ends_with("\"field\""))
      out.erase(at, kSuffix.size());
  }
  return out;
}

/// The sort as a list of keys, each with a name that servers know, and `_score` best first.
std::string own_sort(std::string_view sort) {
  std::string out = "[";
  const auto add = [&out](std::string_view name, std::string_view how) {
    if (name.ends_with(".keyword")) name.remove_suffix(std::string_view(".keyword").size());
    if (name == "_doc") name = "id";
    if (name == "_score" && is_object(how) && last_member(how, "order").empty()) how = "\"desc\"";
    out.append(out.size() > 1 ? "," : "")
        .append(how.empty() ? fmt::format(R"("{}")", name)
                            : fmt::format(R"({{"{}":{}}})", name, how));
  };
  const auto add_item = [&](std::string_view item) {
    PassedMembers members(item);
    if (is_string(item)) add(without_quotes(item), {});
    if (!is_string(item) && !is_object(item)) out.append(out.size() > 1 ? "," : "").append(item);
    while (const auto key = members.next()) add(key->name, key->value);
  };
  if (is_array(sort))
    visit_elements(sort, add_item);
  else
    add_item(sort);
  return out + ']';
}

/// The query with the search server's own names for what has them: `term` and `terms` of numbers
/// are `equals` and `in`, and a `constant_score` is its filter. Of texts they stay: whether the
/// field is searched as words is known to the server only. They have room for the other name.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): a case per kind of query
std::string own_query(std::string_view query, unsigned depth = 0) {
  constexpr unsigned kDeepest = 20;
  if (!is_object(query) || depth == kDeepest) return std::string(query);
  if (const auto scored = last_member(query, "constant_score"); is_object(scored))
    if (const auto filter = last_member(scored, "filter"); is_object(filter))
      return own_query(filter, depth + 1);
  std::string out = "{";
  const auto add = [&](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", out.size() > 1 ? "," : "", name, value);
  };
  PassedMembers members(query);
  while (const auto member = members.next()) {
    const auto& [name, value] = *member;
    if (const auto exact = name == "term" ? exact_value(value) : std::string(); !exact.empty()) {
      add("equals", exact);
    } else if (const auto numbers = name == "terms" ? listed_numbers(value) : std::string();
               !numbers.empty()) {
      out.append(out.size() > 1 ? "," : "").append(numbers);
    } else if (is_word_query(name)) {
      add(name, fmt::format("  {}", value));
    } else if (is_array(value)) {  // of `bool`
      std::string all;
      visit_elements(value, [&](std::string_view element) {
        all.append(all.empty() ? "" : ",").append(own_query(element, depth + 1));
      });
      add(name, fmt::format("[{}]", all));
    } else if (name == "bool" || name == "must" || name == "should" || name == "must_not" ||
               name == "filter") {
      add(name, own_query(value, depth + 1));
    } else {
      add(name, value);
    }
  }
  return out += '}';
}

/// The search in `object`, of the path's table if it names one. Members of the URL take the place
/// of the body's. A count reads only the query.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): a case per kind of member
std::string search_body(const ClientRequest& request, std::string_view object,
                        std::span<const UrlMember> of_url, bool count) {
  std::string body = "{";
  const auto add = [&](std::string_view name, std::string_view value) {
    body.append(body.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(value);
  };
  const auto is_read = [count](std::string_view name) {
    return !count || name == "query" || name == "table" || name == "index";
  };
  if (!request.path_table.empty()) add("table", json_quoted(request.path_table));
  PassedMembers members(object);
  while (const auto member = members.next()) {
    const auto name = json_unescaped(member->name);
    const auto replaces = [&](const UrlMember& each) {
      return each.parameter->name == name || each.parameter->alias == name;
    };
    if (!is_read(name) || std::ranges::any_of(of_url, replaces)) continue;
    if (name == "query" || name == "knn")  // with a `filter`
      add(member->name, own_query(without_keyword(member->value, KeywordNames::of_members)));
    else if (name == "aggs" || name == "aggregations")
      add("aggs", without_keyword(member->value, KeywordNames::of_fields));
    else if (name == "sort")
      add(member->name, own_sort(member->value));
    else
      add(member->name, name == "_source" ? own_source(member->value) : member->value);
  }
  for (const auto& [parameter, value] : of_url)
    if (is_read(parameter->name))
      add(parameter->name, parameter->name == "sort" ? own_sort(value) : value);
  // Without the cutoff a server does not count on, because no row is asked for.
  if (count) {
    add("limit", "0");
    add("options", R"({"cutoff":0})");
  }
  return body += '}';
}

/// Members that change what Elasticsearch finds or shows, and that servers ignore.
constexpr std::string_view kIgnored[] = {
    "collapse", "docvalue_fields", "fields",           "min_score",    "pit",   "post_filter",
    "rescore",  "retriever",       "runtime_mappings", "search_after", "slice", "suggest"};
/// Members beside the `doc` of an update that change more than its values.
constexpr std::string_view kBesideDoc[] = {"doc_as_upsert", "script", "scripted_upsert", "upsert"};

/// The first member with one of these names that is neither empty nor off. Empty: none.
std::string_view member_in_use(std::string_view object, std::span<const std::string_view> names) {
  PassedMembers members(object);
  while (const auto member = members.next())
    if (std::ranges::find(names, member->name) != names.end() && !is_off(member->value) &&
        member->value != "[]" && member->value != "{}")
      return member->name;
  return {};
}

OrError<TranslatedRequest> translate_search(const ClientRequest& request, bool count) {
  const auto of_url = read_url_search(request.query);
  if (!of_url) return std::unexpected(of_url.error());
  auto filter_path = filter_path_in(request.query);
  if (!filter_path) return std::unexpected(std::move(filter_path.error()));
  const auto object = elastic_object(request.body);
  if (!object) return refused("the body is not a JSON object");
  const bool in_path = !request.path_table.empty();
  if (in_path && !(last_member(*object, "table").empty() && last_member(*object, "index").empty()))
    return refused(R"(the {} names the table; leave out "table" and "index")",
                   request.path_table_raw.empty() ? "line before the search" : "path");
  if (const auto name = count ? "" : member_in_use(*object, kIgnored); !name.empty())
    return refused("\"{}\" is not supported{}", name,
                   name == "search_after" ? R"(; page with "options": {"scroll": true})" : "");
  auto body = search_body(request, *object, *of_url, count);
  const bool hides_source = last_member(body, "_source") == kNoSource;
  return TranslatedRequest{.path = "/search",
                           .body = std::move(body),
                           .only_count = count,
                           .hides_source = hides_source,
                           .filter_path = *std::move(filter_path)};
}

/// Reads what the URL says of a change: whether `_doc` only makes documents. Refuses (400) what
/// would make the change depend on a version.
MaybeError read_url_change(std::string_view parameters, bool& creates) {
  while (const auto parameter = take_parameter(parameters)) {
    const auto& [name, value] = *parameter;
    if (name == "op_type") creates = value == "create";
    if (name == "if_seq_no" || name == "if_primary_term" || name == "version")
      return bad_request(
          "the parameter '{}' is not supported: servers keep no versions of documents", name);
  }
  return std::nullopt;
}

/// Makes `{"table":…,"id":…,"doc":…}`. An empty id is left out.
OrError<TranslatedRequest> translate_update(const ClientRequest& request, std::string_view action,
                                            std::string_view id) {
  constexpr std::size_t kMostDigits = 20;
  if (id.size() > kMostDigits || id.find_first_not_of(kDecimals) != id.npos)
    return refused("the id in the path must be a number: '{}'", id);
  bool creates = false;
  if (auto why = read_url_change(request.query, creates)) return std::unexpected(*std::move(why));
  auto body = fmt::format(R"({{"table":{})", json_quoted(request.path_table));
  if (!id.empty())
    body.append(R"(,"id":)").append(id, std::min(id.find_first_not_of('0'), id.size() - 1));
  if (request.method == "DELETE")
    return TranslatedRequest{.path = "/delete", .body = std::move(body += '}')};
  const auto object = elastic_object(request.body);
  if (!object) return refused("the body must be a JSON object with the document");
  if (!PassedMembers(*object).next()) return refused("the document in the body is empty");
  const bool patch = action == "_update";
  // Without `doc` the whole body of a patch has the changed values.
  const auto changed = patch ? last_member(*object, "doc") : std::string_view();
  if (is_object(changed))
    if (const auto name = member_in_use(*object, kBesideDoc); !name.empty())
      return refused(R"("{}" is not supported: an update only sets the values in "doc")", name);
  const auto values = body.size() + 1;
  body.append(R"(,"doc":)").append(is_object(changed) ? changed : *object).append("}");
  const bool replaces = action == "_doc" && !id.empty() && !creates;
  return TranslatedRequest{.path = patch      ? "/update"
                                   : replaces ? "/replace"
                                              : "/insert",
                           .body = std::move(body),
                           .changed_values = patch ? values : 0};
}

/// The lines of a body that has several requests.
struct BodyLines {
  std::string_view rest;
  std::uint32_t number = 0;  ///< of the line that was taken last, from 1

  /// Takes the next line, without its end; nothing at the end of the body.
  std::optional<std::string_view> next() {
    if (rest.empty()) return std::nullopt;
    ++number;
    return take_until(rest, '\n');
  }
  /// The next line that is not blank; empty at the end of the body.
  std::string_view next_filled() {
    while (const auto line = next())
      if (line->find_first_not_of(kJsonSpace) != line->npos) return *line;
    return {};
  }
};

std::string shown(std::string_view text) {
  return clean_utf8(shortened_utf8(text));
}

/// The line with an action; errors follow the words "line 3".
struct BulkHeader {
  std::string action;
  std::string table;
  std::string id;  ///< digits; empty: the engine chooses it
};

std::optional<std::string> take_bulk_id(std::string_view value, std::string& id) {
  id = is_string(value) ? json_unescaped(without_quotes(value)) : std::string(value);
  const bool digits = !id.empty() && id.find_first_not_of(kDecimals) == id.npos;
  if (digits && (id.size() == 1 || id.front() != '0') && DocumentId::of_number(id))
    return std::nullopt;
  return fmt::format("has the _id {}; it must be a whole number of 64 bits", shown(value));
}

std::optional<std::string> take_bulk_member(std::string_view key, std::string_view value,
                                            BulkHeader& header) {
  if (json_says(key, "_index")) {
    if (!header.table.empty()) return "gives \"_index\" twice";
    if (is_string(value)) header.table = json_unescaped(without_quotes(value));
    if (header.table.empty()) return "has an _index that is no name";
    return std::nullopt;
  }
  if (json_says(key, "_id")) {
    if (!header.id.empty()) return "gives \"_id\" twice";
    return take_bulk_id(value, header.id);
  }
  if (json_says(key, "_type")) return std::nullopt;
  return fmt::format("holds \"{}\", which is none of _index, _id and _type", shown(key));
}

std::expected<BulkHeader, std::string> read_bulk_header(std::string_view line) {
  const auto object = whole_object(line);
  if (!object) return std::unexpected("is not a JSON object with an action");
  PassedMembers members(*object);
  const auto action = members.next();
  if (!action || members.next() || !is_object(action->value))
    return std::unexpected("must hold one action, like {\"index\":{\"_index\":\"name\"}}");
  BulkHeader header{.action = json_unescaped(action->name)};
  constexpr std::string_view kActions[] = {"index", "create", "update", "delete"};
  if (std::ranges::find(kActions, header.action) == std::end(kActions))
    return std::unexpected(fmt::format(
        "holds \"{}\", which is none of index, create, update and delete", shown(header.action)));
  PassedMembers inner(action->value);
  while (const auto member = inner.next())
    if (auto mistake = take_bulk_member(member->name, member->value, header))
      return std::unexpected(*std::move(mistake));
  if (header.id.empty() && (header.action == "update" || header.action == "delete"))
    return std::unexpected(fmt::format("needs an _id for {}", header.action));
  return header;
}

/// The document in the line behind an action.
std::expected<std::string_view, std::string> bulk_document(std::string_view action,
                                                           std::string_view line) {
  const auto object = whole_object(line);
  if (!object)
    return std::unexpected(
        fmt::format("must be the document of the {} before it, a JSON object", action));
  if (action != "update") return *object;
  PassedMembers members(*object);
  const auto doc = members.next();
  if (!doc || members.next() || !json_says(doc->name, "doc") || !is_object(doc->value))
    return std::unexpected(
        "must hold only \"doc\" with the changed values; scripts and upserts are not supported");
  return doc->value;
}

void append_engine_line(std::string& out, const BulkHeader& header, std::string_view document) {
  const auto& action = header.action;
  JsonLine line(out);
  line.add(R"({")",
           action == "update" || action == "delete"  ? std::string_view(action)
           : action == "index" && !header.id.empty() ? "replace"
                                                     : "insert",
           R"(":{"table":)", Quoted(header.table));
  if (!header.id.empty()) line.add(R"(,"id":)", header.id);
  if (!document.empty()) line.add(R"(,"doc":)", document);
  line.add("}}\n");
}

OrError<TranslatedRequest> translate_bulk(const ClientRequest& request) {
  auto filter_path = filter_path_in(request.query);
  if (!filter_path) return std::unexpected(std::move(filter_path.error()));
  TranslatedRequest bulk{.path = "/bulk", .filter_path = *std::move(filter_path)};
  std::string table;
  BodyLines lines{request.body};
  const auto mistake = [&lines](std::string_view text) {
    return refused("line {} {}", lines.number, text);
  };
  for (auto line = lines.next_filled(); !line.empty(); line = lines.next_filled()) {
    bulk.numbers.push_back(lines.number);
    auto header = read_bulk_header(line);
    if (!header) return mistake(header.error());
    if (header->table.empty()) header->table = request.path_table;
    if (header->table.empty()) return mistake("names no table; give its name in \"_index\"");
    if (table.empty()) table = header->table;
    if (!wire::same_word(table, header->table))
      return mistake(
          fmt::format("names table \"{}\", the lines before it \"{}\"; all must name the same",
                      shown(header->table), shown(table)));
    std::string_view document;
    if (header->action != "delete") {
      const auto next = lines.next();
      if (!next)
        return mistake(
            fmt::format("has no line with a document behind it, which {} needs", header->action));
      const auto found = bulk_document(header->action, *next);
      if (!found) return mistake(found.error());
      document = *found;
    }
    append_engine_line(bulk.body, *header, document);
    bulk.actions.push_back(std::move(header->action));
  }
  if (bulk.numbers.empty())
    return refused(
        "the body is empty; a _bulk has pairs of lines, like "
        "{\"index\":{\"_index\":\"name\",\"_id\":\"1\"}} and a document");
  return bulk;
}

std::unexpected<ClientError> no_multi_search(std::size_t line, std::string_view reason) {
  return refused(R"(line {}: {}; a _msearch has pairs of lines, {{"index":"table"}} and a search)",
                 line, reason);
}

/// The names in `"index"`: a string, or an array of strings. Nothing: it is neither.
std::optional<std::string> names_in(std::string_view value) {
  if (is_string(value)) return json_unescaped(without_quotes(value));
  std::string names;
  const bool whole =
      is_array(value) && visit_elements(value, [&](std::string_view name) {
        if (!is_string(name)) return false;
        names.append(names.empty() ? "" : ",").append(json_unescaped(without_quotes(name)));
        return true;
      });
  return whole && !names.empty() ? std::optional(std::move(names)) : std::nullopt;
}

/// The tables of a header; `otherwise` if it names none. Nothing: it is malformed, or a search: the
/// header before it was blank.
std::optional<std::string> tables_of(std::string_view header, std::string_view otherwise) {
  std::optional<std::string> tables(otherwise);
  JsonCursor json(header);
  const bool whole = visit_members(json, [&](std::string_view key, std::string_view value) {
    if (key == "index" || key == "table") tables = names_in(value);
    if (key == "query") tables.reset();
    return tables.has_value();
  });
  skip_space(json);
  if (!whole || !json.done()) return std::nullopt;
  return tables;
}

}  // namespace

OrError<TranslatedRequest> translate_elastic(const ClientRequest& request) {
  // What follows the table, or the whole path if it names none: `/_search`.
  auto path = request.path;
  if (!request.path_table_raw.empty()) path.remove_prefix(request.path_table_raw.size() + 1);
  path.remove_prefix(std::min<std::size_t>(1, path.size()));
  const auto action = take_until(path, '/');
  if (action == "_bulk") return translate_bulk(request);
  if (action == "_search" || action == "_count")
    return translate_search(request, action == "_count");
  return translate_update(request, action, path);
}

ClientError at_clients_line(ClientError error, const TranslatedRequest& bulk) {
  constexpr std::string_view kLine = "line ";
  std::size_t line = 0;
  if (!error.reason.starts_with(kLine)) return error;
  const auto* const begin = error.reason.data() + kLine.size();
  const auto read = std::from_chars(begin, error.reason.data() + error.reason.size(), line);
  if (line == 0 || line > bulk.numbers.size()) return error;
  const std::string_view what = read.ptr;
  // What has an offset, which is that of the translated line, is in the document behind the action.
  const auto place = std::min(what.find(" at offset"), what.find(" At offset"));
  const auto number = bulk.numbers[line - 1] + (place < what.size() ? 1 : 0);
  return {error.status, fmt::format("line {}{}", number, what.substr(0, place))};
}

OrError<std::vector<RequestPart>> read_multi_search(const ClientRequest& request) {
  if (auto filter = filter_path_in(request.query); !filter)
    return std::unexpected(std::move(filter.error()));
  const std::string_view everywhere = "_all";
  const auto otherwise = request.path_table.empty() ? everywhere : request.path_table;
  std::vector<RequestPart> searches;
  BodyLines lines{request.body};
  for (auto header = lines.next_filled(); !header.empty(); header = lines.next_filled()) {
    if (searches.size() == kMostSearches)
      return no_multi_search(lines.number, fmt::format("more than {} searches", kMostSearches));
    auto tables = tables_of(header, otherwise);
    if (!tables)
      return no_multi_search(
          lines.number,
          "no header: an object without a query, whose \"index\" is a name or a list of names");
    const auto body = lines.next_filled();
    if (body.empty())
      return no_multi_search(lines.number, "the search behind this line is missing");
    searches.push_back({.path = "/_search", .tables = *std::move(tables), .body = body});
  }
  if (searches.empty()) return no_multi_search(1, "the body is empty");
  return searches;
}

void append_responses(std::string& to, const ClientRequest& request,
                      std::span<const PartAnswer> answers, Micros took) {
  const auto filter_path = filter_path_in(request.query).value_or("");
  std::string whole;
  {
    JsonLine out(filter_path.empty() ? to : whole);
    out.add(R"({"took":)", std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
            R"(,"responses":[)");
    for (const auto& answer : answers) {
      if (&answer != &answers.front()) out.add(',');
      // Answers to searches have a status, and so have errors that karmad wrote.
      auto object = whole_object(answer.body);
      if (object && !PassedMembers(*object).next()) object.reset();
      if (object && (answer.status == 200 || !last_member(*object, "status").empty())) {
        out.add(*object);
      } else {
        out.add(object ? object->substr(0, object->size() - 1) : R"({"error":"no answer")",
                R"(,"status":)", answer.status, '}');
      }
    }
    out.add("]}");
  }
  if (!filter_path.empty()) append_filtered(to, whole, filter_path);
}

}  // namespace karmad
