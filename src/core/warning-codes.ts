/**
 * The codes of warnings, which are the entries of `warnings` in an answer, with their meanings. They are stable and in
 * kebab-case. A test compares the table of warnings in docs/loading.md with this list.
 */

export const warningCodes = {
  'ignored-column':
    'the table lacks a column of the data or PostgreSQL computes it, so its values were left out (`extra_columns=ignore`)',
  'added-column': 'an existing table lacked a column of the data, and it was added (`extra_columns=add`)',
  'mixed-column':
    'an inferred column became text because of a few odd values, and the warning names the first. All values above it have one other type, or the column has one odd value and at least 3 of another type, or at most one odd value for 10 of another type',
  'other-notation':
    'a column became text, although each of its values is a date or a number in another notation, with white space around it, or a word such as `N/A`, or looks like an amount, a percentage, a time or a boolean; the warning names the parameters or the type that reads it, or says how to convert it',
  'nothing-renamed': '`rename` names a header or key that the data does not have',
  'two-digit-year':
    'with `date_order`, a column has years of two digits; the warning shows the first and the year that was read',
  'repeated-keys':
    'an object inside a value for a `jsonb` column has the same key twice, and only the last value was kept',
  'key-not-brought':
    'rows have no value for a column of the key of `on_conflict` and were inserted; the warning gives their number, the first row and the key',
  'time-left-out':
    'values with a date and a time other than 00:00 were loaded into a `date` column; the warning gives their number and the first one',
  'date-left-out':
    'values with a date and a time were loaded into a `time` column; the warning gives their number and the first one',
  'offset-left-out':
    'values with an offset from UTC, including `Z`, were loaded into a `timestamp` or `time` column, which keeps the date and time as sent. For a `date` column only offsets other than zero count',
  'fraction-rounded': 'seconds had more digits than microseconds and were rounded',
  'digits-rounded':
    "digits of a workbook's numbers after the 15th significant digit were rounded, because Excel does not show them; the warning gives their number and the first one, and a column of the type `double precision` stores the numbers unchanged. Numbers such as 0.30000000000000004, which rounding makes short, do not count",
  'sign-left-out':
    'values such as `-0` or `-0.00` were loaded into a `numeric` or integer column, which has no negative zero; the warning gives their number and the first one. A column of the type `double precision` keeps the sign',
  'suppressed-rows':
    'a trigger or a rule (CREATE RULE) of the table left out rows, and no count includes them. Rules apply only with `on_conflict` and to types that are read from text, because COPY ignores them',
  'rows-left-out': 'rows with problems were left out (`faulty_rows=leave_out`); `left_out` names them',
  'recovery-pending':
    'a server of the database cluster did not confirm that it has committed its rows. They appear when the coordinator has recovered the transaction, usually within a minute',
  'own-numbers':
    'rows for an existing table set the values of an identity column; its sequence was not advanced, so generated values may collide later. The sequence of a new table continues after its highest value',
  'numbers-taken':
    'a dry run took numbers from the sequence of a column, and the rollback does not give them back. If other rows set the column themselves, the load may have another result than the dry run',
  'dotted-name':
    'a new table has a name such as `sales.orders`, and a schema `sales` exists; the dot is part of the name',
  'text-default':
    'a default of a text column looks like SQL, such as `gen_random_uid()`, but is literal text',
  'table-created':
    '`if_exists=append` or `truncate` created the table, because it did not exist; the warning names tables with a similar name. `if_missing=fail` refuses such uploads',
  'lost-by-replace':
    'the old table had an object or a property that the new table does not have (`if_exists=replace`); there is one warning for each, at most 100',
  'blank-header':
    'a column of a spreadsheet has values but no header, so it was named after its letters, such as `column_C`',
  'repeated-header': 'a header occurs twice; the second column was given another name',
  'shortened-header': 'a header is longer than 63 bytes; it was shortened',
  'header-row':
    'the row that was read as the header looks like a title; the warning names the row that looks like the header. There is no warning if no row is clearly the header. Or it looks like a row of values; the warning names `header=false`',
  'proposal-taken':
    'with `sheet=auto` or `header_row=auto`: the sheet, or the header row and the range, that were taken, why, and what was left out',
  'total-row': 'the last row of a spreadsheet begins with a word such as "Total"; it was read as a row',
  'rows-below':
    'rows of a spreadsheet below the table are not like its rows, such as notes after a blank row; they were read as rows',
  'other-table':
    'cells of a spreadsheet beside or below the table look like another table; they were read as a part of it',
  'other-sheets':
    'no sheet was chosen, and other visible sheets have rows too; the warning gives their sizes, as far as they were read',
  'cell-errors-as-null':
    'with `cell_errors=null`, cells of a column became NULL; the warning gives their number and the first one',
  'merged-cells':
    'values covered by merged cells were left out; the warning gives their number and the first one',
  'lines-in-a-field':
    'the quotes of a row of a text file (.csv) may have joined lines that are rows of their own; the warning names the row and its lines. With `quote=none` quotes are text',
  'spaced-quotes':
    'fields of a text file (.csv) have white space before a quotation mark, which was read as text; the warning gives their number and the first one. With `trim=true` such quotes enclose the value',
  'short-rows':
    'rows of a text file (.csv) have fewer fields than the header; the warning gives their number, the first one and the number of its fields',
  'long-rows':
    'rows of a text file (.csv) have more fields than the header, for example because of a delimiter in a value without quotes; the warning gives their number, the first one and the number of its fields. If all rows have the same number of empty fields more, the warning says so',
  'text-formulas':
    'fields of a text file (.csv) such as `="00042"`, which programs write so that Excel keeps the zeros, were read as the text between the quotes; the warning gives their number and the first one',
  'blank-rows': 'rows with only white space were left out',
  'hidden-rows':
    'hidden rows have values; the warning gives their number and the first one, and says whether they were read or left out (`hidden=skip`)',
  'hidden-columns':
    'hidden columns have values or a header; the warning names them, and says whether they were read or left out (`hidden=skip`)',
  'footer-rows':
    'with `footer=skip`, rows after the first empty row were left out; the warning gives their number and the first one',
  'totals-row': 'with `table_range`, the totals row of a table was left out',
  'unreadable-names': 'the tables and defined names of an inspected workbook cannot be read',
  'uncalculated-formulas':
    'all formulas of a column have the result 0, and the workbook (.xlsx) asks to be calculated when it is opened, so the program that wrote it probably never calculated it',
  'no-rows':
    'the upload has no rows. In a workbook, the chosen sheet has no row below its header or no header; the warning says what was found in it',
  'rows-elsewhere':
    'an inspected JSON document has no rows in `data` and is not an array; another array in it is shown, and `rows_at` loads it',
  delimiter: 'the service detected a delimiter other than a comma in a text file (.csv)',
  encoding: 'a text file (.csv) is not UTF-8, and the service detected another encoding',
} as const;

export type WarningCode = keyof typeof warningCodes;
