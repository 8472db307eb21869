/* The titles of clauses, for a person who reads a verdict. */
#ifndef ZP_VERIFY_CLAUSE_TITLE_H
#define ZP_VERIFY_CLAUSE_TITLE_H

/* The title of a clause of spec/ as `zeroproof explain` prints it, or NULL: the clause has none, or
 * no verdict names it. */
const char *zp_clause_title(const char *clause);

#endif
