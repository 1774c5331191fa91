/*
 * Flink's SQL dialect for lemon. Actions only build nodes (ast.h); what a statement means is the binder's business.
 *
 * Words that have a meaning only in some places are names elsewhere (%fallback), which accepts a little more than Flink does.
 * The tables are not compressed (lemon -c): with default reductions lemon would take a word for a name where an optional name
 * may stand, though the word itself can follow.
 */
%name tl_sql__Parse
%token_prefix TK_
%token_type {tl_sql_token}
%default_type {tl_ast *}
%extra_argument {tl_parser *p}
%stack_size 2600 /* of 48 bytes each: below 128 kB, what allocators do not give back to the system after each statement */

%include {
#include "sql/parser_private.h"

#define ParseTOKENTYPE tl_sql_token
/* Shorthands of the actions: T is the token or node that gives the position. */
#define NODE(KIND, AT, ...) tl_sql__node(p, KIND, (AT).line, (AT).position, (tl_ast_init){__VA_ARGS__})
#define NODE_AT(KIND, NODE_, ...)                                                                                                \
    tl_sql__node(p, KIND, (NODE_) == NULL ? 0 : (NODE_)->line, (NODE_) == NULL ? 0 : (NODE_)->position, (tl_ast_init){__VA_ARGS__})
#define LIST(FIRST) tl_sql__append(p, NULL, FIRST)
#define APPEND(LIST_, ELEMENT) tl_sql__append(p, LIST_, ELEMENT)
#define UNARY(AT, OP, A) NODE(AST_UNARY, AT, .text = OP, .kid = {A})
#define BINARY(OP, A, B) NODE_AT(AST_BINARY, A, .text = OP, .kid = {A, B})
#define NOT(AT, A) NODE(AST_UNARY, AT, .text = "NOT", .kid = {A})
#define CALL1(AT, NAME, A) NODE(AST_CALL, AT, .text = NAME, .kid = {LIST(A)})
#define CALL2(AT, NAME, A, B) NODE(AST_CALL, AT, .text = NAME, .kid = {APPEND(LIST(A), B)})

/* Whether the state has an action for the token itself (yy_find_shift_action() would fall back to a name). */
#define tl_sql__is_expected(STATE, TOKEN)                                                                                        \
    (YY_SHIFT_COUNT >= (STATE) && (int)yy_shift_ofst[STATE] + (TOKEN) >= 0 && (int)yy_shift_ofst[STATE] + (TOKEN) < YY_ACTTAB_COUNT && \
     yy_lookahead[yy_shift_ofst[STATE] + (TOKEN)] == (TOKEN) && yy_action[yy_shift_ofst[STATE] + (TOKEN)] != YY_ERROR_ACTION)

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
}

%syntax_error {
    /* What could stand here instead: a few words help, a long list does not. */
    tl_sql__syntax_error_begin(p, &TOKEN);
    for (int t = 1; t < YYNTOKEN; t++)
        if (tl_sql__is_expected(yypParser->yytos->stateno, t))
            tl_sql__syntax_error_expected(p, t);
    tl_sql__syntax_error_end(p);
}
%stack_overflow { tl_sql__too_deep(p); }

%fallback ID
    ADD AFTER ALTER ANALYZE ASC BEGIN CALL CASCADE CATALOG CATALOGS CEIL CEILING COLUMN COLUMNS COMMENT CONDITIONAL
    CONSTRAINTS CREATE CUBE CURRENT DATABASE DATABASES DATE DELETE DESC DESCRIBE DESCRIPTOR DISTRIBUTION DROP EMPTY ENFORCED
    CHANGELOG_MODE ERROR ESCAPE ESTIMATED_COST EXCLUDING EXECUTE EXPLAIN EXTENDED EXTRACT FILTER FIRST FLOOR FOLLOWING FUNCTION FUNCTIONS
    GENERATED GROUPING_SETS IF JSON_EXECUTION_PLAN PLAN_ADVICE INCLUDING INSERT JARS JOBS JSON JSON_ARRAY JSON_ARRAYAGG JSON_EXISTS JSON_OBJECT JSON_OBJECTAGG
    JSON_QUERY JSON_VALUE KEY LAST LOCAL METADATA MODIFY MODULES NEXT NULLS OBJECT OF ONLY OPTIONS ORDINALITY OVERLAY
    OVERWRITE OVERWRITING PARTITIONS PARTITIONED PLACING PLAN POSITION PRECEDING PRECISION PRIMARY PROCEDURES RANGE RENAME
    REPLACE RESET RESTRICT RETURNING ROLLUP ROWS SCALAR SHOW STATEMENT SUBSTRING SYMMETRIC SYSTEM_TIME TABLES TEMPORARY
    TIME TIMESTAMP DAY HOUR MINUTE SECOND MONTH YEAR ILIKE SYSTEM TRIM TRUNCATE TRY_CAST UNBOUNDED UNCONDITIONAL UNKNOWN UPDATE USE VALUE VARYING VIEW VIEWS VIRTUAL WATERMARK
    WATERMARKS WITHIN WITHOUT WRAPPER ZONE ABSENT LEADING TRAILING BOTH MULTISET USER ROW MAP ARRAY UNNEST LATERAL.

%left OR.
%left AND.
%right NOT.
%left IS.
%left EQ NE LT LE GT GE IN BETWEEN LIKE SIMILAR OVERLAPS.
%left VALUE.
%left ESCAPE.
%left PLUS MINUS.
%left STAR SLASH PERCENT CONCAT.
%right UMINUS.
%left TO.
%left LBRACKET DOT.

input ::= statement(S) semi_opt. { p->result = S; }
input ::= EXPRESSION expr(E). { p->result = E; }
semi_opt ::= .
semi_opt ::= semi_opt SEMI.

/* ---- names, literals, options ---- */

id(A) ::= ID(T). { A = NODE(AST_ID, T, .text = T.text); }
name(A) ::= id(I). { A = tl_sql__append_kind(p, AST_NAME, NULL, I); }
name(A) ::= name(N) DOT id(I). { A = tl_sql__append_kind(p, AST_NAME, N, I); }
ids(A) ::= id(I). { A = LIST(I); }
ids(A) ::= ids(L) COMMA id(I). { A = APPEND(L, I); }
names(A) ::= name(N). { A = LIST(N); }
names(A) ::= names(L) COMMA name(N). { A = APPEND(L, N); }
ids_paren(A) ::= LP ids(L) RP. { A = L; }
string(A) ::= STRING(T). { A = NODE(AST_STRING, T, .text = T.text, .count = T.count); }
number(A) ::= NUMBER(T). { A = NODE(AST_NUMBER, T, .text = T.text); }

option(A) ::= string(K) EQ string(V). { A = NODE_AT(AST_OPTION, K, .kid = {K, V}); }
options(A) ::= option(O). { A = LIST(O); }
options(A) ::= options(L) COMMA option(O). { A = APPEND(L, O); }
options_paren(A) ::= LP options(L) RP. { A = L; }
options_paren(A) ::= LP(T) RP. { A = NODE(AST_LIST, T, .count = 0); }
with_opt(A) ::= . { A = NULL; }
with_opt(A) ::= WITH options_paren(L). { A = L; }
comment_opt(A) ::= . { A = NULL; }
comment_opt(A) ::= COMMENT string(S). { A = S; }

%type if_not_exists {uint32_t}
if_not_exists(A) ::= . { A = 0; }
if_not_exists(A) ::= IF NOT EXISTS. { A = AST_F_IF; }
%type if_exists {uint32_t}
if_exists(A) ::= . { A = 0; }
if_exists(A) ::= IF EXISTS. { A = AST_F_IF; }
%type temporary_opt {uint32_t}
temporary_opt(A) ::= . { A = 0; }
temporary_opt(A) ::= TEMPORARY. { A = AST_F_TEMPORARY; }

/* ---- types ---- */

type(A) ::= base_type(B). { A = B; }
type(A) ::= base_type(B) NOT NULL. { A = tl_sql__flag(p, B, AST_F_NOT_NULL); }
type(A) ::= base_type(B) NULL. { A = B; }
base_type(A) ::= ID(T) type_args(N). { A = NODE(AST_TYPE, T, .text = T.text, .kid = {N}); }
base_type(A) ::= ID(T) VARYING type_args(N). { A = NODE(AST_TYPE, T, .text = tl_sql__join(p, T.text, "VARYING"), .kid = {N}); }
base_type(A) ::= ID(T) PRECISION. { A = NODE(AST_TYPE, T, .text = tl_sql__join(p, T.text, "PRECISION")); }
base_type(A) ::= ID(T) type_args(N) WITH LOCAL TIME ZONE.
    { A = NODE(AST_TYPE, T, .text = tl_sql__join(p, T.text, "WITH LOCAL TIME ZONE"), .kid = {N}); }
