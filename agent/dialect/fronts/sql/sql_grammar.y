// The grammar of the statements that karmad reads. lemon makes a parser of it, which sql_reader.cpp
// drives: it gives the tokens, and counts brackets. What stands within brackets, or is passed on
// unread, is a list of tokens; the actions call the reader.
//
// Words with a meaning here may be names elsewhere (`%fallback`). Those that begin a part of a SELECT
// come as such outside of brackets only, BY and DISTINCT only where one can be.

%name SqlParse
%token_prefix SQL_
%extra_argument {SqlReader* reader}
%token_type {SqlPiece}
%default_type {SqlRange}
%stack_size 64
%syntax_error { reader->syntax_error(TOKEN); }

%fallback WORD AGENT AGENTS AS BEGIN CALL COMMIT CREATE DELETE DESC EXPLAIN HINT INSERT INTO
  JOIN KILL LIKE META PLAN REPLACE SCROLL SERVER SET SETTINGS SHOW STATUS TABLE TABLES UPDATE USE VALUES
  VERSION WARNINGS.
// Made by the reader: a token within brackets that no rule looks into; `;`; `-` in a CALL.
%token INNER SEMICOLON MINUS.

input ::= select.
input ::= change.
input ::= call.
input ::= show.
input ::= session.

// ---- lists of tokens

%type name {SqlPiece}
%type plain {SqlPiece}
%type clause {SqlPiece}
name(N) ::= WORD(A).    { N = A; }
name(N) ::= NAME(A).    { N = A; }
name(N) ::= clause(A).  { N = A; }

clause(N) ::= SELECT(A). { N = A; }
clause(N) ::= FROM(A).   { N = A; }
clause(N) ::= WHERE(A).  { N = A; }
clause(N) ::= GROUP(A).  { N = A; }
clause(N) ::= WITHIN(A). { N = A; }
clause(N) ::= HAVING(A). { N = A; }
clause(N) ::= ORDER(A).  { N = A; }
clause(N) ::= LIMIT(A).  { N = A; }
clause(N) ::= OPTION(A). { N = A; }
clause(N) ::= FACET(A).  { N = A; }

plain(N) ::= WORD(A).   { N = A; }
plain(N) ::= NAME(A).   { N = A; }
plain(N) ::= QUOTED(A). { N = A; }
plain(N) ::= SIGN(A).   { N = A; }
plain(N) ::= COMMA(A).  { N = A; }
plain(N) ::= INNER(A).  { N = A; }

// The tokens of a clause are kept.
span(S) ::= .                { S = reader->empty_range(); }
span(S) ::= span(L) plain(T). { S = reader->kept(L, T); }

// Those of a rest are not.
rest ::= .
rest ::= rest plain.
rest ::= rest clause.
rest ::= rest LP.
rest ::= rest RP.

// ---- SELECT

select ::= SELECT(K) list(L) from where group having_within order limit options facets. {
  reader->clause(SqlReader::kItems, K, L);
}
select ::= SELECT(K) list(L). { reader->clause(SqlReader::kItems, K, L); }

list(S) ::= .                 { S = reader->empty_range(); }
list(S) ::= list(L) plain(T).  { S = reader->kept(L, T); }
list(S) ::= list(L) other(T).  { S = reader->kept(L, T); reader->misplaced(T); }
%type other {SqlPiece}
other(N) ::= WHERE(A).  { N = A; }
other(N) ::= GROUP(A).  { N = A; }
other(N) ::= WITHIN(A). { N = A; }
other(N) ::= HAVING(A). { N = A; }
other(N) ::= ORDER(A).  { N = A; }
other(N) ::= LIMIT(A).  { N = A; }
other(N) ::= OPTION(A). { N = A; }
other(N) ::= FACET(A).  { N = A; }
other(N) ::= BY(A).     { N = A; }
other(N) ::= DISTINCT(A). { N = A; }

from ::= FROM tables.
from ::= FROM tables alias.
tables ::= name(N).              { reader->table_of_select(N); }
tables ::= tables COMMA name(N). { reader->table_of_select(N); }
alias ::= AS(A) name(N).  { reader->alias_of_table(A, N); }
alias ::= WORD(N).        { reader->alias_of_table(N, N); }
alias ::= NAME(N).        { reader->alias_of_table(N, N); }

where ::= .
where ::= WHERE(K) conditions. { reader->where(K); }
conditions ::= .
conditions ::= conditions plain(T). { reader->condition(T); }

