/*
 * The syntax tree: what the grammar makes and the binder reads. Private to sql/.
 *
 * One node type with a few slots, so that the grammar's actions stay short; what the slots of a kind mean is said beside it.
 * All nodes, texts included, live in the statement's arena.
 */
#ifndef TL_SQL_AST_H
#define TL_SQL_AST_H

#include "base/mem.h"

/** Depth of a tree: limits every recursion over it. Chains of AND, OR and set operations count as one level. */
#define TL_AST_DEPTH_MAX 1000
/** Bytes of one statement. */
#define TL_SQL_TEXT_MAX (16 << 20)

typedef enum tl_ast_kind {
    AST_LIST, /* kid[0] first element, kid[1] last; elements are chained by `next`; count */

    /* expressions */
    AST_NAME,     /* elements: IDs of a.b.c */
    AST_ID,       /* text */
    AST_STAR,     /* kid[0] qualifier NAME or NULL */
    AST_NUMBER,   /* text as written */
    AST_STRING,   /* text, count = bytes (may hold NUL) */
    AST_BYTES,    /* text, count */
    AST_NULL,
    AST_TRUE,
    AST_FALSE,
    AST_DATE,      /* text */
    AST_TIME,      /* text */
    AST_TIMESTAMP, /* text; flags: AST_F_LTZ */
    AST_INTERVAL,  /* text; kid[0] ID from unit, kid[1] ID to unit or NULL; flags: AST_F_NEGATIVE */
    AST_DISTANCE,  /* kid[0] (a - b), kid[1] ID from unit, kid[2] ID to unit or NULL: an interval */
    AST_UNARY,     /* text operator: "-", "+", "NOT", "IS NULL", "IS TRUE", … ; kid[0] */
    AST_BINARY,    /* text operator; kid[0], kid[1]; LIKE: kid[2] escape */
    AST_AND,       /* kid[0], kid[1] as in AST_LIST: n operands */
    AST_OR,
    AST_BETWEEN, /* kid[0] BETWEEN kid[1] AND kid[2]; flags: AST_F_NOT, AST_F_SYMMETRIC */
    AST_IN,      /* kid[0] IN kid[1] LIST or QUERY; flags: AST_F_NOT */
    AST_QUANTIFIED, /* kid[0] text kid[1] LIST or QUERY; flags: AST_F_ALL */
    AST_EXISTS,     /* kid[0] QUERY */
    AST_SUBQUERY,   /* kid[0] QUERY */
    AST_CASE,       /* kid[0] operand or NULL, kid[1] LIST of when, then, …; kid[2] else or NULL */
    AST_CAST,       /* kid[0] expression, kid[1] TYPE; flags: AST_F_TRY */
    AST_CALL,       /* text name; kid[0] LIST of arguments; flags: AST_F_DISTINCT, AST_F_STAR; kid[1] filter, kid[2] over
                       (WINDOW or ID), kid[3] LIST of ORDER items, kid[4] qualified NAME or NULL */
    AST_ARG,        /* text name => kid[0] */
    AST_UNIT,       /* text: kid[0] FLOOR(x TO unit) … as an argument */
    AST_INDEX,      /* kid[0][kid[1]] */
    AST_FIELD,      /* kid[0].text */
    AST_ROW,        /* kid[0] LIST */
    AST_ARRAY,      /* kid[0] LIST, or QUERY */
    AST_MAP,        /* kid[0] LIST k, v, … */
    AST_JSON,       /* text function; kid[0] LIST of arguments or pairs, kid[1] TYPE returning, kid[2] LIST of JSON_CLAUSE; flags */
    AST_JSON_CLAUSE, /* text behaviour ("NULL", "ERROR", "DEFAULT", "EMPTY ARRAY", …), kid[0] default; flags: AST_F_ON_EMPTY or none (ON ERROR) */
    AST_TABLE_ARG,  /* TABLE t [PARTITION BY …]: kid[0] NAME or QUERY, kid[1] LIST, kid[2] ORDER LIST */
    AST_DESCRIPTOR, /* kid[0] LIST of IDs */
    AST_DEFAULT,

    /* types */
    AST_TYPE, /* text name ("INT", "TIMESTAMP_LTZ", …); kid[0] LIST of numbers, kid[1] LIST of TYPEs or FIELDs; flags: AST_F_NOT_NULL */
    AST_TYPE_FIELD, /* text name, kid[0] TYPE, kid[1] STRING comment */

    /* queries */
    AST_QUERY,  /* kid[0] LIST of CTEs or NULL, kid[1] body, kid[2] ORDER list, kid[3] offset, kid[4] limit */
    AST_CTE,    /* text name, kid[0] LIST of IDs or NULL, kid[1] QUERY */
    AST_SELECT, /* kid[0] hints, kid[1] items, kid[2] FROM, kid[3] WHERE, kid[4] GROUP BY list, kid[5] HAVING, kid[6] WINDOW list,
                   kid[7] QUALIFY; flags: AST_F_DISTINCT */
    AST_ITEM,   /* kid[0] expression or STAR, text alias or NULL */
    AST_SETOP,  /* text "UNION", "INTERSECT", "EXCEPT", flags: AST_F_ALL; kid[0], kid[1] as in AST_LIST: n bodies */
    AST_VALUES, /* kid[0] LIST of ROW or expressions */
    AST_TABLE_STMT, /* TABLE t: kid[0] NAME */
    AST_ORDER,  /* kid[0]; flags: AST_F_DESC, AST_F_NULLS_FIRST, AST_F_NULLS_LAST */
    AST_GROUPING, /* text "SETS", "CUBE", "ROLLUP"; kid[0] LIST (of LISTs or expressions) */
    AST_GROUP_SET, /* kid[0] LIST of expressions, maybe empty */
    AST_WINDOW, /* text name or NULL; kid[0] base ID, kid[1] PARTITION BY, kid[2] ORDER BY, kid[3] frame */
    AST_FRAME,  /* text "ROWS" or "RANGE"; kid[0], kid[1] bounds */
    AST_BOUND,  /* text "UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"; kid[0] */
    AST_HINT,   /* text name; kid[0] LIST of OPTION, IDs or STRINGs */

    /* FROM */
    AST_TABLE, /* kid[0] NAME, kid[1] hints, kid[2] FOR SYSTEM_TIME AS OF, text alias, kid[3] LIST of column aliases */
    AST_DERIVED,  /* kid[0] QUERY, text alias, kid[3] column aliases; flags: AST_F_LATERAL */
    AST_TABLE_FN, /* kid[0] CALL, text alias, kid[3]; flags: AST_F_LATERAL */
    AST_UNNEST,   /* kid[0] expression, text alias, kid[3]; flags: AST_F_ORDINALITY */
    AST_JOIN,     /* text "INNER", "LEFT", "RIGHT", "FULL", "CROSS", ","; kid[0], kid[1]; kid[2] ON; kid[3] USING list; flags: AST_F_NATURAL */

    /* statements */
    AST_SET,   /* kid[0] key, kid[1] value; both NULL: show all */
    AST_RESET, /* kid[0] key or NULL */
    AST_OPTION, /* kid[0] key STRING, kid[1] value STRING */
    AST_CREATE_CATALOG,  /* kid[0] NAME, kid[1] OPTIONs, kid[2] comment; AST_F_IF */
    AST_CREATE_DATABASE, /* kid[0] NAME, kid[1] OPTIONs, kid[2] comment; AST_F_IF */
    AST_CREATE_TABLE,    /* kid[0] NAME, kid[1] LIST of COLUMN, WATERMARK, PRIMARY_KEY, kid[2] comment, kid[3] partition IDs,
                            kid[4] OPTIONs, kid[5] LIKE, kid[6] AS QUERY; flags: AST_F_TEMPORARY, AST_F_IF, AST_F_REPLACE */
    AST_COLUMN, /* text name; kid[0] TYPE or NULL, kid[1] computed expression, kid[2] comment, kid[3] METADATA (STRING key, or ID "METADATA"),
                   kid[4] PRIMARY_KEY, kid[5] position of ALTER ADD; flags: AST_F_VIRTUAL */
    AST_WATERMARK,   /* kid[0] NAME, kid[1] expression */
    AST_PRIMARY_KEY, /* kid[0] LIST of IDs; NULL in a column */
    AST_LIKE, /* kid[0] NAME, kid[1] LIST of IDs "INCLUDING OPTIONS" … */
    AST_CREATE_VIEW, /* kid[0] NAME, kid[1] column IDs, kid[2] comment, kid[3] QUERY; text: the query's text; flags as a table */
    AST_CREATE_FUNCTION, /* kid[0] NAME, kid[1] class STRING; flags: AST_F_IF: refused, there is no JVM */
    AST_DROP, /* text "CATALOG", "DATABASE", "TABLE", "VIEW", "FUNCTION"; kid[0] NAME; flags: AST_F_IF, AST_F_CASCADE, AST_F_TEMPORARY */
    AST_USE,  /* text "CATALOG" or "DATABASE" or "MODULES"; kid[0] NAME */
    AST_SHOW, /* text "TABLES", "CREATE TABLE", …; kid[0] NAME (FROM/IN), kid[1] LIKE pattern, kid[2] of PARTITIONS: OPTIONs; flags: AST_F_NOT */
    AST_DESCRIBE, /* kid[0] NAME; text "TABLE", "CATALOG", "DATABASE"; flags: AST_F_ALL: EXTENDED */
    AST_EXPLAIN,  /* kid[0] statement; text mode */
    AST_ALTER_TABLE, /* kid[0] NAME, kid[1] LIST of ALTER; flags: AST_F_IF */
    AST_ALTER, /* text: "ADD", "MODIFY", "RENAME", "RENAME TO", "DROP", "SET", "RESET", "DROP PARTITION", "ADD PARTITION", "DROP PRIMARY KEY",
                  "DROP WATERMARK", …; kid[0], kid[1] */
    AST_POSITION, /* text "FIRST" or "AFTER"; kid[0] ID */
    AST_ALTER_DATABASE,
    AST_INSERT, /* kid[0] NAME, kid[1] hints, kid[2] PARTITION OPTIONs, kid[3] column NAMEs, kid[4] QUERY; flags: AST_F_OVERWRITE */
    AST_STATEMENT_SET, /* kid[0] LIST of INSERT */
    AST_CALL_PROCEDURE, /* kid[0] NAME, kid[1] LIST of arguments */
    AST_UPDATE,   /* kid[0] NAME, kid[1] LIST of ASSIGN, kid[2] WHERE, text alias */
    AST_ASSIGN,   /* kid[0] NAME, kid[1] expression */
    AST_DELETE,   /* kid[0] NAME, kid[2] WHERE, text alias */
    AST_TRUNCATE, /* kid[0] NAME */
    AST_ANALYZE /* kid[0] NAME, kid[1] LIST of ID: FOR COLUMNS; flags: AST_F_ALL: FOR ALL COLUMNS; text "COMPUTE" */
} tl_ast_kind;

