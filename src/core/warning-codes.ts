/**
 * The codes of warnings, which are the entries of `warnings` in an answer, with their meanings. They are stable and in
 * kebab-case. A test compares the table of warnings in docs/warnings.md with this list.
 */

export const warningCodes = {
  'ignored-column':
    'the values of a column were left out, because the table lacks it or PostgreSQL computes it (`extra_columns=ignore`)',
  'added-column': 'a column of the data was added to an existing table (`extra_columns=add`)',
  'widened-column': 'a column of an existing table got a wider type (`misfits=widen`)',
  'mixed-column':
    'an inferred column became text because of a few odd values; a choice has the type of the others',
  'other-notation':
    'a column became text, although all its values look like dates, numbers, times or booleans in another notation; the warning says how to read or convert them',
  'natural-values': 'with `values=natural`: in which notation a column was read',
  'nothing-renamed': '`rename` names a header or key that the data does not have',
  'nothing-filled': '`fill_down` names a column that the sheet does not have',
  'null-object':
    'with `flatten` and `on_conflict=update`, an object is NULL in some rows, whose updates leave the columns of its members unchanged',
  'two-digit-year': 'a column has years of two digits; the warning shows how the first was read',
  'repeated-keys': 'an object for a `jsonb` column has a key twice, and only the last value was kept',
  'key-not-brought': 'rows have no value for a column of the key of `on_conflict` and were inserted',
  'time-left-out': 'values with a time other than 00:00 were loaded into a `date` column',
  'date-left-out': 'values with a date and a time were loaded into a `time` column',
  'offset-left-out': 'values with an offset from UTC were loaded into a `timestamp` or `time` column',
  'fraction-rounded': 'seconds had more digits than microseconds and were rounded',
  'digits-rounded':
    'numbers of a workbook were rounded to the 15 digits that Excel shows. `double precision` stores them unchanged',
  'sign-left-out': '`-0` was loaded into a `numeric` or integer column. `double precision` keeps the sign',
  'zeros-left-out': 'values such as `007` were loaded as numbers. `text` keeps the zeros',
  'suppressed-rows': 'a trigger or a rule of the table left out rows, which no count includes',
  'rows-left-out': 'rows with problems were left out (`faulty_rows=leave_out`)',
  'recovery-pending': 'a server of the cluster did not confirm the commit of its rows yet',
  'own-numbers':
    'rows set an identity column without advancing its sequence, so generated values may collide later',
  'numbers-taken': 'a dry run took numbers from a sequence, which the rollback does not give back',
  'dotted-name':
    'a new table is named `sales.orders`, and a schema `sales` exists; the dot is part of the name',
  'text-default':
    'a default of a text column looks like SQL, such as `gen_random_uid()`, but is literal text',
  'table-created':
    '`if_exists=append` or `truncate` created the table, because it did not exist (`if_missing`)',
  'lost-by-replace':
    'the old table had an object or a property that the new table does not have (`if_exists=replace`); one warning for each, at most 100',
  'blank-header': 'a column of a spreadsheet has no header, so it was named after its letters',
  'repeated-header': 'a header occurs twice; the second column got another name',
  'shortened-header': 'a header of more than 63 bytes was shortened',
  'header-row':
    'the header looks like a title, like one of several header rows, or like values; the warning names what to send',
  'header-rows-left-out': 'with `header_row=auto`: rows that repeat the header were left out',
  'proposal-taken': 'with `sheet=auto` or `header_row=auto`: what was taken, why, and what was left out',
  'total-row': 'the last row begins with a word such as "Total" and was read',
  'rows-below': 'rows below the table, such as notes, were read',
  'rows-not-read': 'with `header_row=auto`: many rows below the table were not read',
  'other-table': 'cells that were read as a part of the table look like another table',
  'other-sheets': 'no sheet was chosen, and others have rows too',
  'cell-errors-as-null': 'with `cell_errors=null`, cells of a column became NULL',
  'merged-cells': 'values covered by merged cells were left out',
  'lines-in-a-field':
    'quotes of a text file may have joined lines that are rows of their own. With `quote=none` quotes are text',
  'spaced-quotes':
    'fields of a text file have white space before a quotation mark, which was read as text. With `trim=true` such quotes enclose the value',
  'repaired-quotes': 'quotation marks that are not doubled or stand alone were read as text',
  'short-rows': 'rows of a text file have fewer fields than the header',
  'long-rows': 'rows of a text file have more fields than the header',
  'text-formulas': 'fields such as `="00042"` were read as the text between the quotes',
  'blank-rows': 'rows with only white space were left out',
  'hidden-rows': 'hidden rows have values; they were read, or left out with `hidden=skip`',
  'hidden-columns': 'hidden columns have values or a header; they were read, or left out with `hidden=skip`',
  'footer-rows': 'with `footer=skip`, rows after the first empty row were left out',
  'totals-row': 'with `table_range`, the totals row of a table was left out',
  'unreadable-names': 'the tables and defined names of an inspected workbook cannot be read',
  'uncalculated-formulas':
    'all formulas of a column have the result 0: open and save the workbook to calculate them',
  'same-file': 'the same file was loaded before',
  'no-rows': 'the upload has no rows',
  'rows-elsewhere': 'an inspected JSON document has its rows elsewhere; `rows_at` loads them',
  delimiter: 'the delimiter that was detected',
  quote: "`'` was detected as the quotation mark",
  escape: 'a backslash was detected before quotation marks',
  encoding: 'another encoding than UTF-8 was detected; `choices` has the candidates if none is sure',
} as const;

export type WarningCode = keyof typeof warningCodes;