base_type(A) ::= ID(T) type_args(N) WITHOUT TIME ZONE. { A = NODE(AST_TYPE, T, .text = T.text, .kid = {N}); }
base_type(A) ::= ID(T) type_args(N) WITH TIME ZONE.
    { A = NODE(AST_TYPE, T, .text = tl_sql__join(p, T.text, "WITH TIME ZONE"), .kid = {N}); }
base_type(A) ::= ARRAY(T) LT type(E) GT. { A = NODE(AST_TYPE, T, .text = "ARRAY", .kid = {NULL, LIST(E)}); }
base_type(A) ::= MULTISET(T) LT type(E) GT. { A = NODE(AST_TYPE, T, .text = "MULTISET", .kid = {NULL, LIST(E)}); }
base_type(A) ::= MAP(T) LT type(K) COMMA type(V) GT. { A = NODE(AST_TYPE, T, .text = "MAP", .kid = {NULL, APPEND(LIST(K), V)}); }
base_type(A) ::= ID(T) LT type(E) COMMA number(N) GT. { A = NODE(AST_TYPE, T, .text = T.text, .kid = {LIST(N), LIST(E)}); }
base_type(A) ::= ROW(T) LT type_fields(F) GT. { A = NODE(AST_TYPE, T, .text = "ROW", .kid = {NULL, F}); }
base_type(A) ::= ROW(T) LP type_fields(F) RP. { A = NODE(AST_TYPE, T, .text = "ROW", .kid = {NULL, F}); }
base_type(A) ::= ROW(T) NE. { A = NODE(AST_TYPE, T, .text = "ROW"); }
base_type(A) ::= base_type(B) ARRAY(T). { A = NODE(AST_TYPE, T, .text = "ARRAY", .kid = {NULL, LIST(B)}); }
base_type(A) ::= base_type(B) MULTISET(T). { A = NODE(AST_TYPE, T, .text = "MULTISET", .kid = {NULL, LIST(B)}); }
base_type(A) ::= INTERVAL(T) ID(U) type_args.
    { A = NODE(AST_TYPE, T, .text = "INTERVAL", .kid = {NULL, LIST(NODE(AST_ID, U, .text = U.text))}); }
base_type(A) ::= INTERVAL(T) ID(U) type_args TO ID(V) type_args.
    { A = NODE(AST_TYPE, T, .text = "INTERVAL", .kid = {NULL, APPEND(LIST(NODE(AST_ID, U, .text = U.text)), NODE(AST_ID, V, .text = V.text))}); }
type_args(A) ::= . { A = NULL; }
type_args(A) ::= LP numbers(L) RP. { A = L; }
numbers(A) ::= number(N). { A = LIST(N); }
numbers(A) ::= numbers(L) COMMA number(N). { A = APPEND(L, N); }
type_field(A) ::= ID(T) type(Y). { A = NODE(AST_TYPE_FIELD, T, .text = T.text, .kid = {Y}); }
type_field(A) ::= ID(T) type(Y) string(S). { A = NODE(AST_TYPE_FIELD, T, .text = T.text, .kid = {Y, S}); }
type_fields(A) ::= type_field(F). { A = LIST(F); }
type_fields(A) ::= type_fields(L) COMMA type_field(F). { A = APPEND(L, F); }

/* ---- expressions ---- */

expr(A) ::= primary(B). { A = B; }
expr(A) ::= expr(B) OR expr(C). { A = tl_sql__chain(p, AST_OR, NULL, B, C); }
expr(A) ::= expr(B) AND expr(C). { A = tl_sql__chain(p, AST_AND, NULL, B, C); }
expr(A) ::= NOT(T) expr(B). { A = NOT(T, B); }
expr(A) ::= expr(B) IS NULL. { A = NODE_AT(AST_UNARY, B, .text = "IS NULL", .kid = {B}); }
expr(A) ::= expr(B) IS NOT NULL. { A = NODE_AT(AST_UNARY, B, .text = "IS NOT NULL", .kid = {B}); }
expr(A) ::= expr(B) IS TRUE. { A = NODE_AT(AST_UNARY, B, .text = "IS TRUE", .kid = {B}); }
expr(A) ::= expr(B) IS NOT TRUE. { A = NODE_AT(AST_UNARY, B, .text = "IS NOT TRUE", .kid = {B}); }
expr(A) ::= expr(B) IS FALSE. { A = NODE_AT(AST_UNARY, B, .text = "IS FALSE", .kid = {B}); }
expr(A) ::= expr(B) IS NOT FALSE. { A = NODE_AT(AST_UNARY, B, .text = "IS NOT FALSE", .kid = {B}); }
expr(A) ::= expr(B) IS UNKNOWN. { A = NODE_AT(AST_UNARY, B, .text = "IS UNKNOWN", .kid = {B}); }
expr(A) ::= expr(B) IS NOT UNKNOWN. { A = NODE_AT(AST_UNARY, B, .text = "IS NOT UNKNOWN", .kid = {B}); }
expr(A) ::= expr(B) IS DISTINCT FROM expr(C). [EQ] { A = BINARY("IS DISTINCT FROM", B, C); }
expr(A) ::= expr(B) IS NOT DISTINCT FROM expr(C). [EQ] { A = BINARY("IS NOT DISTINCT FROM", B, C); }
%type json_kind {const char *}
json_kind(A) ::= . [IS] { A = "IS JSON VALUE"; }
json_kind(A) ::= VALUE. { A = "IS JSON VALUE"; }
json_kind(A) ::= OBJECT. { A = "IS JSON OBJECT"; }
json_kind(A) ::= ARRAY. { A = "IS JSON ARRAY"; }
json_kind(A) ::= SCALAR. { A = "IS JSON SCALAR"; }
expr(A) ::= expr(B) IS JSON json_kind(K). [IS] { A = NODE_AT(AST_UNARY, B, .text = K, .kid = {B}); }
expr(A) ::= expr(B) IS NOT(T) JSON json_kind(K). [IS] { A = NOT(T, NODE_AT(AST_UNARY, B, .text = K, .kid = {B})); }
%type compare {const char *}
compare(A) ::= EQ. { A = "="; }
compare(A) ::= NE. { A = "<>"; }
compare(A) ::= LT. { A = "<"; }
compare(A) ::= LE. { A = "<="; }
compare(A) ::= GT. { A = ">"; }
compare(A) ::= GE. { A = ">="; }
expr(A) ::= expr(B) compare(O) expr(C). [EQ] { A = BINARY(O, B, C); }
expr(A) ::= expr(B) compare(O) ALL in_set(S). [EQ] { A = NODE_AT(AST_QUANTIFIED, B, .text = O, .flags = AST_F_ALL, .kid = {B, S}); }
expr(A) ::= expr(B) compare(O) ANY in_set(S). [EQ] { A = NODE_AT(AST_QUANTIFIED, B, .text = O, .kid = {B, S}); }
expr(A) ::= expr(B) compare(O) SOME in_set(S). [EQ] { A = NODE_AT(AST_QUANTIFIED, B, .text = O, .kid = {B, S}); }
in_set(A) ::= paren(Q). { A = Q; }
in_set(A) ::= LP exprs(L) RP. { A = L; }
expr(A) ::= expr(B) IN in_set(S). { A = NODE_AT(AST_IN, B, .kid = {B, S}); }
expr(A) ::= expr(B) NOT IN in_set(S). [IN] { A = NODE_AT(AST_IN, B, .flags = AST_F_NOT, .kid = {B, S}); }
expr(A) ::= expr(B) BETWEEN symmetric_opt(F) expr(C) AND expr(D). [BETWEEN] { A = NODE_AT(AST_BETWEEN, B, .flags = F, .kid = {B, C, D}); }
expr(A) ::= expr(B) NOT BETWEEN symmetric_opt(F) expr(C) AND expr(D). [BETWEEN]
    { A = NODE_AT(AST_BETWEEN, B, .flags = F | AST_F_NOT, .kid = {B, C, D}); }
%type symmetric_opt {uint32_t}
symmetric_opt(A) ::= . { A = 0; }
symmetric_opt(A) ::= SYMMETRIC. { A = AST_F_SYMMETRIC; }
symmetric_opt(A) ::= ASYMMETRIC. { A = 0; }
expr(A) ::= expr(B) LIKE expr(C). { A = BINARY("LIKE", B, C); }
expr(A) ::= expr(B) LIKE expr(C) ESCAPE expr(E). [LIKE] { A = NODE_AT(AST_BINARY, B, .text = "LIKE", .kid = {B, C, E}); }
expr(A) ::= expr(B) NOT(T) LIKE expr(C). [LIKE] { A = NOT(T, BINARY("LIKE", B, C)); }
expr(A) ::= expr(B) NOT(T) LIKE expr(C) ESCAPE expr(E). [LIKE] { A = NOT(T, NODE_AT(AST_BINARY, B, .text = "LIKE", .kid = {B, C, E})); }
expr(A) ::= expr(B) SIMILAR TO expr(C). [LIKE] { A = BINARY("SIMILAR TO", B, C); }
expr(A) ::= expr(B) SIMILAR TO expr(C) ESCAPE expr(E). [LIKE] { A = NODE_AT(AST_BINARY, B, .text = "SIMILAR TO", .kid = {B, C, E}); }
expr(A) ::= expr(B) NOT(T) SIMILAR TO expr(C). [LIKE] { A = NOT(T, BINARY("SIMILAR TO", B, C)); }
expr(A) ::= expr(B) NOT(T) SIMILAR TO expr(C) ESCAPE expr(E). [LIKE]
    { A = NOT(T, NODE_AT(AST_BINARY, B, .text = "SIMILAR TO", .kid = {B, C, E})); }