group ::= .
group ::= GROUP(K) BY span(S).          { reader->clause(SqlReader::kGroup, K, S); }
group ::= GROUP(K) WORD BY span(S).     { reader->clause(SqlReader::kGroup, K, S); }
having_within ::= .
having_within ::= having.
having_within ::= within.
having_within ::= having within.
having_within ::= within having.
having ::= HAVING(K) span(S).                { reader->clause(SqlReader::kHaving, K, S); }
within ::= WITHIN(K) GROUP ORDER BY span(S). { reader->clause(SqlReader::kWithin, K, S); }
order ::= .
order ::= ORDER(K) BY span(S).    { reader->clause(SqlReader::kOrder, K, S); }
limit ::= .
limit ::= LIMIT(K) span(S).       { reader->clause(SqlReader::kLimit, K, S); }
options ::= .
options ::= OPTION(K) span(S).    { reader->clause(SqlReader::kOptions, K, S); }

facets ::= .
facets ::= facets facet.
facet ::= facet_items facet_parts. { reader->end_facet(); }
facet_items ::= FACET(K) span(S).  { reader->facet(K, S); }
facet_parts ::= .
facet_parts ::= facet_parts BY(K) span(S).       { reader->facet_part(SqlReader::kFacetBy, K, S); }
facet_parts ::= facet_parts DISTINCT(K) span(S). { reader->facet_part(SqlReader::kFacetDistinct, K, S); }
facet_parts ::= facet_parts ORDER(K) BY span(S). { reader->facet_part(SqlReader::kFacetOrder, K, S); }
facet_parts ::= facet_parts LIMIT(K) span(S).    { reader->facet_part(SqlReader::kFacetLimit, K, S); }

// ---- INSERT, REPLACE, UPDATE, DELETE

change ::= insert into changed columns values_word rows end_of_rows.
change ::= insert into changed columns SET(K).  { reader->no_rows(K); }
change ::= update changed SET rest.
change ::= update changed alias SET rest.
change ::= delete changed end_of_delete.
change ::= delete changed alias end_of_delete.
insert ::= INSERT.         { reader->verb(ChangeStatement::Verb::insert, "INTO"); }
insert ::= REPLACE.        { reader->verb(ChangeStatement::Verb::replace, "INTO"); }
into ::= .
into ::= INTO.
update ::= UPDATE.         { reader->verb(ChangeStatement::Verb::update, "UPDATE"); }
delete ::= DELETE FROM.    { reader->verb(ChangeStatement::Verb::remove, "DELETE FROM"); }
changed ::= name(N).       { reader->changed_table(N); }
end_of_delete ::= .
end_of_delete ::= WHERE rest.
end_of_delete ::= OPTION rest.
end_of_delete ::= HINT(H) rest. { reader->delete_with(H); }
end_of_delete ::= JOIN rest.

columns ::= .
columns ::= begin_columns column_list RP. { reader->end_columns(); }
begin_columns ::= LP(B).                  { reader->begin_columns(B); }
column_list ::= column.
column_list ::= column_list next_column column.
next_column ::= COMMA.                    { reader->next_column(); }
column ::= name(N).                       { reader->column(N); }

values_word ::= VALUES.                   { reader->next_row(); }
rows ::= row.
rows ::= rows next_row row.
next_row ::= COMMA.                       { reader->next_row(); }
row ::= begin_row values RP(E).           { reader->end_row(E); }
begin_row ::= LP(B).                      { reader->begin_row(B); }
values ::= .
values ::= values value(V).               { reader->value(V, false); }
values ::= values INNER(V).               { reader->value(V, true); }
%type value {SqlPiece}
value(N) ::= WORD(A).   { N = A; }
value(N) ::= NAME(A).   { N = A; }
value(N) ::= QUOTED(A). { N = A; }
value(N) ::= SIGN(A).   { N = A; }
value(N) ::= COMMA(A).  { N = A; }
value(N) ::= clause(A). { N = A; }
end_of_rows ::= .
end_of_rows ::= OPTION rest.

// ---- CALL

call ::= CALL procedure begin_arguments arguments RP(E). { reader->end_arguments(E); }
procedure ::= WORD(N).            { reader->procedure(N); }
begin_arguments ::= LP.           { reader->begin_argument(); }
arguments ::= .
arguments ::= argument_list.
argument_list ::= argument.
argument_list ::= argument_list next_argument argument.
next_argument ::= COMMA.          { reader->begin_argument(); }
argument ::= begin_argument.                { reader->unnamed_argument(); }
argument ::= begin_argument option(N).      { reader->argument_name(N, false); }
argument ::= begin_argument as option(N).   { reader->argument_name(N, true); }
%type option {SqlPiece}
option(N) ::= WORD(A).   { N = A; }
option(N) ::= clause(A). { N = A; }
as ::= AS.                        { reader->expect("the name of an option"); }
begin_argument ::= argument_value(V). { reader->argument(V); }
begin_argument ::= minus WORD(V).     { reader->argument(V); }
begin_argument ::= value_list.        { reader->expect(", or )"); }
minus ::= MINUS(M).               { reader->negative_argument(M); }
%type argument_value {SqlPiece}
argument_value(N) ::= WORD(A).   { N = A; }
argument_value(N) ::= NAME(A).   { N = A; }
argument_value(N) ::= QUOTED(A). { N = A; }
argument_value(N) ::= SIGN(A).   { N = A; }
argument_value(N) ::= clause(A). { N = A; }
value_list ::= INNER(A).            { reader->listed_argument(A); }
value_list ::= value_list INNER(A). { reader->listed_argument(A); }

