// The grammar of the statements that karmad reads. lemon makes a parser of it, which sql_reader.cpp
// drives: it gives the tokens, and counts brackets. What stands within brackets, or is passed on
// unread, is a list of tokens; the actions call the reader.
//
// Words with a meaning here may be names elsewhere (`%fallback`). Those that begin a part of a SELECT
// come as such outside of brackets only, BY and DISTINCT only where one can be.

%name SqlParse
%token_prefix SQL_
%extra_argument {Reader* reader}
%token_type {Piece}
%default_type {Range}
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

%token_class clause SELECT|FROM|WHERE|GROUP|WITHIN|HAVING|ORDER|LIMIT|OPTION|FACET.
%token_class word WORD|SELECT|FROM|WHERE|GROUP|WITHIN|HAVING|ORDER|LIMIT|OPTION|FACET.
%token_class name WORD|NAME|SELECT|FROM|WHERE|GROUP|WITHIN|HAVING|ORDER|LIMIT|OPTION|FACET.
%token_class single WORD|NAME|QUOTED|SIGN|SELECT|FROM|WHERE|GROUP|WITHIN|HAVING|ORDER|LIMIT|OPTION|FACET.
%token_class plain WORD|NAME|QUOTED|SIGN|COMMA|INNER.
%token_class any WORD|NAME|QUOTED|SIGN|COMMA|INNER|LP|RP|SELECT|FROM|WHERE|GROUP|WITHIN|HAVING|ORDER|LIMIT|OPTION|FACET.
%token_class misplaced WHERE|GROUP|WITHIN|HAVING|ORDER|LIMIT|OPTION|FACET|BY|DISTINCT.

// The tokens of a clause are kept.
span(S) ::= .                { S = reader->empty_range(); }
span(S) ::= span(L) plain(T). { S = reader->kept(L, T); }

// Those of a rest are not.
rest ::= .
rest ::= rest any.

// ---- SELECT

select ::= SELECT(K) list(L) from where group having_within order limit options facets. {
  reader->select.set_clause(Clause::items, K.token(), L);
}
select ::= SELECT(K) list(L). { reader->select.set_clause(Clause::items, K.token(), L); }

list(S) ::= .                     { S = reader->empty_range(); }
list(S) ::= list(L) plain(T).     { S = reader->kept(L, T); }
list(S) ::= list(L) misplaced(T). { S = reader->kept(L, T); reader->misplaced(T); }

from ::= FROM tables.
from ::= FROM tables alias.
tables ::= name(N).              { reader->refuse(reader->select.add_table(N.token())); }
tables ::= tables COMMA name(N). { reader->refuse(reader->select.add_table(N.token())); }
alias ::= AS(A) name(N).  { reader->alias_of_table(A, N); }
alias ::= WORD|NAME(N).   { reader->alias_of_table(N, N); }

where ::= .
where ::= WHERE(K) conditions. { reader->select.set_where(K.token()); }
conditions ::= .
conditions ::= conditions plain(T). { reader->select.add_condition(T.token(), T.depth); }

group ::= .
group ::= GROUP(K) BY span(S).          { reader->select.set_clause(Clause::group, K.token(), S); }
group ::= GROUP(K) WORD BY span(S).     { reader->select.set_clause(Clause::group, K.token(), S); }
having_within ::= .
having_within ::= having.
having_within ::= within.
having_within ::= having within.
having_within ::= within having.
having ::= HAVING(K) span(S).                { reader->select.set_clause(Clause::having, K.token(), S); }
within ::= WITHIN(K) GROUP ORDER BY span(S). { reader->select.set_clause(Clause::within, K.token(), S); }
order ::= .
order ::= ORDER(K) BY span(S).    { reader->select.set_clause(Clause::order, K.token(), S); }
limit ::= .
limit ::= LIMIT(K) span(S).       { reader->select.set_clause(Clause::limit, K.token(), S); }
options ::= .
options ::= OPTION(K) span(S).    { reader->select.set_clause(Clause::options, K.token(), S); }

