/** What a sheet of a workbook can have (Excel specifications and limits). */

/** The rows, without the header. */
export const maxSheetRows = 1_048_575;
export const maxSheetColumns = 16_384;
/** The UTF-16 code units of the text of a cell. */
export const maxCellLength = 32_767;
