/** The error values of binary workbooks as Excel shows them (MS-XLS 2.5.10, MS-XLSB 2.5.97.2, `XlCVError`). */
export const errorTexts: Record<number, string> = {
  0: '#NULL!',
  7: '#DIV/0!',
  15: '#VALUE!',
  23: '#REF!',
  29: '#NAME?',
  36: '#NUM!',
  42: '#N/A',
  43: '#GETTING_DATA',
  45: '#SPILL!',
  46: '#CONNECT!',
  47: '#BLOCKED!',
  48: '#UNKNOWN!',
  49: '#FIELD!',
  50: '#CALC!',
};

/** The text of an error value with an unknown number. */
export const unknownErrorText = '#ERROR';