expr(A) ::= expr(B) OVERLAPS expr(C). { A = BINARY("OVERLAPS", B, C); }
expr(A) ::= expr(B) PLUS expr(C). { A = BINARY("+", B, C); }
expr(A) ::= expr(B) MINUS expr(C). { A = BINARY("-", B, C); }
expr(A) ::= expr(B) STAR expr(C). { A = BINARY("*", B, C); }
expr(A) ::= expr(B) SLASH expr(C). { A = BINARY("/", B, C); }
expr(A) ::= expr(B) PERCENT expr(C). { A = BINARY("%", B, C); }
expr(A) ::= expr(B) CONCAT expr(C). { A = BINARY("||", B, C); }
expr(A) ::= MINUS(T) expr(B). [UMINUS] { A = UNARY(T, "-", B); }
expr(A) ::= PLUS(T) expr(B). [UMINUS] { A = UNARY(T, "+", B); }

exprs(A) ::= expr(E). { A = LIST(E); }
exprs(A) ::= exprs(L) COMMA expr(E). { A = APPEND(L, E); }
exprs_opt(A) ::= . { A = NULL; }
exprs_opt(A) ::= exprs(L). { A = L; }

primary(A) ::= name(N). [OR] { A = N; }
primary(A) ::= number(N). { A = N; }
primary(A) ::= string(S). { A = S; }
primary(A) ::= BYTES(T). { A = NODE(AST_BYTES, T, .text = T.text, .count = T.count); }
primary(A) ::= NULL(T). { A = NODE(AST_NULL, T, 0); }
primary(A) ::= TRUE(T). { A = NODE(AST_TRUE, T, 0); }
primary(A) ::= FALSE(T). { A = NODE(AST_FALSE, T, 0); }
primary(A) ::= UNKNOWN(T). { A = NODE(AST_NULL, T, .text = "UNKNOWN"); }
primary(A) ::= DATE(T) STRING(S). { A = NODE(AST_DATE, T, .text = S.text); }
primary(A) ::= TIME(T) STRING(S). { A = NODE(AST_TIME, T, .text = S.text); }
primary(A) ::= TIMESTAMP(T) STRING(S). { A = NODE(AST_TIMESTAMP, T, .text = S.text); }
primary(A) ::= INTERVAL(T) STRING(S) unit(U). [OR] { A = NODE(AST_INTERVAL, T, .text = S.text, .kid = {U}); }
primary(A) ::= INTERVAL(T) STRING(S) unit(U) TO unit(V). { A = NODE(AST_INTERVAL, T, .text = S.text, .kid = {U, V}); }
primary(A) ::= INTERVAL(T) MINUS STRING(S) unit(U). [OR] { A = NODE(AST_INTERVAL, T, .text = S.text, .flags = AST_F_NEGATIVE, .kid = {U}); }
primary(A) ::= INTERVAL(T) MINUS STRING(S) unit(U) TO unit(V).
    { A = NODE(AST_INTERVAL, T, .text = S.text, .flags = AST_F_NEGATIVE, .kid = {U, V}); }
unit(A) ::= id(I). [OR] { A = I; }
unit(A) ::= id(I) LP numbers RP. { A = I; }
primary(A) ::= paren(Q). [OR] { A = NODE_AT(AST_SUBQUERY, Q, .kid = {Q}); }
primary(A) ::= LP expr(E) RP. [OR] { A = tl_sql__flag(p, E, AST_F_PAREN); }
/* (a - b) DAY: the distance of two points in time. The unit is a word of its own here, so that it isn't taken for an alias. */
primary(A) ::= LP(T) expr(E) RP time_unit(U). [OR] { A = NODE(AST_DISTANCE, T, .kid = {E, U}); }
primary(A) ::= LP(T) expr(E) RP time_unit(U) TO time_unit(V). { A = NODE(AST_DISTANCE, T, .kid = {E, U, V}); }
time_unit(A) ::= DAY(T). { A = NODE(AST_ID, T, .text = "DAY"); }
time_unit(A) ::= HOUR(T). { A = NODE(AST_ID, T, .text = "HOUR"); }
time_unit(A) ::= MINUTE(T). { A = NODE(AST_ID, T, .text = "MINUTE"); }
time_unit(A) ::= SECOND(T). { A = NODE(AST_ID, T, .text = "SECOND"); }
time_unit(A) ::= MONTH(T). { A = NODE(AST_ID, T, .text = "MONTH"); }
time_unit(A) ::= YEAR(T). { A = NODE(AST_ID, T, .text = "YEAR"); }
primary(A) ::= LP(T) expr(E) COMMA exprs(L) RP. { A = NODE(AST_ROW, T, .kid = {tl_sql__prepend(p, E, L)}); }
primary(A) ::= ROW(T) LP exprs_opt(L) RP. { A = NODE(AST_ROW, T, .kid = {L}); }
primary(A) ::= ARRAY(T) LBRACKET exprs_opt(L) RBRACKET. { A = NODE(AST_ARRAY, T, .kid = {L}); }
primary(A) ::= ARRAY(T) paren(Q). { A = NODE(AST_ARRAY, T, .kid = {Q}); }
primary(A) ::= MAP(T) LBRACKET exprs_opt(L) RBRACKET. { A = NODE(AST_MAP, T, .kid = {L}); }
primary(A) ::= MULTISET(T) LBRACKET exprs_opt(L) RBRACKET. { A = NODE(AST_CALL, T, .text = "MULTISET", .kid = {L}); }
primary(A) ::= primary(B) LBRACKET expr(I) RBRACKET. { A = NODE_AT(AST_INDEX, B, .kid = {B, I}); }
primary(A) ::= primary(B) DOT ID(T). { A = NODE_AT(AST_FIELD, B, .text = T.text, .kid = {B}); }
primary(A) ::= EXISTS(T) paren(Q). { A = NODE(AST_EXISTS, T, .kid = {Q}); }
primary(A) ::= CASE(T) whens(L) else_opt(E) END. { A = NODE(AST_CASE, T, .kid = {NULL, L, E}); }
primary(A) ::= CASE(T) expr(O) whens(L) else_opt(E) END. { A = NODE(AST_CASE, T, .kid = {O, L, E}); }
whens(A) ::= WHEN expr(C) THEN expr(V). { A = APPEND(LIST(C), V); }
whens(A) ::= whens(L) WHEN expr(C) THEN expr(V). { A = APPEND(APPEND(L, C), V); }
else_opt(A) ::= . { A = NULL; }
else_opt(A) ::= ELSE expr(E). { A = E; }
primary(A) ::= CAST(T) LP expr(E) AS type(Y) RP. { A = NODE(AST_CAST, T, .kid = {E, Y}); }
primary(A) ::= TRY_CAST(T) LP expr(E) AS type(Y) RP. { A = NODE(AST_CAST, T, .flags = AST_F_TRY, .kid = {E, Y}); }

/* Functions with a syntax of their own. */
primary(A) ::= EXTRACT(T) LP id(U) FROM expr(E) RP. { A = CALL2(T, "EXTRACT", NODE(AST_UNIT, T, .text = U != NULL ? U->text : ""), E); }
primary(A) ::= FLOOR(T) LP expr(E) RP. { A = CALL1(T, "FLOOR", E); }
primary(A) ::= FLOOR(T) LP expr(E) TO id(U) RP. { A = CALL2(T, "FLOOR", E, NODE(AST_UNIT, T, .text = U != NULL ? U->text : "")); }
%type ceil {tl_sql_token}
ceil(A) ::= CEIL(T). { A = T; }
ceil(A) ::= CEILING(T). { A = T; }
primary(A) ::= ceil(T) LP expr(E) RP. { A = CALL1(T, "CEIL", E); }
primary(A) ::= ceil(T) LP expr(E) TO id(U) RP. { A = CALL2(T, "CEIL", E, NODE(AST_UNIT, T, .text = U != NULL ? U->text : "")); }
primary(A) ::= SUBSTRING(T) LP expr(E) FROM expr(F) RP. { A = CALL2(T, "SUBSTRING", E, F); }
primary(A) ::= SUBSTRING(T) LP expr(E) FROM expr(F) FOR expr(N) RP. { A = NODE(AST_CALL, T, .text = "SUBSTRING", .kid = {APPEND(APPEND(LIST(E), F), N)}); }
primary(A) ::= SUBSTRING(T) LP exprs(L) RP. { A = NODE(AST_CALL, T, .text = "SUBSTRING", .kid = {L}); }
primary(A) ::= POSITION(T) LP primary(E) IN expr(F) RP. { A = CALL2(T, "POSITION", E, F); }
primary(A) ::= OVERLAY(T) LP expr(E) PLACING expr(B) FROM expr(F) RP. { A = NODE(AST_CALL, T, .text = "OVERLAY", .kid = {APPEND(APPEND(LIST(E), B), F)}); }
primary(A) ::= OVERLAY(T) LP expr(E) PLACING expr(B) FROM expr(F) FOR expr(N) RP.
    { A = NODE(AST_CALL, T, .text = "OVERLAY", .kid = {APPEND(APPEND(APPEND(LIST(E), B), F), N)}); }
