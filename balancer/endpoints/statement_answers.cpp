#include "balancer/endpoints/handlers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/dialect/replies/raw_replies.hpp"
#include "agent/json/json_cursor.hpp"
#include "balancer/core/ask_workers.hpp"
#include "balancer/core/long_work.hpp"
#include "balancer/schema/schema.hpp"
#include "balancer/status/rows/agent_status.hpp"
#include "balancer/status/snapshot.hpp"
#include "config/text/source_text.hpp"

namespace karmad {
namespace {

bool hides_status(const Query& query) {
  return query.topology->settings.status_on_query_port.value != StatusOnQueryPort::yes;
}

Answer hidden_status(Query& query) {
  return bad_request(
      query, 403, "statements about karmad are kept to the admin listeners (status_on_query_port)");
}

/// The answer to a statement about karmad itself.
Task<Answer> status_statement(Query& query, const ServedPath& served,
                              const sql::StatusStatement& statement) {
  if (query.client.on_admin_port) {
    if (auto refused = refuse_reader(query)) return completed_task(*std::move(refused));
  } else if (hides_status(query)) {
    return completed_task(hidden_status(query));
  }
  return statement_answer(query, served, statement);
}

/// KILL of an operator; clients of MySQL have theirs.
Task<Answer> answer_kill(Query& query, const ServedPath& served, sql::SessionStatement statement) {
  if (auto refused = refuse_operator(query)) co_return *std::move(refused);
  query.waited = true;
  const auto outcome = co_await kill_connection(
      query.worker,
      {.connection = statement.connection, .statement_only = statement.statement_only},
      query.resources.deadline);
  if (!outcome) co_return refusal(504, "the search for the connection took too long");
  if (*outcome == KillOutcome::unknown)
    co_return bad_request(query, 404, fmt::format("unknown connection {}", statement.connection));
  co_return rows_answer(query, served, ResultSet());
}

/// Answers the one statement of `query.request`.
Task<Answer> answer_one(Query& query, const ServedPath& served, Scatter scatter) {
  const auto& statement = *query.request.statement;
  const bool of_mirrors = statement.is_of_mirrors();
  const bool of_schema = statement.kind == sql::StatementKind::schema;
  if (query.client.on_admin_port && of_mirrors) return completed_task(no_queries_here(query));
  if (of_schema) return answer_schema(query, served, scatter);
  if (of_mirrors) {
    query.client.meta = nullptr;
    // Only a SELECT: SHOW META may ask it again.
    if (statement.kind == sql::StatementKind::select)
      return answer_select(query, served, scatter, statement.text);
    return answer_query(query, served, scatter);
  }
  auto read = sql::read_statement(statement.text, statement.kind);
  if (!read) return completed_task(bad_request(query, read.error().status, read.error().reason));
  if (const auto* ours = std::get_if<sql::StatusStatement>(&*read))
    return status_statement(query, served, *ours);
  auto session = std::get<sql::SessionStatement>(*std::move(read));
  if (session.is == sql::SessionStatement::Is::kill)
    return answer_kill(query, served, std::move(session));
  if (query.client.on_admin_port) return completed_task(no_queries_here(query));
  return answer_session(query, served, scatter, std::move(session));
}

/// Adds an answer to those before it: an array to an array, or a table to tables.
bool append_answer(std::string& out, std::string_view body, Statements form) {
  if (form == Statements::as_text) {
    out.append(out.empty() ? "" : "\n").append(body);
    return true;
  }
  const auto begin = body.find_first_not_of(kJsonSpace);
  const auto end = body.find_last_not_of(kJsonSpace);
  if (begin == body.npos || body[begin] != '[' || body[end] != ']') return false;
  if (out.empty())
    out += '[';
  else
    out.replace(out.size() - 1, 1, ",\n");
  out.append(body.substr(begin + 1, end - begin));
  return true;
}

/// Answers several statements.
Task<Answer> answer_script(Query& query, const ServedPath& served, Scatter scatter,
                           std::shared_ptr<const sql::StatementList> list) {
  Answer whole;
  for (const auto& statement : list->statements) {
    set_statement(query, statement);
    query.record.part_began = Loop::now();
    query.forget_new_plan();
    auto answer = co_await answer_one(query, served, scatter);
    if (query.client.left || query.resources.memory_denied() || answer.status != 200)
      co_return answer;
    query.count_answer(answer.status, Loop::now());
    if (!append_answer(whole.body, answer.content(), served.endpoint.statements)) co_return answer;
    whole.content_type = answer.content_type;
    whole.memory.charge(query.resources.memory, whole.body.capacity());
    query.worker.loop.buffers.give(std::move(answer.body));
  }
  co_return whole;
}

Task<Answer> answer_list(Query& query, const ServedPath& served, Scatter scatter) {
  // One of several that is planned again with another topology: those before it are done.
  if (query.request.in_session && query.request.statement != nullptr)
    return answer_one(query, served, scatter);
  const auto& read = statements_of(query);
  if (!read) return completed_task(bad_request(query, read.error().status, read.error().reason));
  const auto& list = *read;
  if (const auto& refused = list->refused)
    return completed_task(bad_request(query, refused->status, refused->reason));
  if (list->statements.size() > 1) return answer_script(query, served, scatter, list);
  query.request.statement = {list, &list->statements.front()};
  return answer_one(query, served, scatter);
}

/// Reads long statements on a helper thread.
Task<Answer> read_long_statements(Query& query, const ServedPath& served, Scatter scatter) {
  auto work = [&] { statements_of(query); };
  const auto end = co_await run_on_helper(query, query.request.body.size(), work);
  if (end != ThreadPool::End::done) co_return long_work_failure(query, end, Count::bad_requests);
  auto answer = co_await answer_list(query, served, scatter);
  co_return answer;
}

constexpr std::size_t kMostDescribed = 1000;  // tables of one statement
constexpr int kMostRounds = 8;                // of tables that it turns out to need
constexpr std::size_t kMostPairs = 10'000;    // rows of an answer of a mirror

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The tables that SQL can name, sorted.
std::vector<std::string> table_names(const Topology& topology, const DialectKind& kind) {
  std::vector<std::string> names;
  for (const auto& table : topology.tables)
    if (table->dialect == kind) names.push_back(table->name);
  std::ranges::sort(names);
  return names;
}

/// The first two columns of the first result set of an answer in the form `mode=raw`.
Pairs first_columns(std::string_view body) {
  Pairs pairs;
  RawReplies answer;
  if (!answer.read_answer(body) || answer.sets_each() == 0) return pairs;
  const auto& set = answer.set(0, 0);
  const auto columns = answer.all_columns_of(set);
  if (columns.size() < 2) return pairs;
  RawRowsByName rows(set.rows);
  std::vector<std::string_view> cells(columns.size());
  while (pairs.size() < kMostPairs && rows.next(columns, cells.data()) == RawRowsByName::Step::row)
    pairs.emplace_back(cell_text(cells[0]), cell_text(cells[1]));
  return pairs;
}

/// Asks a mirror, of the first shard of a table, in the form `mode=raw`.
Task<Answer> ask_mirror(Query& query, const ServedPath& served, Scatter scatter,
                        std::string_view text, const sql::ShowStatement& show) {
  query.client.meta = nullptr;
  query.request.path = "/sql";
  set_statement(query, {.text = query.keep(std::string(text)),
                        .kind = sql::StatementKind::show,
                        .read = std::make_shared<const sql::Statement>(show)});
  return answer_query(query, served, scatter);
}

Task<Answer> ask_about_table(Query& query, const ServedPath& served, Scatter scatter,
                             std::string_view before, std::string_view table,
                             std::string_view behind) {
  sql::ShowStatement show{.table = std::string(table),
                          .table_place = {before.size(), before.size() + table.size()}};
  if (before.starts_with("SHOW CREATE")) show.object = sql::ShowStatement::Object::create_table;
  return ask_mirror(query, served, scatter, fmt::format("{}{}{}", before, table, behind), show);
}

/// Names of a table twice: a text that is an attribute, too.
void add_columns(std::vector<DescribedColumn>& columns, Pairs described) {
  for (auto& [name, type] : described)
    if (std::ranges::find(columns, name, &DescribedColumn::name) == columns.end())
      columns.push_back({std::move(name), std::move(type)});
}

/// SHOW STATUS, with some names of MySQL.
Pairs status_pairs(Query& query) {
  const auto snapshot = collect(query.worker);
  const auto text = [](auto number) { return fmt::to_string(number); };
  const auto open = query.worker.connections.open.load(std::memory_order_relaxed);
  Pairs pairs{{"Uptime", text(snapshot.process.uptime.count() / 1'000'000)},
              {"Threads_connected", text(open)},
              {"Threads_running", "1"},
              {"Connections", text(snapshot.process.connections)},
              {"Ssl_cipher", ""},
              {"Ssl_version", ""}};
  if (!hides_status(query))
    status_rows(snapshot, [&](std::string key, std::string value, bool) {
      pairs.emplace_back(std::move(key), std::move(value));
    });
  return pairs;
}

/// The connections that the client may see: an operator those of all, a client of MySQL its
/// owner's. An answer: the client is refused.
Task<std::optional<Answer>> find_processes(Query& query, const SchemaFacts& facts,
                                           SchemaContents& contents, std::string& warning) {
  std::optional<ClientOwner> owner;
  if (facts.is_mysql) {
    owner = ClientOwner{facts.user, std::string(query.client.address)};
  } else if (!query.client.on_admin_port && !query.topology->settings.admin_on_query_port.value) {
    co_return std::nullopt;  // requests of HTTP have no connections that KILL can name
  } else if (auto refused = refuse_operator(query)) {
    co_return std::move(refused);
  }
  query.waited = true;
  auto list = co_await list_processes(query.worker, std::move(owner), query.resources.deadline);
  if (!list) co_return refusal(504, "the search for connections took too long");
  if (list->left_out > 0)
    warning = counted_noun(list->left_out, "further connection") + " not listed";
  contents.processes = std::move(list->processes);
  co_return std::nullopt;
}

/// Carries out a SELECT, on a helper thread if there are any.
Task<OrError<SchemaTable>> carry_out(Query& query, std::string_view select,
                                     const SchemaContents& contents, const SchemaFacts& facts,
                                     std::string_view text) {
  OrError<SchemaTable> result;
  auto work = [&] { result = rows_of(select, tables_named(select, contents, facts), facts); };
  if (query.worker.process.helpers == nullptr) {
    work();
    co_return std::move(result);
  }
  const auto end = co_await run_on_helper(query, text.size(), work);
  if (end == ThreadPool::End::refused)
    co_return std::unexpected(ClientError{429, std::string(too_much_long_work().reason)});
  if (end != ThreadPool::End::done)
    co_return std::unexpected(ClientError{504, "request_timeout has passed"});
  co_return std::move(result);
}

/// Asks for the columns of these tables, after so many rounds. An answer: it failed.
Task<std::optional<Answer>> ask_for_columns(Query& query, const ServedPath& served, Scatter scatter,
                                            const std::vector<std::string>& tables, int rounds,
                                            SchemaContents& contents, std::string& warning) {
  if (contents.columns.size() + tables.size() > kMostDescribed || rounds == kMostRounds)
    co_return bad_request(query, 400,
                          fmt::format("the statement is about the columns of more than {} "
                                      "tables; name a table",
                                      kMostDescribed));
  for (const auto& table : tables) {
    auto answer = co_await ask_about_table(query, served, scatter, "DESC ", table, "");
    if (query.client.left || query.resources.memory_denied()) co_return std::move(answer);
    auto& columns = contents.columns[table];
    if (answer.status == 200) {
      add_columns(columns, first_columns(answer.content()));
      query.worker.loop.buffers.give(std::move(answer.body));
    } else if (tables.size() == 1) {
      co_return std::move(answer);
    } else {
      warning.append(warning.empty() ? "columns are not known now of " : ", ").append(table);
    }
  }
  co_return std::nullopt;
}

/// Whether the statement lists the tables of the configuration, as SHOW TABLES does, where they are
/// kept to the operator.
bool lists_hidden_tables(const Query& query, const SchemaStatement& statement,
                         const SchemaFacts& facts) {
  if (!hides_status(query)) return false;
  constexpr std::array<std::string_view, 5> kLists{"TABLES", "COLUMNS", "STATISTICS",
                                                   "KEY_COLUMN_USAGE", "TABLE_CONSTRAINTS"};
  return statement.table.empty() &&
         std::ranges::any_of(tables_named(statement.text, {}, facts), [&](const auto& table) {
           return std::ranges::find(kLists, table.name) != kLists.end();
         });
}

/// Whether a mirror is asked for variables: the statement may be about ones that are not known
/// here.
bool asks_for_variables(const Query& query, std::string_view words,
                        const OrError<SchemaTable>& rows) {
  return words.contains("_variables") && !query.client.on_admin_port && rows &&
         (rows->rows.empty() || !words.contains("where"));
}

}  // namespace

const StatementsRead& statements_of(Query& query) {
  const auto& request = query.request;
  if (query.request.statements == nullptr || !query.request.statements->are_of(request))
    query.request.statements = std::make_shared<const FoundStatements>(
        FoundStatements{request.path, request.query, request.body,
                        or_internal_error([&] { return sql::read_statements(request); })});
  return query.request.statements->found;
}

Task<Answer> answer_statements(Query& query, const ServedPath& served, Scatter scatter) {
  const bool found =
      query.request.statements != nullptr && query.request.statements->are_of(query.request);
  if (!found && is_long_work(query, query.request.body.size()))
    return read_long_statements(query, served, scatter);
  return answer_list(query, served, scatter);
}

Task<Answer> answer_schema(Query& query, const ServedPath& served, Scatter scatter) {
  const ClientRequest given = query.request;
  const auto text = given.statement->text;
  const SchemaFacts facts =
      query.client.schema_facts != nullptr ? *query.client.schema_facts : SchemaFacts{};
  const auto statement = read_schema_statement(text, facts);
  if (!statement) co_return bad_request(query, statement.error().status, statement.error().reason);
  const std::string_view select = statement->text;
  const auto words = lower(select);
  const bool about_clients = words.contains("processlist");
  if (query.client.on_admin_port && !about_clients) co_return no_queries_here(query);
  if (lists_hidden_tables(query, *statement, facts)) co_return hidden_status(query);
  if (!statement->table.empty() && query.topology->find(statement->table) == nullptr)
    co_return bad_request(query, 404, query.topology->unknown(statement->table));
  if (statement->is == SchemaStatement::Is::passed) {
    auto answer =
        co_await ask_about_table(query, served, scatter, select.substr(0, statement->table_begin),
                                 statement->table, select.substr(statement->table_end));
    co_return answer;
  }
  SchemaContents contents;
  if (!query.client.on_admin_port) contents.tables = table_names(*query.topology, served.kind);
  if (words.contains("_status")) contents.status = status_pairs(query);
  std::string warning;
  if (about_clients) {
    auto refused = co_await find_processes(query, facts, contents, warning);
    if (refused) co_return *std::move(refused);
  }
  auto rows = co_await carry_out(query, select, contents, facts, text);
  // A SELECT finds which columns it needs while it runs; a join can need more after the first ones.
  for (int rounds = 0; rows && !rows->unknown.empty(); ++rounds) {
    auto failed =
        co_await ask_for_columns(query, served, scatter, rows->unknown, rounds, contents, warning);
    if (failed) co_return *std::move(failed);
    rows = co_await carry_out(query, select, contents, facts, text);
  }
  if (asks_for_variables(query, words, rows)) {
    const sql::ShowStatement of_no_table;
    auto answer = co_await ask_mirror(query, served, scatter, "SHOW VARIABLES", of_no_table);
    if (query.client.left || query.resources.memory_denied()) co_return answer;
    if (answer.status == 200) {
      contents.variables = first_columns(answer.content());
      rows = co_await carry_out(query, select, contents, facts, text);
    }
  }
  query.request = given;
  if (!rows) co_return bad_request(query, rows.error().status, rows.error().reason);
  auto set = result_set_of(*rows);
  set.warning = std::move(warning);
  co_return rows_answer(query, served, std::move(set));
}

}  // namespace karmad
