/**
 * The codes of warnings, which are the entries of `warnings` in an answer, with their meanings. They are stable and in
 * kebab-case. A test compares the table of warnings in docs/warnings.md with this list.
 */

export const warningCodes = {
  'ignored-column':
    'the table lacks a column of the data, or PostgreSQL computes it, so its values were left out (`extra_columns=ignore`)',
  'added-column': 'an existing table lacked a column of the data, and it was added (`extra_columns=add`)',
  'widened-column':
    'values did not fit the type of a column of an existing table, and it got a wider type (`misfits=widen`)',
  'mixed-column': 'an inferred column became text because of a few odd values; the first one is named',
  'other-notation':
    'a column became text, although all of its values look like dates, numbers, times or booleans in another notation; the warning says how to read or convert them',
  'natural-values':
    'with `values=natural`, the values of a column were read in another notation than that of PostgreSQL; the warning says in which one',
  'nothing-renamed': '`rename` names a header or key that the data does not have',
  'nothing-filled': '`fill_down` names a column that the sheet does not have',
  'null-object':
    'with `flatten` and `on_conflict=update`, an object is NULL in some rows, whose updates leave the columns of its members unchanged',
  'two-digit-year':
    'with `date_order` or `values=natural`, a column has years of two digits; the warning shows how the first was read',
  'repeated-keys':
    'an object inside a value for a `jsonb` column has the same key twice, and only the last value was kept',
  'key-not-brought': 'rows have no value for a column of the key of `on_conflict` and were inserted',
  'time-left-out': 'values with a time other than 00:00 were loaded into a `date` column',
  'date-left-out': 'values with a date and a time were loaded into a `time` column',
  'offset-left-out':
    'values with an offset from UTC, including `Z`, were loaded into a `timestamp` or `time` column, which keeps the date and time as sent',
  'fraction-rounded': 'seconds had more digits than microseconds and were rounded',
  'digits-rounded':
    "a workbook's numbers were rounded to 15 significant digits, because Excel does not show more. A column of the type `double precision` stores them unchanged",
  'sign-left-out':
    'values such as `-0` were loaded into a `numeric` or integer column, which has no negative zero. A column of the type `double precision` keeps the sign',
  'suppressed-rows':
    'a trigger or a rule (CREATE RULE) of the table left out rows, and no count includes them',
  'rows-left-out': 'rows with problems were left out (`faulty_rows=leave_out`); `left_out` names them',
  'recovery-pending':
    'a server of the database cluster did not confirm that it has committed its rows. They appear when the coordinator has recovered the transaction, usually within a minute',
  'own-numbers':
    'rows for an existing table set the values of an identity column, and its sequence was not advanced, so generated values may collide later',
  'numbers-taken': 'a dry run took numbers from a sequence, and the rollback does not give them back',
  'dotted-name':
    'a new table has a name such as `sales.orders`, and a schema `sales` exists; the dot is part of the name',
  'text-default':
    'a default of a text column looks like SQL, such as `gen_random_uid()`, but is literal text',
  'table-created':
    '`if_exists=append` or `truncate` created the table, because it did not exist; tables with a similar name are named. `if_missing=fail` refuses such uploads',
  'lost-by-replace':
    'the old table had an object or a property that the new table does not have (`if_exists=replace`); one warning for each, at most 100',
  'blank-header':
    'a column of a spreadsheet has values but no header, so it was named after its letters, such as `column_C`',
  'repeated-header': 'a header occurs twice; the second column was given another name',
  'shortened-header': 'a header is longer than 63 bytes; it was shortened',
  'header-row':
    'the row that was read as the header looks like a title, like one of several header rows (`header_rows`), or like a row of values (`header=false`); the warning names what to send',
  'header-rows-left-out': 'with `header_row=auto`: rows that repeat the header were left out',
  'proposal-taken': 'with `sheet=auto` or `header_row=auto`: what was taken, why, and what was left out',
  'total-row': 'the last row of a spreadsheet begins with a word such as "Total"; it was read as a row',
  'rows-below':
    'rows of a spreadsheet below the table are not like its rows, such as notes after a blank row; they were read as rows',
  'other-table':
    'cells of a spreadsheet beside or below the table look like another table; they were read as a part of it',
  'other-sheets': 'no sheet was chosen, and other visible sheets have rows too',
  'cell-errors-as-null': 'with `cell_errors=null`, cells of a column became NULL',
  'merged-cells': 'values covered by merged cells were left out',
  'lines-in-a-field':
    'the quotes of a row of a text file (.csv) may have joined lines that are rows of their own. With `quote=none` quotes are text',
  'spaced-quotes':
    'fields of a text file (.csv) have white space before a quotation mark, which was read as text. With `trim=true` such quotes enclose the value',
  'repaired-quotes':
    'rows of a text file (.csv) have quotation marks that are not doubled or stand alone, and they were read as text. With `quotes=strict` they are problems',
  'short-rows': 'rows of a text file (.csv) have fewer fields than the header',
  'long-rows':
    'rows of a text file (.csv) have more fields than the header, for example because of a delimiter in a value without quotes',
  'text-formulas': 'fields of a text file (.csv) such as `="00042"` were read as the text between the quotes',
  'blank-rows': 'rows with only white space were left out',
  'hidden-rows': 'hidden rows have values; they were read, or left out with `hidden=skip`',
  'hidden-columns': 'hidden columns have values or a header; they were read, or left out with `hidden=skip`',
  'footer-rows': 'with `footer=skip`, rows after the first empty row were left out',
  'totals-row': 'with `table_range`, the totals row of a table was left out',
  'unreadable-names': 'the tables and defined names of an inspected workbook cannot be read',
  'uncalculated-formulas':
    'all formulas of a column have the result 0, so the program that wrote the workbook (.xlsx) probably never calculated it',
  'same-file':
    'the same file was loaded into this table before; the warning names the last such load if the token may see it',
  'no-rows': 'the upload has no rows; for a workbook the warning says what was found in the chosen sheet',
  'rows-elsewhere':
    'an inspected JSON document has no rows in `data` and is not an array; another array in it is shown, and `rows_at` loads it',
  delimiter: 'the service detected a delimiter other than a comma in a text file (.csv)',
  quote: "the service detected `'` as the quotation mark of a text file (.csv)",
  escape: 'the service detected that a backslash comes before quotation marks in a text file (.csv)',
  encoding:
    'a text file (.csv) is not UTF-8, and the service detected another encoding; `choices` has the candidates if none is sure',
} as const;

export type WarningCode = keyof typeof warningCodes;