primary(A) ::= TRIM(T) LP expr(E) RP. { A = CALL1(T, "TRIM", E); }
primary(A) ::= TRIM(T) LP expr(C) FROM expr(E) RP. { A = CALL2(T, "TRIM", E, C); }
%type trim_side {const char *}
trim_side(A) ::= BOTH. { A = "TRIM"; }
trim_side(A) ::= LEADING. { A = "TRIM LEADING"; }
trim_side(A) ::= TRAILING. { A = "TRIM TRAILING"; }
primary(A) ::= TRIM(T) LP trim_side(S) FROM expr(E) RP. { A = CALL1(T, S, E); }
primary(A) ::= TRIM(T) LP trim_side(S) expr(C) FROM expr(E) RP. { A = CALL2(T, S, E, C); }
primary(A) ::= LEFT(T) LP exprs(L) RP. { A = NODE(AST_CALL, T, .text = "LEFT", .kid = {L}); }
primary(A) ::= RIGHT(T) LP exprs(L) RP. { A = NODE(AST_CALL, T, .text = "RIGHT", .kid = {L}); }

/* JSON functions. */
primary(A) ::= JSON_EXISTS(T) LP expr(E) COMMA expr(F) json_clauses(C) RP.
    { A = NODE(AST_JSON, T, .text = "JSON_EXISTS", .kid = {APPEND(LIST(E), F), NULL, C}); }
primary(A) ::= JSON_VALUE(T) LP expr(E) COMMA expr(F) json_returning(R) json_clauses(C) RP.
    { A = NODE(AST_JSON, T, .text = "JSON_VALUE", .kid = {APPEND(LIST(E), F), R, C}); }
primary(A) ::= JSON_QUERY(T) LP expr(E) COMMA expr(F) json_returning(R) json_wrapper(W) json_clauses(C) RP.
    { A = NODE(AST_JSON, T, .text = "JSON_QUERY", .flags = W, .kid = {APPEND(LIST(E), F), R, C}); }
json_returning(A) ::= . { A = NULL; }
json_returning(A) ::= RETURNING ID(T) type_args(N). { A = NODE(AST_TYPE, T, .text = T.text, .kid = {N}); }
json_returning(A) ::= RETURNING ARRAY(T) LT type(E) GT. { A = NODE(AST_TYPE, T, .text = "ARRAY", .kid = {NULL, LIST(E)}); }
%type json_wrapper {uint32_t}
json_wrapper(A) ::= . { A = 0; }
json_wrapper(A) ::= WITHOUT array_opt WRAPPER. { A = 0; }
json_wrapper(A) ::= WITH array_opt WRAPPER. { A = AST_F_WRAPPER; }
json_wrapper(A) ::= WITH UNCONDITIONAL array_opt WRAPPER. { A = AST_F_WRAPPER; }
json_wrapper(A) ::= WITH CONDITIONAL array_opt WRAPPER. { A = AST_F_WRAPPER | AST_F_CONDITIONAL; }
array_opt ::= .
array_opt ::= ARRAY.
json_clauses(A) ::= . { A = NULL; }
json_clauses(A) ::= json_clauses(L) json_clause(C). { A = APPEND(L, C); }
%type json_when {uint32_t}
json_when(A) ::= ON EMPTY. { A = AST_F_ON_EMPTY; }
json_when(A) ::= ON ERROR. { A = 0; }
json_clause(A) ::= NULL(T) json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "NULL", .flags = W); }
json_clause(A) ::= ERROR(T) json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "ERROR", .flags = W); }
json_clause(A) ::= TRUE(T) json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "TRUE", .flags = W); }
json_clause(A) ::= FALSE(T) json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "FALSE", .flags = W); }
json_clause(A) ::= UNKNOWN(T) json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "UNKNOWN", .flags = W); }
json_clause(A) ::= DEFAULT(T) expr(E) json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "DEFAULT", .flags = W, .kid = {E}); }
json_clause(A) ::= EMPTY(T) ARRAY json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "EMPTY ARRAY", .flags = W); }
json_clause(A) ::= EMPTY(T) OBJECT json_when(W). { A = NODE(AST_JSON_CLAUSE, T, .text = "EMPTY OBJECT", .flags = W); }
primary(A) ::= JSON_OBJECT(T) LP RP. { A = NODE(AST_JSON, T, .text = "JSON_OBJECT"); }
primary(A) ::= JSON_OBJECT(T) LP json_pairs(L) on_null(F) RP. { A = NODE(AST_JSON, T, .text = "JSON_OBJECT", .flags = F, .kid = {L}); }
primary(A) ::= JSON_OBJECTAGG(T) LP json_pair(L) on_null(F) RP filter_opt(W).
    { A = NODE(AST_JSON, T, .text = "JSON_OBJECTAGG", .flags = F, .kid = {L, NULL, NULL, W}); }
primary(A) ::= JSON_ARRAY(T) LP RP. { A = NODE(AST_JSON, T, .text = "JSON_ARRAY"); }
primary(A) ::= JSON_ARRAY(T) LP exprs(L) on_null(F) RP. { A = NODE(AST_JSON, T, .text = "JSON_ARRAY", .flags = F, .kid = {L}); }
primary(A) ::= JSON_ARRAYAGG(T) LP expr(E) on_null(F) RP filter_opt(W).
    { A = NODE(AST_JSON, T, .text = "JSON_ARRAYAGG", .flags = F, .kid = {LIST(E), NULL, NULL, W}); }
json_pair(A) ::= expr(K) VALUE expr(V). { A = APPEND(LIST(K), V); }
json_pair(A) ::= KEY expr(K) VALUE expr(V). { A = APPEND(LIST(K), V); }
json_pairs(A) ::= json_pair(L). { A = L; }
json_pairs(A) ::= json_pairs(L) COMMA expr(K) VALUE expr(V). { A = APPEND(APPEND(L, K), V); }
json_pairs(A) ::= json_pairs(L) COMMA KEY expr(K) VALUE expr(V). { A = APPEND(APPEND(L, K), V); }
%type on_null {uint32_t}
on_null(A) ::= . { A = 0; }
on_null(A) ::= NULL ON NULL. { A = AST_F_NULL_ON_NULL; }
on_null(A) ::= ABSENT ON NULL. { A = AST_F_ABSENT; }