enum {
    AST_F_NOT = 1,
    AST_F_ALL = 2,
    AST_F_DISTINCT = 4,
    AST_F_IF = 8, /* IF [NOT] EXISTS */
    AST_F_TEMPORARY = 16,
    AST_F_TRY = 32,
    AST_F_DESC = 64,
    AST_F_NULLS_FIRST = 128,
    AST_F_NULLS_LAST = 256,
    AST_F_LATERAL = 512,
    AST_F_ORDINALITY = 1024,
    AST_F_NATURAL = 2048,
    AST_F_OVERWRITE = 4096,
    AST_F_STAR = 8192,
    AST_F_SYMMETRIC = 16384,
    AST_F_NOT_NULL = 32768,
    AST_F_ON_EMPTY = 1 << 16,
    AST_F_VIRTUAL = 1 << 17,
    AST_F_CASCADE = 1 << 18,
    AST_F_LTZ = 1 << 19,
    AST_F_REPLACE = 1 << 20,
    AST_F_ABSENT = 1 << 21, /* JSON: ABSENT ON NULL */
    AST_F_NULL_ON_NULL = 1 << 22,
    AST_F_WRAPPER = 1 << 23,
    AST_F_CONDITIONAL = 1 << 24,
    AST_F_NEGATIVE = 1 << 25,
    AST_F_ANY_CASE = 1 << 27, /* ILIKE */
    AST_F_PAREN = 1 << 26 /* written in parentheses: AND, OR and set operations do not join with it */
};