facets ::= .
facets ::= facets facet.
facet ::= facet_items facet_parts. { reader->select.end_facet(); }
facet_items ::= FACET(K) span(S).  { reader->select.begin_facet(K.token(), S); }
facet_parts ::= .
facet_parts ::= facet_parts BY(K) span(S).       { reader->select.set_facet_part(FacetPart::by, K.token(), S); }
facet_parts ::= facet_parts DISTINCT(K) span(S). { reader->select.set_facet_part(FacetPart::distinct, K.token(), S); }
facet_parts ::= facet_parts ORDER(K) BY span(S). { reader->select.set_facet_part(FacetPart::order, K.token(), S); }
facet_parts ::= facet_parts LIMIT(K) span(S).    { reader->select.set_facet_part(FacetPart::limit, K.token(), S); }

// ---- INSERT, REPLACE, UPDATE, DELETE

change ::= insert into changed columns values_word rows end_of_rows.
change ::= insert into changed columns SET(K).  { reader->no_rows(K); }
change ::= update changed SET rest.
change ::= update changed alias SET rest.
change ::= delete changed end_of_delete.
change ::= delete changed alias end_of_delete.
insert ::= INSERT.         { reader->change.begin(ChangeStatement::Verb::insert, "INTO"); }
insert ::= REPLACE.        { reader->change.begin(ChangeStatement::Verb::replace, "INTO"); }
into ::= .
into ::= INTO.
update ::= UPDATE.         { reader->change.begin(ChangeStatement::Verb::update, "UPDATE"); }
delete ::= DELETE FROM.    { reader->change.begin(ChangeStatement::Verb::remove, "DELETE FROM"); }
changed ::= name(N).       { reader->changed_table(N); }
end_of_delete ::= .
end_of_delete ::= WHERE|OPTION|JOIN rest.
end_of_delete ::= HINT(H) rest. { reader->delete_with(H); }

columns ::= .
columns ::= begin_columns column_list RP. {
  reader->change.end_columns();
  reader->expect("VALUES", ExpectedElse::other_form);
}
begin_columns ::= LP(B). { reader->change.begin_columns(B.token()); reader->expect("a name of a column"); }
column_list ::= column.
column_list ::= column_list next_column column.
next_column ::= COMMA.   { reader->expect("a name of a column"); }
column ::= name(N). {
  reader->refuse(reader->change.add_column(N.token()));
  reader->expect(", or ) after a column");
}

values_word ::= VALUES.                   { reader->expect("( of a row of values"); }
rows ::= row.
rows ::= rows next_row row.
next_row ::= COMMA.                       { reader->expect("( of a row of values"); }
row ::= begin_row values RP(E). {
  reader->change.end_row(E.token());
  reader->expect("the end of the statement, a comma or OPTION", ExpectedElse::other_form);
}
begin_row ::= LP(B).         { reader->change.begin_row(B.token()); reader->expect(") after the values"); }
values ::= .
values ::= values single(V). { reader->change.add_value(V.token(), false); }
values ::= values COMMA(V).  { reader->change.add_value(V.token(), false); }
values ::= values INNER(V).  { reader->change.add_value(V.token(), true); }
end_of_rows ::= .
end_of_rows ::= OPTION rest.

// ---- CALL