/* Calls. */
primary(A) ::= name(N) LP call_args(L) RP within_opt(O) filter_opt(F) over_opt(W). { A = tl_sql__call(p, N, 0, L, O, F, W); }
primary(A) ::= name(N) LP DISTINCT call_args(L) RP within_opt(O) filter_opt(F) over_opt(W). { A = tl_sql__call(p, N, AST_F_DISTINCT, L, O, F, W); }
primary(A) ::= name(N) LP ALL call_args(L) RP within_opt(O) filter_opt(F) over_opt(W). { A = tl_sql__call(p, N, 0, L, O, F, W); }
primary(A) ::= name(N) LP STAR RP filter_opt(F) over_opt(W). { A = tl_sql__call(p, N, AST_F_STAR, NULL, NULL, F, W); }
call_args(A) ::= . { A = NULL; }
call_args(A) ::= call_arg_list(L). { A = L; }
call_arg_list(A) ::= call_arg(E). { A = LIST(E); }
call_arg_list(A) ::= call_arg_list(L) COMMA call_arg(E). { A = APPEND(L, E); }
call_arg(A) ::= arg_value(V). { A = V; }
call_arg(A) ::= ID(T) ARROW arg_value(V). { A = NODE(AST_ARG, T, .text = T.text, .kid = {V}); }
arg_value(A) ::= expr(E). { A = E; }
arg_value(A) ::= DEFAULT(T). { A = NODE(AST_DEFAULT, T, 0); }
arg_value(A) ::= TABLE(T) name(N) arg_partition(P) arg_order(O). { A = NODE(AST_TABLE_ARG, T, .kid = {N, P, O}); }
arg_value(A) ::= TABLE(T) paren(Q) arg_partition(P) arg_order(O). { A = NODE(AST_TABLE_ARG, T, .kid = {Q, P, O}); }
arg_value(A) ::= DESCRIPTOR(T) LP ids(L) RP. { A = NODE(AST_DESCRIPTOR, T, .kid = {L}); }
/* One column, or several in parentheses (a row): a comma goes on with the arguments. */
arg_partition(A) ::= . { A = NULL; }
arg_partition(A) ::= PARTITION BY expr(E). { A = LIST(E); }
arg_order(A) ::= . { A = NULL; }
arg_order(A) ::= ORDER BY order_item(O). { A = LIST(O); }
within_opt(A) ::= . { A = NULL; }
within_opt(A) ::= WITHIN GROUP LP ORDER BY order_items(L) RP. { A = L; }
filter_opt(A) ::= . { A = NULL; }
filter_opt(A) ::= FILTER LP WHERE expr(E) RP. { A = E; }
over_opt(A) ::= . { A = NULL; }
over_opt(A) ::= OVER id(I). { A = I; }
over_opt(A) ::= OVER window_spec(W). { A = W; }
window_spec(A) ::= LP(T) window_base(B) partition_by(P) order_by(O) frame_opt(F) RP. { A = NODE(AST_WINDOW, T, .kid = {B, P, O, F}); }
window_base(A) ::= . { A = NULL; }
window_base(A) ::= id(I). { A = I; }
partition_by(A) ::= . { A = NULL; }
partition_by(A) ::= PARTITION BY exprs(L). { A = L; }
frame_opt(A) ::= . { A = NULL; }
frame_opt(A) ::= frame_unit(T) bound(B). { A = NODE(AST_FRAME, T, .text = T.text, .kid = {B}); }
frame_opt(A) ::= frame_unit(T) BETWEEN bound(B) AND bound(C). { A = NODE(AST_FRAME, T, .text = T.text, .kid = {B, C}); }
%type frame_unit {tl_sql_token}
frame_unit(A) ::= ROWS(T). { A = T; A.text = "ROWS"; }
frame_unit(A) ::= RANGE(T). { A = T; A.text = "RANGE"; }
bound(A) ::= UNBOUNDED(T) PRECEDING. { A = NODE(AST_BOUND, T, .text = "UNBOUNDED PRECEDING"); }
bound(A) ::= UNBOUNDED(T) FOLLOWING. { A = NODE(AST_BOUND, T, .text = "UNBOUNDED FOLLOWING"); }
bound(A) ::= CURRENT(T) ROW. { A = NODE(AST_BOUND, T, .text = "CURRENT ROW"); }
bound(A) ::= expr(E) PRECEDING. { A = NODE_AT(AST_BOUND, E, .text = "PRECEDING", .kid = {E}); }
bound(A) ::= expr(E) FOLLOWING. { A = NODE_AT(AST_BOUND, E, .text = "FOLLOWING", .kid = {E}); }

/* ---- queries ---- */

paren(A) ::= LP query(Q) RP. [OVERLAPS] { A = Q; }
query(A) ::= query_body(B) order_by(O) limits(L). { A = tl_sql__query(p, NULL, B, O, L); }
query(A) ::= WITH ctes(C) query_body(B) order_by(O) limits(L). { A = tl_sql__query(p, C, B, O, L); }
ctes(A) ::= cte(C). { A = LIST(C); }
ctes(A) ::= ctes(L) COMMA cte(C). { A = APPEND(L, C); }
cte(A) ::= ID(T) AS paren(Q). { A = NODE(AST_CTE, T, .text = T.text, .kid = {NULL, Q}); }
cte(A) ::= ID(T) ids_paren(L) AS paren(Q). { A = NODE(AST_CTE, T, .text = T.text, .kid = {L, Q}); }
query_body(A) ::= query_term(B). { A = B; }
query_body(A) ::= query_body(B) UNION query_term(C). { A = tl_sql__setop(p, "UNION", 0, B, C); }
query_body(A) ::= query_body(B) UNION DISTINCT query_term(C). { A = tl_sql__setop(p, "UNION", 0, B, C); }
query_body(A) ::= query_body(B) UNION ALL query_term(C). { A = tl_sql__setop(p, "UNION", AST_F_ALL, B, C); }
query_body(A) ::= query_body(B) EXCEPT query_term(C). { A = tl_sql__setop(p, "EXCEPT", 0, B, C); }
query_body(A) ::= query_body(B) EXCEPT ALL query_term(C). { A = tl_sql__setop(p, "EXCEPT", AST_F_ALL, B, C); }
query_term(A) ::= query_primary(B). { A = B; }
query_term(A) ::= query_term(B) INTERSECT query_primary(C). { A = tl_sql__setop(p, "INTERSECT", 0, B, C); }
query_term(A) ::= query_term(B) INTERSECT ALL query_primary(C). { A = tl_sql__setop(p, "INTERSECT", AST_F_ALL, B, C); }
query_primary(A) ::= paren(Q). [IS] { A = Q; }
query_primary(A) ::= VALUES(T) exprs(L). { A = NODE(AST_VALUES, T, .kid = {L}); }
query_primary(A) ::= TABLE(T) name(N). { A = NODE(AST_TABLE_STMT, T, .kid = {N}); }
query_primary(A) ::= SELECT(T) hints(H) distinct_opt(D) items(I) from_opt(F) where_opt(W) group_by(G) having_opt(V) windows_opt(N) qualify_opt(Q).
    { A = NODE(AST_SELECT, T, .flags = D, .kid = {H, I, F, W, G, V, N, Q}); }
%type distinct_opt {uint32_t}
distinct_opt(A) ::= . { A = 0; }
distinct_opt(A) ::= DISTINCT. { A = AST_F_DISTINCT; }
distinct_opt(A) ::= ALL. { A = 0; }
items(A) ::= item(I). { A = LIST(I); }
items(A) ::= items(L) COMMA item(I). { A = APPEND(L, I); }
item(A) ::= expr(E). { A = NODE_AT(AST_ITEM, E, .kid = {E}); }
item(A) ::= expr(E) AS ID(T). { A = NODE_AT(AST_ITEM, E, .text = T.text, .kid = {E}); }
item(A) ::= expr(E) ID(T). { A = NODE_AT(AST_ITEM, E, .text = T.text, .kid = {E}); }
item(A) ::= STAR(T). { A = NODE(AST_ITEM, T, .kid = {NODE(AST_STAR, T, 0)}); }
item(A) ::= name(N) DOT STAR(T). { A = NODE(AST_ITEM, T, .kid = {NODE(AST_STAR, T, .kid = {N})}); }
from_opt(A) ::= . { A = NULL; }
from_opt(A) ::= FROM from(F). { A = F; }
from(A) ::= table_ref(T). { A = T; }
from(A) ::= from(F) COMMA table_ref(T). { A = NODE_AT(AST_JOIN, F, .text = ",", .kid = {F, T}); }
where_opt(A) ::= . { A = NULL; }
where_opt(A) ::= WHERE expr(E). { A = E; }
group_by(A) ::= . { A = NULL; }
group_by(A) ::= GROUP BY groupings(L). { A = L; }
group_by(A) ::= GROUP BY DISTINCT groupings(L). { A = L; }
groupings(A) ::= grouping(G). { A = LIST(G); }
groupings(A) ::= groupings(L) COMMA grouping(G). { A = APPEND(L, G); }
grouping(A) ::= expr(E). { A = E; }
grouping(A) ::= LP(T) RP. { A = NODE(AST_GROUP_SET, T, 0); }
grouping(A) ::= GROUPING_SETS(T) LP groupings(L) RP. { A = NODE(AST_GROUPING, T, .text = "SETS", .kid = {L}); }
grouping(A) ::= CUBE(T) LP exprs(L) RP. { A = NODE(AST_GROUPING, T, .text = "CUBE", .kid = {L}); }
grouping(A) ::= ROLLUP(T) LP exprs(L) RP. { A = NODE(AST_GROUPING, T, .text = "ROLLUP", .kid = {L}); }
having_opt(A) ::= . { A = NULL; }
having_opt(A) ::= HAVING expr(E). { A = E; }
windows_opt(A) ::= . { A = NULL; }
windows_opt(A) ::= WINDOW window_defs(L). { A = L; }
window_defs(A) ::= window_def(W). { A = LIST(W); }
window_defs(A) ::= window_defs(L) COMMA window_def(W). { A = APPEND(L, W); }
window_def(A) ::= ID(T) AS window_spec(W). { A = W; if (A != NULL) A->text = T.text; }
qualify_opt(A) ::= . { A = NULL; }
qualify_opt(A) ::= QUALIFY expr(E). { A = E; }
order_by(A) ::= . { A = NULL; }
order_by(A) ::= ORDER BY order_items(L). { A = L; }
order_items(A) ::= order_item(O). { A = LIST(O); }
order_items(A) ::= order_items(L) COMMA order_item(O). { A = APPEND(L, O); }
order_item(A) ::= expr(E) direction(D) nulls(N). { A = NODE_AT(AST_ORDER, E, .flags = D | N, .kid = {E}); }
%type direction {uint32_t}
direction(A) ::= . { A = 0; }
direction(A) ::= ASC. { A = 0; }
direction(A) ::= DESC. { A = AST_F_DESC; }
%type nulls {uint32_t}
nulls(A) ::= . { A = 0; }
nulls(A) ::= NULLS FIRST. { A = AST_F_NULLS_FIRST; }
nulls(A) ::= NULLS LAST. { A = AST_F_NULLS_LAST; }
/* A pair: offset, limit. */
limits(A) ::= . { A = NULL; }
limits(A) ::= LIMIT expr(N). { A = NODE_AT(AST_ROW, N, .kid = {NULL, N}); }
limits(A) ::= LIMIT ALL. { A = NULL; }
limits(A) ::= LIMIT expr(N) OFFSET expr(O) rows_opt. { A = NODE_AT(AST_ROW, N, .kid = {O, N}); }
limits(A) ::= OFFSET expr(O) rows_opt. { A = NODE_AT(AST_ROW, O, .kid = {O, NULL}); }
limits(A) ::= OFFSET expr(O) rows_opt LIMIT expr(N). { A = NODE_AT(AST_ROW, O, .kid = {O, N}); }
limits(A) ::= OFFSET expr(O) rows_opt FETCH next_or_first expr(N) rows ONLY. { A = NODE_AT(AST_ROW, O, .kid = {O, N}); }
limits(A) ::= FETCH next_or_first expr(N) rows ONLY. { A = NODE_AT(AST_ROW, N, .kid = {NULL, N}); }
rows ::= ROW.
rows ::= ROWS.
rows_opt ::= .
rows_opt ::= rows.
next_or_first ::= NEXT.
next_or_first ::= FIRST.