#define TL_AST_KIDS 8

typedef struct tl_ast tl_ast;
struct tl_ast {
    tl_ast_kind kind;
    uint32_t flags;
    int32_t line, position;
    int32_t depth;
    int32_t count;
    const char *text;
    tl_ast *kid[TL_AST_KIDS];
    tl_ast *next;
    size_t from, to; /* bytes of the statement's text that a query covers (views, EXPLAIN); 0, 0 if not tracked */
};

/** First element of a list (NULL for no list): for (const tl_ast *e = tl_ast_first(l); e != NULL; e = e->next). */
static inline const tl_ast *tl_ast_first(const tl_ast *list)
{
    return list == NULL ? NULL : list->kid[0];
}
static inline int32_t tl_ast_count(const tl_ast *list)
{
    return list == NULL ? 0 : list->count;
}

/** Parse one statement (an optional `;` at the end). `line` is the line of its first character in the script. */
tl_status tl_sql__parse(tl_arena *arena, const char *text, size_t bytes, int32_t line, const tl_ast **out, tl_error *err);
/** Parse a bare expression (merge_into conditions, computed columns of stored schemas). */
tl_status tl_sql__parse_expr(tl_arena *arena, const char *text, size_t bytes, const tl_ast **out, tl_error *err);

/** SQL text of an expression, every name quoted: for computed columns and watermarks that are stored. TL_E_UNSUPPORTED: subqueries. */
tl_status tl_sql__unparse(const tl_ast *ast, tl_buf *out);

/** Error at a node: "line 3:14: message". */
#define TL_AST_ERROR(err, status, node, fmt, ...)                                                                                \
    tl_error_set(err, status, "line %d:%d: " fmt, (int)(node)->line, (int)(node)->position, ##__VA_ARGS__)

/** Last part of a NAME. */
static inline const char *tl_ast_last_name(const tl_ast *name)
{
    return name->kid[1]->text;
}
/** "a.b.c" of a NAME in the arena. */
const char *tl_ast_name_text(tl_arena *arena, const tl_ast *name);

#endif
