/**
 * The codes of problems, which are the entries of `errors` in an answer. They are stable and in kebab-case. They are grouped by
 * the error that lists them, with their meanings. A test compares the tables of docs/errors.md with these lists.
 */

export const problemCodes = {
  'invalid-definition': {
    missing: '`table` or a required member of it is missing',
    'wrong-type': 'the JSON value has the wrong type',
    'unknown-property': 'a definition has no such property',
    'unknown-key': 'the body has a member other than `table`',
    'invalid-text': 'the text is not valid Unicode, or has the character NUL',
    'invalid-name': 'the name does not have 1 to 63 bytes of UTF-8, or has the character NUL',
    'reserved-name': 'PostgreSQL reserves this name',
    'duplicate-column': 'the column name occurs twice',
    'duplicate-name': 'the constraint name occurs twice',
    'duplicate-constraint': 'the same constraint occurs twice',
    'name-taken': 'another relation of the schema has this name',
    'too-many-columns': 'the table or the key has more columns than PostgreSQL allows',
    'too-many-keys': 'there are more than 100 indexes and unique constraints, foreign keys or sequences',
    'row-too-long': '`char(n)` and `bit(n)`, also within other types, would pad a row to more than 16 MiB',
    'defaults-too-long':
      'the defaults, as PostgreSQL writes them, are over 4 MiB in all, or have too many parts',
    'types-too-nested': 'the types of the columns contain more than 1,000,000 other types',
    'unknown-type': 'the database has no such type; the nearest names are suggested',
    'type-differs': 'an enum or a domain of this name exists, and is not what `types` says',
    'no-conversion': 'the values of the column cannot become values of the new type; `detail` says why',
    'unsupported-type': 'the type is a pseudo-type, which no column can have',
    'invalid-type-modifier': 'the type does not accept this length, precision or scale',
    'permission-denied': 'the role may not use the type',
    'unknown-operator-class': 'PostgreSQL and its extensions have no such operator class',
    'invalid-index': 'PostgreSQL cannot make the index; `detail` has its message',
    'invalid-default': 'the default is not valid for the type of the column',
    'invalid-expression':
      'the expression has something that is not possible in a definition, or PostgreSQL refuses it; `detail` says what',
    'unknown-function': 'a default may not call this function',
    'unknown-sequence': 'the sequence does not exist',
    'not-supported': 'answers may have this member, but a definition cannot',
    'unknown-column': 'the table has no such column',
    'repeated-column': 'one key names a column twice',
    'repeated-key': 'an object of the definition has the same key twice',
    'type-not-indexable': 'the type has no order, so it cannot be in a key',
    'unknown-reference': 'the referenced table or column does not exist, or a foreign key cannot refer to it',
    'mixed-reference':
      'entries of one foreign key refer to more than one table or have different rules, or its lists differ in length',
    'reference-not-unique': 'the referenced columns are neither a primary key nor unique',
    'reference-type-mismatch':
      'the types of the two columns cannot be compared, or a column is an array whose elements have a modifier',
    'distribution-conflict':
      'Citus cannot distribute the table in this way in this schema, or with these foreign keys',
    'type-not-hashable': 'the type has no hash operator class, so it cannot be the distribution column',
    'key-without-distribution-column': 'the key does not contain the distribution column',
    'reference-not-colocated':
      'Citus cannot keep the foreign key, because of how the two tables are distributed',
    differs: 'rows were sent for an existing table, and the definition differs from it',
  },
  'invalid-data': {
    'wrong-type': 'the body is neither an object nor an array, or `data` is not an array',
    'unknown-key': 'the body has a member other than `table` and `data`, and `rows_at` was not sent',
    'row-not-an-object': 'a row is not an object',
    'repeated-key': 'an object has the same key twice',
    'invalid-name':
      'a key or header cannot be the name of a column: it is empty, over 63 bytes, or a system column',
    'no-column-in-common': 'the table has none of the columns of the data (`extra_columns=ignore`)',
    'unknown-column': 'the table has no such column',
    'repeated-column':
      'two columns of the data match the same column of the table, two keys of the rows are flattened to the same name, or `provenance` fills the column',
    'generated-column': 'PostgreSQL computes the column, so no value can be loaded into it',
    'too-many-columns': 'the data has more columns than the limit',
    'null-not-allowed': 'the column needs a value, and the row has NULL or none',
    'not-a-boolean': 'not a `boolean`',
    'not-a-whole-number': 'not a whole number, for `integer` and the like',
    'not-a-number': 'not a number, for `numeric` and the like',
    'not-a-date': 'not a `date`',
    'not-a-time': 'not a time of day, for `time` or `timetz`',
    'not-a-timestamp': 'not a date with a time, for `timestamp` or `timestamptz`',
    'not-an-interval': 'not a duration, for `interval`',
    'not-a-uuid': 'not a `uuid`',
    'not-bytes': 'not a byte string, for `bytea`',
    'not-an-address': 'not a network address, for `inet` or `cidr`',
    'not-a-mac-address': 'not a MAC address, for `macaddr`',
    'not-an-enum-value': 'none of the labels of the enum type',
    'not-an-array': 'not an array, for an array type',
    'invalid-input':
      'PostgreSQL cannot read the text as the type, or a field of a composite type does not pass the check of its domain',
    'not-exact': 'the value would change if it were converted to the new type of its column',
    'no-such-date': 'the date, time or offset does not exist',
    'no-such-time': 'the same for `time` or `timetz`',
    'out-of-range': 'the value is outside of the range of the type',
    'too-long': 'the text has more characters than the type allows',
    'nul-character': 'the text has the character U+0000, which PostgreSQL cannot store',
    'not-for-jsonb': '`jsonb` cannot store the value',
    'json-array-as-text': 'an array of JSON values was sent as text in braces',
    'nested-value': 'the type does not accept objects or arrays',
    'ragged-array': 'the inner arrays of an array differ in length or depth',
    'too-many-dimensions': 'an array has more than 6 dimensions',
    'too-many-elements': 'an array has more than 1,000,000 elements, or fewer of some types',
    'too-complex':
      'the values of the row have so many parts, digits or repetitions that PostgreSQL would need too much memory or time',
    'null-element': 'an element of an array is null, and the type of the elements does not allow NULL',
    'host-bits-set': 'an address for `cidr` has bits to the right of its mask',
    'date-not-allowed': 'the type does not accept the value of a date cell',
    'error-cell': 'the cell has an error value such as `#N/A`; `cell_errors=null` loads it as NULL',
    'formula-without-value': 'the file has no result of the formula',
    'date-out-of-range': 'the cell has a date format, but its number is not a date',
    'unreadable-cell':
      'the content of the cell does not match its type, or the file lacks the number format of the cell',
    'has-nanoseconds': 'a time of a Parquet file has nanoseconds, and PostgreSQL stores microseconds',
    'bytes-not-text': 'the bytes of a Parquet file are not a text in UTF-8',
    'text-behind-quote': 'a field of a text file has text after its closing quote',
    'not-in-date-order': 'the text does not have the notation of `date_order`',
    'not-in-number-form': 'the text does not have the notation of `decimal_sign` and `thousands_sign`',
    'not-unique': 'another row of the upload or of the table has the same key',
    'no-such-reference': 'the referenced table has no such row',
    'check-violation': 'the row does not pass a CHECK of the table or of a domain',
    'failing-default': 'the row has no value for a column, and its default raises an error or is not valid',
    'refused-by-postgresql':
      'PostgreSQL refused the row for a reason that only it can check, such as a trigger or an exclusion constraint; `detail` has its message',
  },
  'invalid-parameter': {
    'unknown-parameter': 'the endpoint has no such parameter',
    'invalid-parameter': 'the parameter does not accept this value',
    'invalid-name': 'the name does not have 1 to 63 bytes of UTF-8, or has the character NUL',
    'missing-part': 'the form has neither a part `file` nor a part `source`',
    'unknown-part': 'the form has a part other than `file`, `source`, `body`, `patch` and `password`',
    'repeated-part': 'the form has a part twice, or both `file` and `source`',
    'not-a-file': 'the part `file` is not a file',
    'no-such-cell': 'a correction (`patch`) is of a cell that the data does not have',
    'repeated-cell': 'two corrections are of the same cell',
    'wrong-type': 'the part `source`, or a correction of `patch`, has the wrong form',
    'unknown-key': 'a correction has an unknown member',
    'no-key': '`on_conflict` was sent, and the table has no key for it',
    'rows-not-found': 'the document has nothing at `rows_at`; `pointer` is the deepest part that exists',
    'rows-not-an-array': 'the value at `rows_at` is neither an array nor an object that can be one row',
  },
  'distribution-unavailable': {
    'not-supported': 'the definition has a distribution, and the database has no Citus',
  },
  'dependent-objects': {
    'dependent-object': 'the object depends on the table',
  },
  'loses-data': {
    'loses-data': 'the column, constraint or index would be lost; `detail` says what to allow',
  },
} as const;

type Listed = typeof problemCodes;
export type ProblemCode = { [Key in keyof Listed]: keyof Listed[Key] }[keyof Listed];

/** Each code once. */
export const allProblemCodes = [
  ...new Set(Object.values(problemCodes).flatMap((listed) => Object.keys(listed))),
] as ProblemCode[];