hints(A) ::= . { A = NULL; }
hints(A) ::= HINT hint_list(L) HINT_END. { A = L; }
hint_list(A) ::= hint(H). { A = LIST(H); }
hint_list(A) ::= hint_list(L) comma_opt hint(H). { A = APPEND(L, H); }
comma_opt ::= .
comma_opt ::= COMMA.
hint(A) ::= ID(T). { A = NODE(AST_HINT, T, .text = T.text); }
hint(A) ::= ID(T) LP hint_args(L) RP. { A = NODE(AST_HINT, T, .text = T.text, .kid = {L}); }
hint(A) ::= OPTIONS(T) LP hint_args(L) RP. { A = NODE(AST_HINT, T, .text = T.text, .kid = {L}); }
hint_args(A) ::= hint_arg(O). { A = LIST(O); }
hint_args(A) ::= hint_args(L) COMMA hint_arg(O). { A = APPEND(L, O); }
hint_arg(A) ::= option(O). { A = O; }
hint_arg(A) ::= string(S). { A = S; }
hint_arg(A) ::= number(S). { A = S; }
hint_arg(A) ::= name(N). { A = N; }

/* ---- FROM ---- */

table_ref(A) ::= table_factor(T). { A = T; }
table_ref(A) ::= joined(T). { A = T; }
joined(A) ::= table_ref(L) CROSS JOIN table_factor(R). { A = NODE_AT(AST_JOIN, L, .text = "CROSS", .kid = {L, R}); }
joined(A) ::= table_ref(L) join_kind(K) JOIN table_factor(R) ON expr(E). { A = NODE_AT(AST_JOIN, L, .text = K, .kid = {L, R, E}); }
joined(A) ::= table_ref(L) join_kind(K) JOIN table_factor(R) USING ids_paren(U). { A = NODE_AT(AST_JOIN, L, .text = K, .kid = {L, R, NULL, U}); }
joined(A) ::= table_ref(L) NATURAL join_kind(K) JOIN table_factor(R). { A = NODE_AT(AST_JOIN, L, .text = K, .flags = AST_F_NATURAL, .kid = {L, R}); }
%type join_kind {const char *}
join_kind(A) ::= . { A = "INNER"; }
join_kind(A) ::= INNER. { A = "INNER"; }
join_kind(A) ::= LEFT outer_opt. { A = "LEFT"; }
join_kind(A) ::= RIGHT outer_opt. { A = "RIGHT"; }
join_kind(A) ::= FULL outer_opt. { A = "FULL"; }
outer_opt ::= .
outer_opt ::= OUTER.
table_factor(A) ::= name(N) hints(H) as_of(F) alias(L). { A = tl_sql__alias(p, NODE_AT(AST_TABLE, N, .kid = {N, H, F}), L); }
table_factor(A) ::= paren(Q) alias(L). { A = tl_sql__alias(p, NODE_AT(AST_DERIVED, Q, .kid = {Q}), L); }
table_factor(A) ::= LATERAL paren(Q) alias(L). { A = tl_sql__alias(p, NODE_AT(AST_DERIVED, Q, .flags = AST_F_LATERAL, .kid = {Q}), L); }
table_factor(A) ::= LP joined(J) RP. { A = J; }
table_factor(A) ::= TABLE LP table_call(C) RP alias(L). { A = tl_sql__alias(p, NODE_AT(AST_TABLE_FN, C, .kid = {C}), L); }
table_factor(A) ::= LATERAL TABLE LP table_call(C) RP alias(L). { A = tl_sql__alias(p, NODE_AT(AST_TABLE_FN, C, .flags = AST_F_LATERAL, .kid = {C}), L); }
table_factor(A) ::= table_call(C) alias(L). { A = tl_sql__alias(p, NODE_AT(AST_TABLE_FN, C, .kid = {C}), L); }
table_factor(A) ::= UNNEST(T) LP expr(E) RP ordinality(O) alias(L). { A = tl_sql__alias(p, NODE(AST_UNNEST, T, .flags = O, .kid = {E}), L); }
table_call(A) ::= name(N) LP call_args(L) RP. { A = tl_sql__call(p, N, 0, L, NULL, NULL, NULL); }
%type ordinality {uint32_t}
ordinality(A) ::= . { A = 0; }
ordinality(A) ::= WITH ORDINALITY. { A = AST_F_ORDINALITY; }
as_of(A) ::= . { A = NULL; }
as_of(A) ::= FOR SYSTEM_TIME AS OF expr(E). { A = E; }
/* A pair: name and columns, as a LIST node with a text. */
alias(A) ::= . { A = NULL; }
alias(A) ::= AS ID(T). { A = NODE(AST_ID, T, .text = T.text); }
alias(A) ::= ID(T). { A = NODE(AST_ID, T, .text = T.text); }
alias(A) ::= AS ID(T) ids_paren(L). { A = NODE(AST_ID, T, .text = T.text, .kid = {L}); }
alias(A) ::= ID(T) ids_paren(L). { A = NODE(AST_ID, T, .text = T.text, .kid = {L}); }

/* ---- statements ---- */

statement(A) ::= query(Q). { A = Q; }
statement(A) ::= insert(I). { A = I; }
statement(A) ::= EXECUTE insert(I). { A = I; }
statement(A) ::= EXECUTE query(Q). { A = Q; }
statement(A) ::= EXECUTE(T) STATEMENT SET BEGIN inserts(L) END. { A = NODE(AST_STATEMENT_SET, T, .kid = {L}); }
statement(A) ::= BEGIN(T) STATEMENT SET SEMI inserts(L) END. { A = NODE(AST_STATEMENT_SET, T, .kid = {L}); }
inserts(A) ::= insert(I) SEMI. { A = LIST(I); }
inserts(A) ::= inserts(L) insert(I) SEMI. { A = APPEND(L, I); }
insert(A) ::= INSERT(T) into(O) name(N) hints(H) partition_opt(P) query(Q).
    { A = NODE(AST_INSERT, T, .flags = O, .kid = {N, H, P, NULL, Q}); }
insert(A) ::= INSERT(T) into(O) name(N) hints(H) partition_opt(P) LP names(C) RP query(Q).
    { A = NODE(AST_INSERT, T, .flags = O, .kid = {N, H, P, C, Q}); }
%type into {uint32_t}
into(A) ::= INTO. { A = 0; }
into(A) ::= OVERWRITE. { A = AST_F_OVERWRITE; }
into(A) ::= OVERWRITE INTO. { A = AST_F_OVERWRITE; }
partition_opt(A) ::= . { A = NULL; }
partition_opt(A) ::= partition(P). { A = P; }
partition(A) ::= PARTITION LP partition_items(L) RP. { A = L; }
partition_items(A) ::= partition_item(I). { A = LIST(I); }
partition_items(A) ::= partition_items(L) COMMA partition_item(I). { A = APPEND(L, I); }
partition_item(A) ::= id(I). { A = NODE_AT(AST_OPTION, I, .kid = {I}); }
partition_item(A) ::= id(I) EQ expr(E). { A = NODE_AT(AST_OPTION, I, .kid = {I, E}); }

statement(A) ::= SET(T). { A = NODE(AST_SET, T, 0); }
statement(A) ::= SET(T) string(K) EQ string(V). { A = NODE(AST_SET, T, .kid = {K, V}); }
statement(A) ::= RESET(T). { A = NODE(AST_RESET, T, 0); }
statement(A) ::= RESET(T) string(K). { A = NODE(AST_RESET, T, .kid = {K}); }

