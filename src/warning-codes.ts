/**
 * The codes of warnings, the entries of `warnings` in an answer: stable, in kebab-case, with what they mean. The table of warnings in
 * docs/loading.md is this list; a test keeps the two equal.
 */

export const warningCodes = {
  'ignored-column': 'a column of the data that the table lacks was left out (`extra_columns=ignore`)',
  'added-column': 'a column of the data that the table lacked was added (`extra_columns=add`)',
  'mixed-column':
    'a column whose type was inferred is text because of a few odd values; the first is named. All values above it have one other type, or the column has one odd value and at least 3 of another type, or at most one odd value for 10 of another type',
  'other-notation':
    'a column became text, and each of its values is a date or a number in another notation; the parameters that read it are named',
  'nothing-renamed': '`rename` names a header or key that the data does not have',
  'two-digit-year':
    'with `date_order`: a column has years of two digits; the first is shown with the year that it was read as',
  'repeated-keys':
    'in a nested value for a column of `jsonb` an object names a key twice; only the last value was kept',
  'key-not-brought':
    'rows have no value for a column of the key of `on_conflict` and were inserted; the warning gives their number, the first row and the key',
  'time-left-out':
    'values with a date and a time went into a column of `date`, and their time was not 00:00; the number of values and the first of them',
  'date-left-out':
    'values with a date and a time went into a column of `time`; the number of values and the first of them',
  'offset-left-out':
    'values with an offset from UTC, `Z` included, went into a column of `timestamp` or `time`, which keeps the date and time as they were sent; of `date` only offsets other than zero count',
  'fraction-rounded': 'seconds had digits beyond microseconds',
  'suppressed-rows':
    'a trigger or a rule (CREATE RULE) of the table left out rows; they are in none of the counts. Rules apply only with `on_conflict` and to types that are read from text, because COPY ignores them',
  'own-numbers':
    'rows for an existing table set the values of an identity column; its sequence was not advanced, so generated values may collide later. The sequence of a new table continues after its highest value',
  'dotted-name':
    'a new table has a name such as `sales.orders`, and a schema `sales` exists; the dot is part of the name',
  'text-default':
    'a default of a text column looks like SQL, such as `gen_random_uid()`, but is literal text',
  'table-created': '`if_exists=append` or `truncate` made the table, because it did not exist',
  'lost-by-replace':
    'something that the old table had and the new table does not have (`if_exists=replace`); one warning for each, at most 100',
  'blank-header':
    'a column of a spreadsheet has values and no header; it was named after its letters, such as `column_C`',
  'repeated-header': 'a header occurs twice; the second column was given another name',
  'shortened-header': 'a header is longer than 63 bytes; it was shortened',
  'header-row':
    'the row that was read as the header looks like a title; the row that looks like the header is named. There is no warning if no row is clearly the header',
  'other-sheets': 'no sheet was chosen, and other visible sheets have rows too',
  'cell-errors-as-null':
    'with `cell_errors=null`: cells of a column became NULL; their number and the first of them',
  'merged-cells': 'values beneath merged cells were left out; their number and the first of them',
  'short-rows':
    'rows of a text file (.csv) have fewer fields than the header; their number, the first of them and how many fields it has',
  'long-rows':
    'rows of a text file (.csv) have values after the last field of the header, for example because of a delimiter in a value without quotes; their number, the first of them and how many fields it has',
  'blank-rows': 'rows that hold only white space were left out',
  'uncalculated-formulas':
    'all formulas of a column have the result 0, and the workbook (.xlsx) asks to be calculated when it is opened: the program that wrote it probably never calculated it',
  'no-rows':
    'the upload had no row. In a workbook, the chosen sheet has no row below its header, or not even a header; the warning says what was found in it',
  'rows-elsewhere':
    'in an inspection of JSON: the document has no rows in `data` and is not an array; another array in it is shown, and `rows_at` loads it',
  delimiter: 'a text file (.csv) was read with a delimiter other than a comma, which the service detected',
  encoding: 'a text file (.csv) is not UTF-8; the encoding that it was read in was detected',
} as const;

export type WarningCode = keyof typeof warningCodes;
