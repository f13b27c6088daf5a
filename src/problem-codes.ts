/**
 * The codes of single problems, the entries of `errors` in an answer: stable, in kebab-case, by the error that lists them and with
 * what they mean. The tables of docs/errors.md are these lists; a test keeps them equal.
 */

export const problemCodes = {
  'invalid-definition': {
    missing: '`table` is missing, or something in it that must be there',
    'wrong-type': 'another kind of JSON value is needed here',
    'unknown-property': 'there is no such property',
    'unknown-key': 'a member of the body other than `table`',
    'invalid-text': 'not valid Unicode, or with the character NUL',
    'invalid-name': 'not a name of 1 to 63 bytes',
    'reserved-name': 'a name that PostgreSQL keeps for itself',
    'duplicate-column': 'the column name occurs twice',
    'duplicate-name': 'the constraint name occurs twice',
    'duplicate-constraint': 'the same constraint occurs twice',
    'name-taken': 'another relation of the schema has this name',
    'too-many-columns': 'more columns than PostgreSQL allows in a table or a key',
    'row-too-long': '`char(n)` and `bit(n)` would pad a row to more than 16 MiB',
    'unknown-type': 'the database has no such type; the nearest names are suggested',
    'unsupported-type': 'a pseudo-type, which no column can have',
    'invalid-type-modifier': 'the type does not take this length, precision or scale',
    'permission-denied': 'the role may not use the type',
    'invalid-default': 'not valid for the type of the column',
    'unknown-function': 'not one of the functions that a default may call',
    'unknown-sequence': 'the sequence does not exist',
    'not-supported': 'something that answers hold and a definition cannot say',
    'unknown-column': 'the table has no such column',
    'repeated-column': 'a column twice in one key',
    'repeated-key': 'a key twice in one object of the definition',
    'type-not-indexable': 'a key over a type that has no order',
    'unknown-reference': 'the table or column referred to does not exist, or cannot be referred to',
    'mixed-reference': 'entries of one foreign key refer to more than one table',
    'reference-not-unique': 'the columns referred to are no primary key and not unique',
    'reference-type-mismatch': 'the two columns have types that cannot be compared',
    differs: 'with rows for an existing table: the definition differs from that table',
  },
  'invalid-data': {
    'wrong-type': 'the body is neither an object nor an array, or `data` no array',
    'unknown-key': 'a member of the body other than `table` and `data`, without `rows_at`',
    'row-not-an-object': 'a row is no object',
    'repeated-key': 'the same key twice',
    'invalid-name': "a key or header that cannot name a column: empty, over 63 bytes, or a system column's",
    'no-column-in-common': 'rows, and every column of theirs left out (`extra_columns=ignore`)',
    'unknown-column': 'the table has no such column',
    'repeated-column': 'two columns of the data go into one of the table',
    'generated-column': 'PostgreSQL computes the column; it takes no value',
    'too-many-columns': 'more columns than the limit',
    'null-not-allowed':
      'NULL, or no value, in a column that needs one; a column that no row brings is one problem, whose `detail` has the number of rows',
    'not-a-boolean': 'another kind of value than the type takes',
    'not-a-whole-number': 'another kind of value than the type takes',
    'not-a-number': 'another kind of value than the type takes',
    'not-a-date': 'another kind of value than the type takes',
    'not-a-time': 'another kind of value than the type takes',
    'not-a-timestamp': 'another kind of value than the type takes',
    'not-an-interval': 'another kind of value than the type takes',
    'not-a-uuid': 'another kind of value than the type takes',
    'not-bytes': 'another kind of value than the type takes',
    'not-an-address': 'another kind of value than the type takes',
    'not-a-mac-address': 'another kind of value than the type takes',
    'not-an-enum-value': 'another kind of value than the type takes',
    'not-an-array': 'another kind of value than the type takes',
    'invalid-input':
      'not what PostgreSQL reads as the type; a field of a composite that fails the check of its domain counts as such',
    'no-such-date': 'a date, time or offset that does not exist',
    'no-such-time': 'the same for a column of the type `time` or `timetz`',
    'out-of-range': 'beyond what the type holds',
    'too-long': 'more characters than the type holds',
    'nul-character': 'the character U+0000, which PostgreSQL cannot store',
    'not-for-jsonb': 'something that `jsonb` cannot hold',
    'json-array-as-text': 'an array of JSON values as text in braces',
    'nested-value': 'an object or an array for a type that takes none',
    'ragged-array': 'an array that PostgreSQL does not allow',
    'too-many-dimensions': 'an array that PostgreSQL does not allow',
    'too-many-elements': 'an array that PostgreSQL does not allow',
    'null-element': 'an array that PostgreSQL does not allow',
    'host-bits-set': 'an address with bits to the right of its mask, for `cidr`',
    'date-not-allowed': 'a date cell for a type that takes none',
    'error-cell': 'a cell that holds an error (`#N/A`); `cell_errors=null` loads it as NULL',
    'formula-without-value': 'a formula whose result was never saved',
    'date-out-of-range': 'a number that is no date in a spreadsheet',
    'unreadable-cell':
      'a cell that is not what its type says, or a number whose number format is missing in the file',
    'text-behind-quote':
      'text after the closing quote of a field in a text file; write a quote within a quoted field twice',
    'not-in-date-order':
      'a text that is not written as `date_order`, or `decimal_sign` and `thousands_sign`, say',
    'not-in-number-form':
      'a text that is not written as `date_order`, or `decimal_sign` and `thousands_sign`, say',
    'not-unique':
      'the same key as another row; both are named, or that the table has it already. A key that PostgreSQL generated is named with what filled it in and the remedy',
    'no-such-reference': 'a foreign key without a match',
    'check-violation':
      "a CHECK, or a domain's (also of the elements of an array), that the row does not pass",
    'failing-default':
      'a row leaves out a column whose default raises an error, or gives a value that the column does not take',
    'refused-by-postgresql':
      'what only PostgreSQL can judge (a trigger, an exclusion constraint, a row too large, a rule over tables that the role may not read), in its words',
  },
  'invalid-parameter': {
    'unknown-parameter': 'there is no such parameter',
    'invalid-parameter': 'the parameter does not take this value',
    'invalid-name': 'not a name of 1 to 63 bytes',
    'missing-part': 'the form has no part `file`',
    'unknown-part': 'a part of the form other than `file` and `body`',
    'repeated-part': 'a part of the form twice',
    'not-a-file': 'the part `file` is no file',
    'no-key': '`on_conflict` on a table without a key',
    'rows-not-found': '`rows_at` leads to nothing; `pointer` has the deepest part that was found',
    'rows-not-an-array': '`rows_at` leads to something that is no array, in `pointer`',
  },
  'dependent-objects': {
    'dependent-object': 'an object that depends on the table',
  },
} as const;

type Listed = typeof problemCodes;
export type ProblemCode = { [Key in keyof Listed]: keyof Listed[Key] }[keyof Listed];

/** Each code once. */
export const allProblemCodes = [
  ...new Set(Object.values(problemCodes).flatMap((listed) => Object.keys(listed))),
] as ProblemCode[];