statement(A) ::= CREATE(T) CATALOG if_not_exists(F) name(N) comment_opt(C) with_opt(O). { A = NODE(AST_CREATE_CATALOG, T, .flags = F, .kid = {N, O, C}); }
statement(A) ::= CREATE(T) DATABASE if_not_exists(F) name(N) comment_opt(C) with_opt(O). { A = NODE(AST_CREATE_DATABASE, T, .flags = F, .kid = {N, O, C}); }
statement(A) ::= CREATE(T) temporary_opt(F) TABLE if_not_exists(G) name(N) table_elements(E) comment_opt(C) partitioned_opt(P) with_opt(O) like_opt(L) ctas_opt(Q).
    { A = NODE(AST_CREATE_TABLE, T, .flags = F | G, .kid = {N, E, C, P, O, L, Q}); }
statement(A) ::= CREATE(T) OR REPLACE temporary_opt(F) TABLE if_not_exists(G) name(N) table_elements(E) comment_opt(C) partitioned_opt(P) with_opt(O) like_opt(L) ctas_opt(Q).
    { A = NODE(AST_CREATE_TABLE, T, .flags = F | G | AST_F_REPLACE, .kid = {N, E, C, P, O, L, Q}); }
table_elements(A) ::= . { A = NULL; }
table_elements(A) ::= LP element_list(L) RP. { A = L; }
element_list(A) ::= element(E). { A = LIST(E); }
element_list(A) ::= element_list(L) COMMA element(E). { A = APPEND(L, E); }
element(A) ::= column(C). { A = C; }
element(A) ::= watermark(W). { A = W; }
element(A) ::= primary_key(K). { A = K; }
column(A) ::= ID(T) type(Y) metadata_opt(M) column_key(K) comment_opt(C) position_opt(P).
    { A = NODE(AST_COLUMN, T, .text = T.text, .flags = M != NULL ? M->flags : 0, .kid = {Y, NULL, C, M, K, P}); }
column(A) ::= ID(T) AS expr(E) comment_opt(C) position_opt(P). { A = NODE(AST_COLUMN, T, .text = T.text, .kid = {NULL, E, C, NULL, NULL, P}); }
metadata_opt(A) ::= . { A = NULL; }
metadata_opt(A) ::= METADATA(T) virtual_opt(V). { A = NODE(AST_ID, T, .text = "METADATA", .flags = V); }
metadata_opt(A) ::= METADATA FROM string(S) virtual_opt(V). { A = tl_sql__flag(p, S, V); }
%type virtual_opt {uint32_t}
virtual_opt(A) ::= . { A = 0; }
virtual_opt(A) ::= VIRTUAL. { A = AST_F_VIRTUAL; }
column_key(A) ::= . { A = NULL; }
column_key(A) ::= PRIMARY(T) KEY enforced. { A = NODE(AST_PRIMARY_KEY, T, 0); }
enforced ::= .
enforced ::= NOT ENFORCED.
position_opt(A) ::= . { A = NULL; }
position_opt(A) ::= FIRST(T). { A = NODE(AST_POSITION, T, .text = "FIRST"); }
position_opt(A) ::= AFTER(T) name(N). { A = NODE(AST_POSITION, T, .text = "AFTER", .kid = {N}); }
watermark(A) ::= WATERMARK(T) FOR name(N) AS expr(E). { A = NODE(AST_WATERMARK, T, .kid = {N, E}); }
primary_key(A) ::= PRIMARY(T) KEY ids_paren(L) enforced. { A = NODE(AST_PRIMARY_KEY, T, .kid = {L}); }
primary_key(A) ::= CONSTRAINT ID PRIMARY(T) KEY ids_paren(L) enforced. { A = NODE(AST_PRIMARY_KEY, T, .kid = {L}); }
partitioned_opt(A) ::= . { A = NULL; }
partitioned_opt(A) ::= PARTITIONED BY ids_paren(L). { A = L; }
like_opt(A) ::= . { A = NULL; }
like_opt(A) ::= LIKE(T) name(N). { A = NODE(AST_LIKE, T, .kid = {N}); }
like_opt(A) ::= LIKE(T) name(N) LP like_items(L) RP. { A = NODE(AST_LIKE, T, .kid = {N, L}); }
like_items(A) ::= like_item(I). { A = LIST(I); }
like_items(A) ::= like_items(L) like_item(I). { A = APPEND(L, I); }
like_item(A) ::= like_verb(V) like_what(W). { A = NODE(AST_ID, V, .text = tl_sql__join(p, V.text, W)); }
%type like_verb {tl_sql_token}
like_verb(A) ::= INCLUDING(T). { A = T; A.text = "INCLUDING"; }
like_verb(A) ::= EXCLUDING(T). { A = T; A.text = "EXCLUDING"; }
like_verb(A) ::= OVERWRITING(T). { A = T; A.text = "OVERWRITING"; }
%type like_what {const char *}
like_what(A) ::= ALL. { A = "ALL"; }
like_what(A) ::= CONSTRAINTS. { A = "CONSTRAINTS"; }
like_what(A) ::= DISTRIBUTION. { A = "DISTRIBUTION"; }
like_what(A) ::= GENERATED. { A = "GENERATED"; }
like_what(A) ::= METADATA. { A = "METADATA"; }
like_what(A) ::= OPTIONS. { A = "OPTIONS"; }
like_what(A) ::= PARTITIONS. { A = "PARTITIONS"; }
like_what(A) ::= WATERMARKS. { A = "WATERMARKS"; }
ctas_opt(A) ::= . { A = NULL; }
ctas_opt(A) ::= AS query(Q). { A = Q; }
statement(A) ::= CREATE(T) temporary_opt(F) VIEW if_not_exists(G) name(N) view_columns(C) comment_opt(K) AS(S) query(Q).
    { A = NODE(AST_CREATE_VIEW, T, .flags = F | G, .text = tl_sql__rest(p, &S), .kid = {N, C, K, Q}); }
view_columns(A) ::= . { A = NULL; }
view_columns(A) ::= ids_paren(L). { A = L; }

%type drop_kind {const char *}
drop_kind(A) ::= CATALOG. { A = "CATALOG"; }
drop_kind(A) ::= DATABASE. { A = "DATABASE"; }
drop_kind(A) ::= TABLE. { A = "TABLE"; }
drop_kind(A) ::= VIEW. { A = "VIEW"; }
%type cascade_opt {uint32_t}
cascade_opt(A) ::= . { A = 0; }
cascade_opt(A) ::= RESTRICT. { A = 0; }
cascade_opt(A) ::= CASCADE. { A = AST_F_CASCADE; }
statement(A) ::= DROP(T) temporary_opt(F) drop_kind(K) if_exists(G) name(N) cascade_opt(C). { A = NODE(AST_DROP, T, .text = K, .flags = F | G | C, .kid = {N}); }

statement(A) ::= DROP(T) function_scope FUNCTION if_exists(G) name(N). { A = NODE(AST_DROP, T, .text = "FUNCTION", .flags = G, .kid = {N}); }
statement(A) ::= CREATE(T) function_scope FUNCTION if_not_exists(G) name(N) AS string(S) language_opt.
    { A = NODE(AST_CREATE_FUNCTION, T, .flags = G, .kid = {N, S}); }
language_opt ::= .
language_opt ::= ID ID.
function_scope ::= .
function_scope ::= TEMPORARY.
function_scope ::= TEMPORARY SYSTEM.

statement(A) ::= USE(T) name(N). { A = NODE(AST_USE, T, .text = "DATABASE", .kid = {N}); }
statement(A) ::= USE(T) CATALOG name(N). { A = NODE(AST_USE, T, .text = "CATALOG", .kid = {N}); }
statement(A) ::= USE(T) MODULES ids. { A = NODE(AST_USE, T, .text = "MODULES"); }