call ::= CALL procedure begin_arguments arguments RP(E). {
  reader->call.end_arguments(E.token());
  reader->expect("the end of the statement");
}
procedure ::= WORD(N).            { reader->procedure(N); }
begin_arguments ::= LP.           { reader->begin_argument(); }
arguments ::= .
arguments ::= argument_list.
argument_list ::= argument.
argument_list ::= argument_list next_argument argument.
next_argument ::= COMMA.          { reader->begin_argument(); }
argument ::= begin_argument.              { reader->unnamed_argument(); }
argument ::= begin_argument word(N).      { reader->argument_name(N, false); }
argument ::= begin_argument as word(N).   { reader->argument_name(N, true); }
as ::= AS.                        { reader->expect("the name of an option"); }
begin_argument ::= single(V).     { reader->call.add_argument(V.token()); reader->expect(", or )"); }
begin_argument ::= minus WORD(V). { reader->call.add_argument(V.token()); reader->expect(", or )"); }
begin_argument ::= value_list.    { reader->expect(", or )"); }
minus ::= MINUS(M).               { reader->call.set_negative(M.token()); reader->expect("a number"); }
value_list ::= INNER(A).            { reader->listed_argument(A); }
value_list ::= value_list INNER(A). { reader->listed_argument(A); }

// ---- SHOW of mirrors, about karmad, and about the connection

show ::= SHOW SERVER|SETTINGS(A) rest.         { reader->show_server(A); }
show ::= EXPLAIN WORD(W) name(N) QUOTED rest.  { reader->explain(W, N); }
show ::= SHOW WORD SERVER(A) rest.             { reader->show_server(A); }
show ::= SHOW CREATE TABLE(T) name(N).             { reader->show_create(T, N); }
show ::= SHOW CREATE TABLE(T) name(N) OPTION rest. { reader->show_create(T, N); }
show ::= SHOW TABLE name(N) STATUS rest.       { reader->show_table(ShowStatement::Object::table_status, N); }
show ::= SHOW TABLE name(N) SETTINGS rest.     { reader->show_table(ShowStatement::Object::table_settings, N); }

show ::= SHOW AGENT STATUS like.             { reader->status(Show::agent_status); }
show ::= SHOW AGENT agent(N) STATUS like.    { reader->status(Show::agent, N); }
show ::= SHOW AGENTS like.                   { reader->status(Show::agents); }
show ::= SHOW TABLES like.                   { reader->status(Show::tables); }
show ::= SHOW STATUS like.                   { reader->status(Show::status); }
show ::= SHOW VERSION.                       { reader->status(Show::version); }
show ::= DESC described(N) like.             { reader->status(Show::table, N); }
agent(S) ::= STATUS(T).                         { S = reader->kept(reader->empty_range(), T); }
agent(S) ::= WORD|NAME|QUOTED|SIGN(T).          { S = reader->kept(reader->empty_range(), T); }
agent(S) ::= agent(L) WORD|NAME|QUOTED|SIGN(T). { S = reader->kept(L, T); }
described(S) ::= single(T).              { S = reader->kept(reader->empty_range(), T); }
described(S) ::= described(L) single(T). { S = reader->kept(L, T); }
like ::= .
like ::= LIKE pattern(S).        { reader->like(S); }
pattern(S) ::= QUOTED(T).             { S = reader->kept(reader->empty_range(), T); }
pattern(S) ::= pattern(L) QUOTED(T).  { S = reader->kept(L, T); }

session ::= SHOW META like.      { reader->session(SessionStatement::Is::meta); }
session ::= SHOW SCROLL like.    { reader->session(SessionStatement::Is::scroll); }
session ::= SHOW WARNINGS like.  { reader->session(SessionStatement::Is::warnings); }
session ::= SHOW WARNINGS LIMIT rest. { reader->session(SessionStatement::Is::warnings); }
session ::= SHOW PLAN(A).        { reader->inspect(A); }
session ::= BEGIN|COMMIT(V) assigned(S). { reader->session(read_transaction(V.token(), reader->tokens_of(S))); }
session ::= KILL assigned(S).    { reader->session(read_kill(reader->tokens_of(S))); }
session ::= USE assigned(S).     { reader->use(S); }
session ::= SET assigned(S).     { reader->session(read_settings(reader->tokens_of(S))); }
assigned(S) ::= .                      { S = reader->empty_range(); }
assigned(S) ::= assigned(L) any(T).    { S = reader->kept(L, T); }