// ---- SHOW of mirrors, about karmad, and about the connection

show ::= SHOW SERVER(A) rest.                  { reader->show_server(A); }
show ::= SHOW SETTINGS(A) rest.                { reader->show_server(A); }
show ::= EXPLAIN WORD(W) name(N) QUOTED rest.  { reader->explain(W, N); }
show ::= SHOW WORD SERVER(A) rest.             { reader->show_server(A); }
show ::= SHOW CREATE TABLE(T) name(N).             { reader->show_create(T, N); }
show ::= SHOW CREATE TABLE(T) name(N) OPTION rest. { reader->show_create(T, N); }
show ::= SHOW TABLE name(N) STATUS rest.       { reader->show_table(ShowStatement::Object::table_status, N); }
show ::= SHOW TABLE name(N) SETTINGS rest.     { reader->show_table(ShowStatement::Object::table_settings, N); }

show ::= SHOW AGENT STATUS like.             { reader->status(Show::agents); }
show ::= SHOW AGENT agent(N) STATUS like.    { reader->status(Show::agent, N); }
show ::= SHOW AGENTS like.                   { reader->status(Show::mirrors); }
show ::= SHOW TABLES like.                   { reader->status(Show::tables); }
show ::= SHOW STATUS like.                   { reader->status(Show::status); }
show ::= SHOW VERSION.                       { reader->status(Show::version); }
show ::= DESC described(N) like.             { reader->status(Show::table, N); }
agent(S) ::= STATUS(T).          { S = reader->kept(reader->empty_range(), T); }
agent(S) ::= agent_part(T).      { S = reader->kept(reader->empty_range(), T); }
agent(S) ::= agent(L) agent_part(T). { S = reader->kept(L, T); }
%type agent_part {SqlPiece}
agent_part(N) ::= WORD(A).   { N = A; }
agent_part(N) ::= NAME(A).   { N = A; }
agent_part(N) ::= QUOTED(A). { N = A; }
agent_part(N) ::= SIGN(A).   { N = A; }
described(S) ::= described_part(T).              { S = reader->kept(reader->empty_range(), T); }
described(S) ::= described(L) described_part(T). { S = reader->kept(L, T); }
%type described_part {SqlPiece}
described_part(N) ::= name(A).   { N = A; }
described_part(N) ::= QUOTED(A). { N = A; }
described_part(N) ::= SIGN(A).   { N = A; }
like ::= .
like ::= LIKE pattern(S).        { reader->like(S); }
pattern(S) ::= QUOTED(T).             { S = reader->kept(reader->empty_range(), T); }
pattern(S) ::= pattern(L) QUOTED(T).  { S = reader->kept(L, T); }

session ::= SHOW META like.      { reader->session(SessionStatement::Is::meta); }
session ::= SHOW SCROLL like.    { reader->session(SessionStatement::Is::scroll); }
session ::= SHOW WARNINGS like.  { reader->session(SessionStatement::Is::warnings); }
session ::= SHOW WARNINGS LIMIT rest. { reader->session(SessionStatement::Is::warnings); }
session ::= SHOW PLAN(A).        { reader->inspect(A); }
session ::= BEGIN(V) assigned(S).  { reader->transaction(V, S); }
session ::= COMMIT(V) assigned(S). { reader->transaction(V, S); }
session ::= KILL assigned(S).    { reader->kill(S); }
session ::= USE assigned(S).     { reader->use(S); }
session ::= SET assigned(S).     { reader->assignments(S); }
assigned(S) ::= .                      { S = reader->empty_range(); }
assigned(S) ::= assigned(L) assigned_part(T). { S = reader->kept(L, T); }
%type assigned_part {SqlPiece}
assigned_part(N) ::= plain(A).  { N = A; }
assigned_part(N) ::= clause(A). { N = A; }
assigned_part(N) ::= LP(A).     { N = A; }
assigned_part(N) ::= RP(A).     { N = A; }