statement(A) ::= SHOW(T) CATALOGS like_pattern(L). { A = NODE(AST_SHOW, T, .text = "CATALOGS", .kid = {NULL, L}, .flags = L != NULL ? L->flags : 0); }
statement(A) ::= SHOW(T) CURRENT CATALOG. { A = NODE(AST_SHOW, T, .text = "CURRENT CATALOG"); }
statement(A) ::= SHOW(T) CURRENT DATABASE. { A = NODE(AST_SHOW, T, .text = "CURRENT DATABASE"); }
statement(A) ::= SHOW(T) show_kind(K) show_from(F) like_pattern(L). { A = NODE(AST_SHOW, T, .text = K, .kid = {F, L}, .flags = L != NULL ? L->flags : 0); }
%type show_kind {const char *}
show_kind(A) ::= DATABASES. { A = "DATABASES"; }
show_kind(A) ::= TABLES. { A = "TABLES"; }
show_kind(A) ::= VIEWS. { A = "VIEWS"; }
show_kind(A) ::= COLUMNS. { A = "COLUMNS"; }
show_kind(A) ::= FUNCTIONS. { A = "FUNCTIONS"; }
show_kind(A) ::= USER FUNCTIONS. { A = "USER FUNCTIONS"; }
show_kind(A) ::= PROCEDURES. { A = "PROCEDURES"; }
show_kind(A) ::= MODULES. { A = "MODULES"; }
show_kind(A) ::= FULL MODULES. { A = "FULL MODULES"; }
show_kind(A) ::= JOBS. { A = "JOBS"; }
show_kind(A) ::= JARS. { A = "JARS"; }
show_from(A) ::= . { A = NULL; }
show_from(A) ::= FROM name(N). { A = N; }
show_from(A) ::= IN name(N). { A = N; }
like_pattern(A) ::= . { A = NULL; }
like_pattern(A) ::= LIKE string(S). { A = S; }
like_pattern(A) ::= NOT LIKE string(S). { A = tl_sql__flag(p, S, AST_F_NOT); }
like_pattern(A) ::= ILIKE string(S). { A = tl_sql__flag(p, S, AST_F_ANY_CASE); }
like_pattern(A) ::= NOT ILIKE string(S). { A = tl_sql__flag(p, S, AST_F_NOT | AST_F_ANY_CASE); }
statement(A) ::= SHOW(T) CREATE TABLE name(N). { A = NODE(AST_SHOW, T, .text = "CREATE TABLE", .kid = {N}); }
statement(A) ::= SHOW(T) CREATE VIEW name(N). { A = NODE(AST_SHOW, T, .text = "CREATE VIEW", .kid = {N}); }
statement(A) ::= SHOW(T) CREATE CATALOG name(N). { A = NODE(AST_SHOW, T, .text = "CREATE CATALOG", .kid = {N}); }
statement(A) ::= SHOW(T) PARTITIONS name(N) partition_opt(P). { A = NODE(AST_SHOW, T, .text = "PARTITIONS", .kid = {N, NULL, P}); }
%type describe {tl_sql_token}
describe(A) ::= DESCRIBE(T). { A = T; }
describe(A) ::= DESC(T). { A = T; }
statement(A) ::= describe(T) extended_opt name(N). { A = NODE(AST_DESCRIBE, T, .text = "TABLE", .kid = {N}); }
statement(A) ::= describe(T) CATALOG extended_opt(F) name(N). { A = NODE(AST_DESCRIBE, T, .text = "CATALOG", .flags = F, .kid = {N}); }
statement(A) ::= describe(T) DATABASE extended_opt name(N). { A = NODE(AST_DESCRIBE, T, .text = "DATABASE", .kid = {N}); }
%type extended_opt {uint32_t}
extended_opt(A) ::= . { A = 0; }
extended_opt(A) ::= EXTENDED. { A = AST_F_ALL; }
statement(A) ::= EXPLAIN(T) explain_mode statement(S). { A = NODE(AST_EXPLAIN, T, .kid = {S}); }
statement(A) ::= EXPLAIN(T) explain_mode STATEMENT(S) SET BEGIN inserts(L) END. { A = NODE(AST_EXPLAIN, T, .kid = {NODE(AST_STATEMENT_SET, S, .kid = {L})}); }
explain_mode ::= .
explain_mode ::= PLAN FOR.
explain_mode ::= explain_details.
explain_details ::= explain_detail.
explain_details ::= explain_details COMMA explain_detail.
explain_detail ::= ESTIMATED_COST.
explain_detail ::= CHANGELOG_MODE.
explain_detail ::= PLAN_ADVICE.
explain_detail ::= JSON_EXECUTION_PLAN.

statement(A) ::= ALTER(T) TABLE if_exists(F) name(N) alter(L). { A = NODE(AST_ALTER_TABLE, T, .flags = F, .kid = {N, L}); }
alter(A) ::= SET(T) options_paren(L). { A = LIST(NODE(AST_ALTER, T, .text = "SET", .kid = {L})); }
alter(A) ::= RESET(T) LP strings(L) RP. { A = LIST(NODE(AST_ALTER, T, .text = "RESET", .kid = {L})); }
strings(A) ::= string(S). { A = LIST(S); }
strings(A) ::= strings(L) COMMA string(S). { A = APPEND(L, S); }
alter(A) ::= RENAME(T) TO name(N). { A = LIST(NODE(AST_ALTER, T, .text = "RENAME TO", .kid = {N})); }
alter(A) ::= RENAME(T) name(N) TO id(I). { A = LIST(NODE(AST_ALTER, T, .text = "RENAME", .kid = {N, I})); }
alter(A) ::= ADD(T) element(E). { A = LIST(NODE(AST_ALTER, T, .text = "ADD", .kid = {LIST(E)})); }
alter(A) ::= ADD(T) LP element_list(L) RP. { A = LIST(NODE(AST_ALTER, T, .text = "ADD", .kid = {L})); }
alter(A) ::= ADD(T) if_not_exists_partitions(L). { A = LIST(NODE(AST_ALTER, T, .text = "ADD PARTITION", .kid = {L})); }
if_not_exists_partitions(A) ::= IF NOT EXISTS added_partitions(L). { A = L; }
if_not_exists_partitions(A) ::= added_partitions(L). { A = L; }
added_partitions(A) ::= partition(P). { A = LIST(P); }
added_partitions(A) ::= added_partitions(L) partition(P). { A = APPEND(L, P); }
added_partitions(A) ::= added_partitions(L) COMMA partition(P). { A = APPEND(L, P); }
alter(A) ::= MODIFY(T) element(E). { A = LIST(NODE(AST_ALTER, T, .text = "MODIFY", .kid = {LIST(E)})); }
alter(A) ::= MODIFY(T) LP element_list(L) RP. { A = LIST(NODE(AST_ALTER, T, .text = "MODIFY", .kid = {L})); }
alter(A) ::= DROP(T) name(N). { A = LIST(NODE(AST_ALTER, T, .text = "DROP", .kid = {LIST(N)})); }
alter(A) ::= DROP(T) LP names(L) RP. { A = LIST(NODE(AST_ALTER, T, .text = "DROP", .kid = {L})); }
alter(A) ::= DROP(T) WATERMARK. { A = LIST(NODE(AST_ALTER, T, .text = "DROP WATERMARK")); }
alter(A) ::= DROP(T) PRIMARY KEY. { A = LIST(NODE(AST_ALTER, T, .text = "DROP PRIMARY KEY")); }
alter(A) ::= DROP(T) CONSTRAINT id(I). { A = LIST(NODE(AST_ALTER, T, .text = "DROP PRIMARY KEY", .kid = {I})); }
alter(A) ::= DROP(T) partitions(L). { A = LIST(NODE(AST_ALTER, T, .text = "DROP PARTITION", .kid = {L})); }
alter(A) ::= DROP(T) IF EXISTS partitions(L). { A = LIST(NODE(AST_ALTER, T, .text = "DROP PARTITION", .flags = AST_F_IF, .kid = {L})); }
partitions(A) ::= partition(P). { A = LIST(P); }
partitions(A) ::= partitions(L) COMMA partition(P). { A = APPEND(L, P); }
statement(A) ::= ALTER(T) DATABASE name(N) SET options_paren(L). { A = NODE(AST_ALTER_DATABASE, T, .kid = {N, L}); }

statement(A) ::= CALL(T) name(N) LP call_args(L) RP. { A = NODE(AST_CALL_PROCEDURE, T, .kid = {N, L}); }
statement(A) ::= UPDATE(T) name(N) alias(L) SET assigns(S) where_opt(W).
    { A = NODE(AST_UPDATE, T, .text = L != NULL ? L->text : NULL, .kid = {N, S, W}); }
assigns(A) ::= assign(S). { A = LIST(S); }
assigns(A) ::= assigns(L) COMMA assign(S). { A = APPEND(L, S); }
assign(A) ::= name(N) EQ expr(E). { A = NODE_AT(AST_ASSIGN, N, .kid = {N, E}); }
statement(A) ::= DELETE(T) FROM name(N) alias(L) where_opt(W). { A = NODE(AST_DELETE, T, .text = L != NULL ? L->text : NULL, .kid = {N, NULL, W}); }
statement(A) ::= TRUNCATE(T) TABLE name(N). { A = NODE(AST_TRUNCATE, T, .kid = {N}); }
/* … COMPUTE STATISTICS [FOR …] */
statement(A) ::= ANALYZE(T) TABLE name(N) ID(C) ID. { A = NODE(AST_ANALYZE, T, .text = C.text, .kid = {N}); }
statement(A) ::= ANALYZE(T) TABLE name(N) ID(C) ID FOR COLUMNS ids(L). { A = NODE(AST_ANALYZE, T, .text = C.text, .kid = {N, L}); }
statement(A) ::= ANALYZE(T) TABLE name(N) ID(C) ID FOR ALL COLUMNS. { A = NODE(AST_ANALYZE, T, .text = C.text, .flags = AST_F_ALL, .kid = {N}); }
