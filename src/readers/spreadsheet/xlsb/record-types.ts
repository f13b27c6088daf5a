/** The types of the records that are read (MS-XLSB 2.3). A cell in a short form contains no column: it is in the column after the last cell. */

export const ROW_HEADER = 0;
export const CELL_BLANK = 1;
export const CELL_RK = 2;
export const CELL_ERROR = 3;
export const CELL_BOOLEAN = 4;
export const CELL_REAL = 5;
export const CELL_TEXT = 6;
export const CELL_SHARED_STRING = 7;
export const FORMULA_TEXT = 8;
export const FORMULA_NUMBER = 9;
export const FORMULA_BOOLEAN = 10;
export const FORMULA_ERROR = 11;
export const SHORT_BLANK = 12;
export const SHORT_RK = 13;
export const SHORT_ERROR = 14;
export const SHORT_BOOLEAN = 15;
export const SHORT_REAL = 16;
export const SHORT_TEXT = 17;
export const SHORT_SHARED_STRING = 18;
export const COLUMN_INFO = 60;
export const CELL_RICH_TEXT = 62;

export const BEGIN_SHEET = 129;
export const END_SHEET = 130;
export const BEGIN_SHEET_DATA = 145;
export const END_SHEET_DATA = 146;
export const MERGED_AREA = 176;

export const BEGIN_BOOK = 131;
export const WORKBOOK_PROPERTIES = 153;
export const BUNDLED_SHEET = 156;

export const SHARED_STRING = 19;
export const END_SHARED_STRINGS = 160;

export const NUMBER_FORMAT = 44;
export const CELL_FORMAT = 47;
export const BEGIN_CELL_FORMATS = 617;
export const END_CELL_FORMATS = 618;

export const DEFINED_NAME = 39;
export const SUPPORTING_BOOK = 355;
export const SUPPORTING_SELF = 357;
export const SUPPORTING_SAME = 358;
export const EXTERNAL_SHEETS = 362;
export const SUPPORTING_ADD_IN = 667;

export const BEGIN_TABLE = 343;
export const BEGIN_TABLE_COLUMN = 347;
